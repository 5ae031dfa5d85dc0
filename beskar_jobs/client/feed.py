"""What a client knows of one job: the latest update, and who waits for the next.

Updates come from several sources (the client's own updates topic, the retained status, answers to queries), doubled,
late and out of order; the sequence number sorts them: only a newer one counts, and a terminal one is the last.
"""

from __future__ import annotations

import asyncio
from typing import Any

from beskar_jobs.model.errors import BeskarError
from beskar_jobs.model.job import JobId
from beskar_jobs.model.updates import JobStatusUpdate


class JobFeed:
    """One job's updates. Lives as long as somebody holds a handle of the job."""

    __slots__ = ("__weakref__", "_waiters", "attached", "failure", "job_id", "latest")

    def __init__(self, job_id: JobId) -> None:
        self.job_id = job_id
        self.latest: JobStatusUpdate | None = None
        self.failure: BeskarError | None = None
        self.attached = False
        self._waiters: list[asyncio.Future[Any]] = []

    @property
    def ended(self) -> bool:
        return self.failure is not None or (self.latest is not None and self.latest.status.is_terminal)

    def offer(self, update: JobStatusUpdate) -> None:
        """Take in *update* if it is news."""
        if self.latest is None or update.sequence > self.latest.sequence:
            self.latest = update
            self.failure = None
            self._wake()

    def fail(self, error: BeskarError) -> None:
        """There will be no updates: the job is unknown."""
        if self.latest is None:
            self.failure = error
            self._wake()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def newer_than(self, sequence: int) -> JobStatusUpdate:
        """The latest update, as soon as there is one beyond *sequence*.

        Raises:
            UnknownJob: there is no such job.
        """
        while True:
            if self.failure is not None:
                raise self.failure
            if self.latest is not None and self.latest.sequence > sequence:
                return self.latest
            waiter: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            finally:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)

    async def end(self) -> JobStatusUpdate:
        """The terminal update, as soon as it is there."""
        sequence = -1
        while True:
            update = await self.newer_than(sequence)
            if update.status.is_terminal:
                return update
            sequence = update.sequence

    @property
    def awaited(self) -> bool:
        return bool(self._waiters)
