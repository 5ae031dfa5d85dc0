"""A clock that stands still until a test moves it.

Both readings, wall and monotonic, move together and only in :meth:`ManualClock.advance`. Time jumps there, as on a
machine that was suspended: timers that became due ring after the jump, in the order of their times, and all read the
new time. A test that wants to see each of them on its own advances to the next one, which :attr:`until_next_timer`
tells.

The clock may be shared by parts that live on event loops in different threads, such as a scheduler and a worker. A
timer rings on the loop it was set on: at once, within ``advance``, if that is the loop that runs there, else as soon
as the other loop gets to it.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.ports.clock import Now

__all__ = ["ManualClock"]

START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class ManualClock:
    """Implements :class:`beskar_jobs.ports.clock.Clock`.

    Args:
        start: the wall time it begins with (aware); 2026-01-01 UTC if it is left out. The monotonic reading begins
            with 1000 seconds.

    Raises:
        InvalidValue: *start* has no time zone.
    """

    def __init__(self, start: datetime = START) -> None:
        if start.tzinfo is None:
            raise InvalidValue(f"start is a datetime with a time zone, not {start!r}")
        self._lock = threading.Lock()
        self._now = Now(start.astimezone(UTC), 1000.0)
        self._timers: dict[int, _ManualTimer] = {}
        self._numbers = itertools.count()

    def now(self) -> Now:
        return self._now

    def call_later(self, delay: float, callback: Callable[[], None]) -> _ManualTimer:
        with self._lock:
            number = next(self._numbers)
            at = self._now.monotonic + max(0.0, delay)
            timer = _ManualTimer(self, number, at, asyncio.get_running_loop(), callback)
            self._timers[number] = timer
        if delay <= 0:
            timer.loop.call_soon(timer.ring)
        return timer

    @property
    def until_next_timer(self) -> float | None:
        """Seconds until the next timer is due; ``None``: no timer is set."""
        with self._lock:
            earliest = min((timer.at for timer in self._timers.values()), default=None)
            return None if earliest is None else max(0.0, earliest - self._now.monotonic)

    def advance(self, seconds: float) -> None:
        """Let *seconds* pass at once, and ring what became due. To be called on a running event loop.

        Raises:
            InvalidValue: *seconds* is negative; step the wall clock with :meth:`step_wall` instead.
        """
        if seconds < 0:
            raise InvalidValue(f"time advances by 0 seconds or more, not by {seconds}")
        with self._lock:
            self._now = Now(self._now.wall + timedelta(seconds=seconds), self._now.monotonic + seconds)
            due = [timer for timer in self._timers.values() if timer.at <= self._now.monotonic]
        here = asyncio.get_running_loop()
        for timer in sorted(due, key=lambda timer: (timer.at, timer.number)):
            if timer.loop is here:
                timer.ring()
            elif not timer.loop.is_closed():
                timer.loop.call_soon_threadsafe(timer.ring)

    def step_wall(self, seconds: float) -> None:
        """Set the wall clock forwards or back, as an administrator or NTP does; no time passes, and no timer rings."""
        with self._lock:
            self._now = Now(self._now.wall + timedelta(seconds=seconds), self._now.monotonic)

    def forget(self, number: int) -> bool:
        """Take the timer off the clock; whether it was still on it."""
        with self._lock:
            return self._timers.pop(number, None) is not None


class _ManualTimer:
    def __init__(
        self,
        clock: ManualClock,
        number: int,
        at: float,
        loop: asyncio.AbstractEventLoop,
        callback: Callable[[], None],
    ) -> None:
        self._clock = clock
        self.number = number
        self.at = at
        self.loop = loop
        self._callback = callback

    def cancel(self) -> None:
        self._clock.forget(self.number)

    def ring(self) -> None:
        """Call back, unless that has happened or was cancelled."""
        if self._clock.forget(self.number):
            self._callback()
