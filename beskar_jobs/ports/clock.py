"""Time as the shells see it. Two readings, for two purposes that must not be mixed:

* *wall* time (aware datetime, UTC) says when something is due or happened; it may be stepped, forwards or back;
* *monotonic* seconds say how long something has taken (heartbeats, time-outs); they never jump.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

import attrs


@attrs.frozen
class Now:
    """One instant, read on both clocks; the argument through which time reaches the pure core."""

    wall: datetime
    monotonic: float


class Timer(Protocol):
    def cancel(self) -> None:
        """Never call back; harmless after the call, or twice."""


class Clock(Protocol):
    def now(self) -> Now: ...

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call *callback* once, in *delay* seconds of monotonic time, on the event loop that runs now."""
        ...
