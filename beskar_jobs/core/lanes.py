"""The ready jobs, in memory as far as dispatch needs them: the head of each lane, storage being the whole.

A lane is the ENQUEUED jobs of one type in one queue. Its *head* holds every ready job that orders before its *horizon*;
jobs beyond it stand in storage only. So memory stays bounded with millions of jobs waiting, and the order is still
exact. When a head runs empty below its horizon, it asks to be refilled; jobs that become ready while the refill is
read are kept aside, since the read may or may not have seen them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from beskar_jobs.model.job import Job, JobId
from beskar_jobs.ports.storage import Lane

Order = tuple[int, datetime, int]

HEAD_LIMIT: Final = 5_000
"""Jobs held in memory per lane at most; about 1 KB each."""
REFILL: Final = 2_000
"""Jobs read at once when a head has run empty."""


class LaneHead:
    """The first ready jobs of one lane."""

    def __init__(self, *, complete: bool) -> None:
        self._jobs: dict[JobId, Job] = {}
        self._heap: list[tuple[Order, JobId]] = []
        self._complete = complete
        self._horizon: Order | None = None  # only where not complete; None then: nothing is known yet
        self._arrived_while_reading: dict[JobId, Job] | None = None

    def push(self, job: Job) -> None:
        """A job became ready (its being so is committed)."""
        if self._arrived_while_reading is not None:
            self._arrived_while_reading[job.id] = job
        elif self._complete or (self._horizon is not None and job.order < self._horizon):
            self._add(job)
            if len(self._jobs) > HEAD_LIMIT:
                self._cut()

    def _add(self, job: Job) -> None:
        self._jobs[job.id] = job
        heapq.heappush(self._heap, (job.order, job.id))
        if len(self._heap) > 2 * HEAD_LIMIT:  # most of it discarded since
            self._heap = [(kept.order, kept.id) for kept in self._jobs.values()]
            heapq.heapify(self._heap)

    def _cut(self) -> None:
        ordered = sorted(self._jobs.values(), key=lambda job: job.order)
        keep, beyond = ordered[: HEAD_LIMIT // 2], ordered[HEAD_LIMIT // 2 :]
        self._jobs = {job.id: job for job in keep}
        self._heap = [(job.order, job.id) for job in keep]
        self._complete, self._horizon = False, beyond[0].order

    def first(self) -> Job | None:
        """The next job, left where it is; ``None``: none in memory."""
        while self._heap:
            order, job_id = self._heap[0]
            job = self._jobs.get(job_id)
            if job is not None and job.order == order:
                return job
            heapq.heappop(self._heap)
        return None

    def pop(self) -> Job | None:
        job = self.first()
        if job is not None:
            heapq.heappop(self._heap)
            del self._jobs[job.id]
        return job

    def discard(self, job_id: JobId) -> None:
        """The job is not ready any more."""
        self._jobs.pop(job_id, None)
        if self._arrived_while_reading is not None:
            self._arrived_while_reading.pop(job_id, None)

    def wants_refill(self) -> bool:
        """Whether storage must be read before the next job of this lane is known; if so, the reading has begun."""
        if self._complete or self._arrived_while_reading is not None or self.first() is not None:
            return False
        self._arrived_while_reading = {}
        return True

    def refill(self, jobs: Sequence[Job], *, limit: int) -> None:
        """The answer of storage to :meth:`wants_refill`: the first *limit* jobs at most."""
        arrived = self._arrived_while_reading or {}
        self._arrived_while_reading = None
        self._complete = len(jobs) < limit
        self._horizon = None if self._complete else jobs[-1].order
        for job in jobs if self._complete else jobs[:-1]:
            self._add(job)
        for job in arrived.values():
            self._jobs.pop(job.id, None)  # what has arrived is later than what was read
            self.push(job)

    def abandon_refill(self) -> None:
        """Storage did not answer: ask again later. What arrived meanwhile is storage's alone to know."""
        self._arrived_while_reading = None
        self._horizon = None

    @property
    def is_empty(self) -> bool:
        """Nothing ready, in memory or beyond."""
        return self._complete and not self._jobs


class Lanes:
    """All lanes, by queue."""

    def __init__(self) -> None:
        self._heads: dict[str, dict[str, LaneHead]] = {}

    def add_stored(self, lane: Lane) -> None:
        """A lane that has jobs in storage, of which none is in memory yet."""
        self._heads.setdefault(lane.queue, {})[lane.job_type] = LaneHead(complete=False)

    def head(self, lane: Lane) -> LaneHead:
        types = self._heads.setdefault(lane.queue, {})
        head = types.get(lane.job_type)
        if head is None:
            head = types[lane.job_type] = LaneHead(complete=True)
        return head

    def push(self, job: Job) -> None:
        self.head(Lane(job.queue, job.job_type)).push(job)

    def discard(self, job: Job) -> None:
        head = self._heads.get(job.queue, {}).get(job.job_type)
        if head is not None:
            head.discard(job.id)

    def queues(self) -> list[str]:
        """Queues that may have something ready, in alphabetical order: the order in which they are served."""
        return sorted(self._heads)

    def in_queue(self, queue: str) -> Iterator[tuple[Lane, LaneHead]]:
        """The lanes of *queue* that may have something ready; forgets those that have run empty."""
        types = self._heads.get(queue, {})
        for job_type, head in list(types.items()):
            if head.is_empty:
                del types[job_type]
            else:
                yield Lane(queue, job_type), head
        if not types:
            self._heads.pop(queue, None)
