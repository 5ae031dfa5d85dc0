"""What is to be looked at, and when. A check runs at its time and says when to look again, or not to.

Re-arming is lazy: activity that moves a deadline out (a packet that renews the keep-alive) costs nothing here. The
check, when its old time comes, finds that it is early and returns the new one.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

Check = Callable[[float], float | None]


class Deadlines:
    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Check]] = []
        self._tie = count()

    def add(self, at: float, check: Check) -> None:
        heapq.heappush(self._heap, (at, next(self._tie), check))

    def next(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def run(self, now: float) -> None:
        """Run every check whose time has come. A check that asks for a time already past is run at the next call."""
        again: list[tuple[float, Check]] = []
        while self._heap and self._heap[0][0] <= now:
            _, _, check = heapq.heappop(self._heap)
            at = check(now)
            if at is not None:
                again.append((at, check))
        for at, check in again:
            self.add(at, check)
