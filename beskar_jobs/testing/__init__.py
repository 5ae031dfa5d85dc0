"""Public: tools for the tests of handlers, suites that hold implementations to the contracts, and real services.

For handlers of your own: :class:`RecordingLink`, which shows what one attempt reports, :func:`cluster`, a whole system
in the event loop of a test, and :class:`ManualClock`, which lets its time pass.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from beskar_jobs.testing.attempts import RecordingLink
    from beskar_jobs.testing.clock import ManualClock
    from beskar_jobs.testing.in_memory import cluster

__all__ = ["ManualClock", "RecordingLink", "cluster"]

_HOMES: Final = {
    "ManualClock": "beskar_jobs.testing.clock",
    "RecordingLink": "beskar_jobs.testing.attempts",
    "cluster": "beskar_jobs.testing.in_memory",
}

if not TYPE_CHECKING:  # a type checker knows the names, and is to refuse all others

    def __getattr__(name: str) -> Any:
        """A public name, on its first use: a test of one attempt loads neither broker nor scheduler."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(home), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
