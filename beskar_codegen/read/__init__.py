"""Sources to declarations, by Python's own parser. Names are followed to what they mean; user code is never imported.

What this package offers is imported from its home when it is first used: a run in which no file has changed only looks
for files, and takes about as long as loading the reader would.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from beskar_codegen.read.project import ProjectSources, read_module, read_project

__all__ = ["ProjectSources", "read_module", "read_project"]

_HOME: Final = "beskar_codegen.read.project"

if not TYPE_CHECKING:  # a type checker knows the names, and is to refuse all others

    def __getattr__(name: str) -> Any:
        """A public name, on its first use; from then on it is an ordinary attribute."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME), name)
        return value
