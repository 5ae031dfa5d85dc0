"""Handlers: the classes that do the jobs, the decorator that declares them, and the registry that finds them.

Names are imported from their homes when they are first used: the code generator reads the table of rules that lies in
this package, and would pay for all of cattrs with it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from beskar_jobs.handlers.base import JobHandler, JobHandlerWithResult
    from beskar_jobs.handlers.context import AttemptLink, JobContext, ProgressReport
    from beskar_jobs.handlers.decorator import job_handler
    from beskar_jobs.handlers.recurrence import recurring
    from beskar_jobs.handlers.registry import HandlerDefinition, HandlerRegistry, default_registry, definition_of

__all__ = [
    "AttemptLink",
    "HandlerDefinition",
    "HandlerRegistry",
    "JobContext",
    "JobHandler",
    "JobHandlerWithResult",
    "ProgressReport",
    "default_registry",
    "definition_of",
    "job_handler",
    "recurring",
]

_HOMES: Final = {
    name: f"beskar_jobs.handlers.{module}"
    for module, names in {
        "base": ("JobHandler", "JobHandlerWithResult"),
        "context": ("AttemptLink", "JobContext", "ProgressReport"),
        "decorator": ("job_handler",),
        "recurrence": ("recurring",),
        "registry": ("HandlerDefinition", "HandlerRegistry", "default_registry", "definition_of"),
    }.items()
    for name in names
}

if not TYPE_CHECKING:  # a type checker knows the names, and is to refuse all others

    def __getattr__(name: str) -> Any:
        """A public name, on its first use; from then on it is an ordinary attribute."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(home), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
