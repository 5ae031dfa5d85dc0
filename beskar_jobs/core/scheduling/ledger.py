"""The jobs that the scheduler has in hand, and the changes to them that storage does not have yet."""

from __future__ import annotations

from collections.abc import Iterator

from beskar_jobs.core.scheduling.records import Batch, EnqueueRequest, Insert, RecurringWrite, Tracked, Write
from beskar_jobs.core.transitions import Transition
from beskar_jobs.model.job import Job, JobId, WorkerRef
from beskar_jobs.ports.storage import RecurringChange


class Ledger:
    """Tracked jobs and pending writes.

    A job is tracked as long as a worker has it or a change of it is not committed. Changes chain: each is decided on
    the result of the one before, so a batch refused for one job refuses its later ones too.
    """

    def __init__(self) -> None:
        self._tracked: dict[JobId, Tracked] = {}
        self._inserts: list[Insert] = []
        self._insert_bytes = 0
        self._writes: dict[JobId, Write] = {}
        self._under_way: dict[JobId, Write] = {}
        self._recurring: dict[str, RecurringWrite] = {}

    def __len__(self) -> int:
        return len(self._tracked)

    def get(self, job_id: JobId) -> Tracked | None:
        return self._tracked.get(job_id)

    def track(self, job: Job) -> Tracked:
        """Take up a job as storage has it."""
        tracked = self._tracked[job.id] = Tracked(job, stored_version=job.version)
        return tracked

    def forget(self, job_id: JobId) -> Tracked | None:
        return self._tracked.pop(job_id, None)

    def with_worker(self, ref: WorkerRef) -> list[Tracked]:
        """The active jobs of exactly this worker process."""
        return [tracked for tracked in self._active() if tracked.job.worker == ref]

    def worker_refs(self) -> set[WorkerRef]:
        """Every worker process that has an active job."""
        return {tracked.job.worker for tracked in self._active() if tracked.job.worker is not None}

    def _active(self) -> Iterator[Tracked]:
        return (tracked for tracked in self._tracked.values() if tracked.job.status.is_active)

    def insert(self, job: Job, request: EnqueueRequest, index: int) -> None:
        request.open_items += 1
        self._inserts.append(Insert(job, request, index))
        self._insert_bytes += len(job.spec.arguments)

    def write(self, transition: Transition) -> Write:
        """Have a decided change written with the next batch."""
        job = transition.job
        tracked = self._tracked.get(job.id)
        if tracked is None:
            self._tracked[job.id] = Tracked(job, stored_version=transition.expected_version)
        else:
            tracked.job = job
        write = self._writes.get(job.id)
        if write is None:
            write = self._writes[job.id] = Write(transition.expected_version, job)
        else:
            write.job = job
        return write

    def uncommitted(self, job_id: JobId) -> Write | None:
        """The write that will bring the job to where it was decided to stand; ``None``: it stands there."""
        tracked = self._tracked.get(job_id)
        if tracked is None or tracked.stored_version == tracked.job.version:
            return None
        return self._writes.get(job_id) or self._under_way.get(job_id)

    def withdraw(self, job_id: JobId) -> Write | None:
        """Drop the job, and what was decided on a change that storage refused."""
        self._tracked.pop(job_id, None)
        return self._writes.pop(job_id, None)

    def write_recurring(self, change: RecurringChange) -> RecurringWrite:
        """Have a decided change of a recurring entry written with the next batch, as one with what is pending of it."""
        write = self._recurring.get(change.name)
        if write is None:
            write = self._recurring[change.name] = RecurringWrite(change)
        else:
            before = write.change
            firings = [*before.firings, *change.firings]
            write.change = RecurringChange(change.name, before.expected_version, change.entry, firings)
        return write

    def withdraw_recurring(self, name: str) -> RecurringWrite | None:
        """Drop what was decided on a change that storage refused."""
        return self._recurring.pop(name, None)

    @property
    def pending(self) -> int:
        return len(self._inserts) + len(self._writes)

    @property
    def pending_bytes(self) -> int:
        """Arguments of the jobs that wait to be inserted."""
        return self._insert_bytes

    def take(self) -> Batch | None:
        """All that is pending, as one transaction."""
        if not self._inserts and not self._writes and not self._recurring:
            return None
        batch = Batch(self._inserts, list(self._writes.values()), list(self._recurring.values()))
        self._recurring = {}
        self._inserts, self._under_way, self._writes = [], self._writes, {}
        self._insert_bytes = 0
        return batch
