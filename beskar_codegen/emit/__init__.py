"""A plan -> text. Same plan, same bytes; formatted as Ruff formats, linted clean, without Ruff at hand.

Names are imported from their homes when they are first used: whoever only looks at headers loads nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from beskar_codegen.emit.descriptors import emit_descriptors
    from beskar_codegen.emit.header import Header, read_header
    from beskar_codegen.emit.stubs import emit_stub

__all__ = ["Header", "emit_descriptors", "emit_stub", "read_header"]

_HOMES: Final = {
    "Header": "header",
    "emit_descriptors": "descriptors",
    "emit_stub": "stubs",
    "read_header": "header",
}

if not TYPE_CHECKING:  # a type checker knows the names, and is to refuse all others

    def __getattr__(name: str) -> Any:
        """A public name, on its first use; from then on it is an ordinary attribute."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"beskar_codegen.emit.{home}"), name)
        return value
