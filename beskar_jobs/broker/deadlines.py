"""What is to be looked at, and when. A check runs at its time and says when to look again, or not to.

Re-arming is lazy: activity that moves a deadline out (a packet that renews the keep-alive) costs nothing here. The
check, when its old time comes, finds that it is early and returns the new one.

A keep-alive may be eighteen hours: whoever goes before that drops the deadline, so that it holds nothing in memory.
Dropped ones stay in the heap as empty places until they are the greater part of it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

Check = Callable[[float], float | None]

_MANY = 64
"""Dropped deadlines up to which the heap is left as it is."""


class Deadline:
    """One entry, in order of its time; *check* is ``None`` once it is dropped."""

    __slots__ = ("at", "check", "number")

    def __init__(self, at: float, number: int, check: Check) -> None:
        self.at = at
        self.number = number
        self.check: Check | None = check

    def __lt__(self, other: Deadline) -> bool:
        return (self.at, self.number) < (other.at, other.number)


class Deadlines:
    def __init__(self) -> None:
        self._heap: list[Deadline] = []
        self._tie = count()
        self._dropped = 0

    def add(self, at: float, check: Check) -> Deadline:
        deadline = Deadline(at, next(self._tie), check)
        heapq.heappush(self._heap, deadline)
        return deadline

    def drop(self, deadline: Deadline) -> None:
        """*deadline* is of no interest any more; it may have passed already."""
        if deadline.check is None:
            return
        deadline.check = None
        self._dropped += 1
        if self._dropped > max(_MANY, len(self._heap) // 2):
            self._heap = [each for each in self._heap if each.check is not None]
            heapq.heapify(self._heap)
            self._dropped = 0

    def next(self) -> float | None:
        self._forget_dropped()
        return self._heap[0].at if self._heap else None

    def run(self, now: float) -> None:
        """Run every check whose time has come. A check that asks for a time already past is run at the next call."""
        again: list[Deadline] = []
        while self._heap and self._heap[0].at <= now:
            deadline = heapq.heappop(self._heap)
            check, deadline.check = deadline.check, None  # nobody can drop what is not in the heap
            if check is None:
                self._dropped -= 1
                continue
            at = check(now)
            if at is not None:
                deadline.at, deadline.check = at, check
                again.append(deadline)
        for deadline in again:
            heapq.heappush(self._heap, deadline)

    def _forget_dropped(self) -> None:
        while self._heap and self._heap[0].check is None:
            heapq.heappop(self._heap)
            self._dropped -= 1
