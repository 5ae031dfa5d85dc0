"""The clock of the machine; implements :class:`beskar_jobs.ports.clock.Clock`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

from beskar_jobs.ports.clock import Now, Timer


class SystemClock:
    def now(self) -> Now:
        return Now(datetime.now(UTC), time.monotonic())

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(max(0.0, delay), callback)
