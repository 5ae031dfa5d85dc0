"""The storage that keeps jobs in this process only: for tests, for ``beskar dev``, and as the plainest reading of the
contract.

It is a complete storage, not a stand-in: it passes the same suite as every other one, durability apart.

Every method the scheduler calls all the time reads an index kept in order, so none looks at jobs it does not return:
ready jobs per lane, waiting jobs by due time, active jobs, counts. Only :meth:`MemoryStorage.find` walks, from the
latest job backwards, over jobs that do not match.

Failure modes: the process ends and the jobs are gone; nothing else can go wrong. A commit computes every sort key
before it writes anything, so that a job which cannot be ordered (a naive time) leaves the storage untouched.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

import attrs

from beskar_jobs.model.errors import StorageError
from beskar_jobs.model.job import Job, JobId, JobStatus, WaitingFor
from beskar_jobs.model.recurring import OCCURRENCES_KEPT, Occurrence, RecurringJob
from beskar_jobs.ports.storage import Commit, CommitOutcome, JobFilter, Lane, RecurringChange
from beskar_jobs.storage.times import to_microseconds

_CLOCK_WAITS: Final = (WaitingFor.TIME, WaitingFor.RETRY)
_COMPACT_AT: Final = 512

_ReadyKey = tuple[int, int, int, JobId]
_DueKey = tuple[int, int, JobId]
_K = TypeVar("_K", bound=tuple[Any, ...])


class _Ordered(Generic[_K]):
    """A sorted list that gives away its head and takes at its tail without moving the rest.

    Jobs mostly come last and leave first, and both cost a binary search here; a job that jumps the queue costs a block
    move. The consumed head is cut off once it is half of the list.
    """

    __slots__ = ("_keys", "_start")

    def __init__(self) -> None:
        self._keys: list[_K] = []
        self._start = 0

    def __len__(self) -> int:
        return len(self._keys) - self._start

    def add(self, key: _K) -> None:
        keys = self._keys
        if not keys or keys[-1] < key:
            keys.append(key)
        else:
            insort(keys, key, lo=self._start)

    def remove(self, key: _K) -> None:
        keys = self._keys
        start = self._start
        if keys[start] != key:
            del keys[bisect_left(keys, key, lo=start)]
            return
        start += 1
        if start >= _COMPACT_AT and start * 2 >= len(keys):
            del keys[:start]
            start = 0
        self._start = start

    def first(self, limit: int) -> list[_K]:
        return self._keys[self._start : self._start + max(0, limit)]

    def up_to(self, bound: tuple[Any, ...], limit: int) -> list[_K]:
        """The first *limit* keys below *bound*."""
        end = bisect_left(self._keys, bound, lo=self._start)
        return self._keys[self._start : min(end, self._start + max(0, limit))]

    def place(self, bound: tuple[Any, ...]) -> int:
        """How many keys are below *bound*."""
        return bisect_left(self._keys, bound, lo=self._start) - self._start

    def __getitem__(self, index: int) -> _K:
        return self._keys[self._start + index]


def _ready_key(job: Job) -> _ReadyKey:
    spec = job.spec
    return (-spec.priority, to_microseconds(job.due_at), spec.sequence, spec.id)


class MemoryStorage:
    """Jobs in memory, for as long as the object lives; ``close`` and ``open`` again keep them."""

    def __init__(self) -> None:
        self._is_open = False
        self._jobs: dict[JobId, Job] = {}
        self._ready: dict[tuple[str, str], _Ordered[_ReadyKey]] = {}
        self._waiting: _Ordered[_DueKey] = _Ordered()
        self._active: dict[JobId, Job] = {}
        self._by_sequence: _Ordered[tuple[int, JobId]] = _Ordered()
        self._counts: dict[tuple[str, JobStatus], int] = {}
        self._recurring: dict[str, RecurringJob] = {}
        self._occurrences: dict[str, dict[int, Occurrence]] = {}

    async def open(self) -> None:
        self._is_open = True

    async def close(self) -> None:
        self._is_open = False

    async def commit(self, commit: Commit) -> CommitOutcome:
        self._check_open()
        # The keys of all jobs first: what cannot be ordered must fail before anything is written.
        insert_keys = [_ready_key(job) for job in commit.inserts]
        change_keys = [_ready_key(change.job) for change in commit.changes]
        for recurring in commit.recurring:
            for firing in recurring.firings:
                to_microseconds(firing.occurrence.instant)
                if firing.job is not None:
                    _ready_key(firing.job)
        existing: list[Job | None] = []
        for job, key in zip(commit.inserts, insert_keys, strict=True):
            stored = self._jobs.get(job.spec.id)
            existing.append(stored)
            if stored is None:
                self._insert(job, key)
        applied: list[bool] = []
        for change, key in zip(commit.changes, change_keys, strict=True):
            job = change.job
            stored = self._jobs.get(job.spec.id)
            if stored is None or stored.version != change.expected_version:
                applied.append(False)
                continue
            if job.spec is not stored.spec:
                # What was asked for is never written again, so that every storage may leave it out of a change.
                job = attrs.evolve(job, spec=stored.spec)
                key = _ready_key(job)  # noqa: PLW2901
            self._leave(stored)
            self._jobs[job.spec.id] = job
            self._enter(job, key)
            applied.append(True)
        return CommitOutcome(existing, applied, [self._change_recurring(change) for change in commit.recurring])

    def _insert(self, job: Job, key: _ReadyKey) -> None:
        self._jobs[job.spec.id] = job
        self._by_sequence.add((job.spec.sequence, job.spec.id))
        self._enter(job, key)

    def _change_recurring(self, change: RecurringChange) -> list[bool] | None:
        stored = self._recurring.get(change.name)
        if (0 if stored is None else stored.version) != change.expected_version:
            return None
        if change.entry is None:
            self._recurring.pop(change.name, None)
            self._occurrences.pop(change.name, None)
            return [False] * len(change.firings)
        self._recurring[change.name] = change.entry
        if not change.firings:
            return []
        kept = self._occurrences.setdefault(change.name, {})
        written: list[bool] = []
        for firing in change.firings:
            instant, job = to_microseconds(firing.occurrence.instant), firing.job
            is_new = instant not in kept and (job is None or job.spec.id not in self._jobs)
            written.append(is_new)
            if is_new:
                kept[instant] = firing.occurrence
                if job is not None:
                    self._insert(job, _ready_key(job))
        for instant in sorted(kept)[:-OCCURRENCES_KEPT]:
            del kept[instant]
        return written

    async def get(self, ids: Sequence[JobId]) -> Sequence[Job | None]:
        self._check_open()
        return [self._jobs.get(job_id) for job_id in ids]

    async def ready(self, lane: Lane, limit: int) -> Sequence[Job]:
        self._check_open()
        ordered = self._ready.get((lane.queue, lane.job_type))
        if ordered is None:
            return []
        return [self._jobs[key[3]] for key in ordered.first(limit)]

    async def lanes(self) -> Sequence[tuple[Lane, int]]:
        self._check_open()
        return [(Lane(*names), len(ordered)) for names, ordered in sorted(self._ready.items())]

    async def due(self, now: datetime, limit: int) -> Sequence[Job]:
        self._check_open()
        return [self._jobs[key[2]] for key in self._waiting.up_to((to_microseconds(now) + 1,), limit)]

    async def next_due(self, after: datetime | None = None) -> datetime | None:
        self._check_open()
        position = 0 if after is None else self._waiting.place((to_microseconds(after) + 1,))
        return self._jobs[self._waiting[position][2]].due_at if position < len(self._waiting) else None

    async def active(self) -> Sequence[Job]:
        self._check_open()
        return list(self._active.values())

    async def find(self, wanted: JobFilter, *, limit: int, before_sequence: int | None = None) -> Sequence[Job]:
        self._check_open()
        statuses = frozenset(wanted.statuses)
        position = len(self._by_sequence) if before_sequence is None else self._by_sequence.place((before_sequence,))
        found: list[Job] = []
        while position > 0 and len(found) < limit:
            position -= 1
            job = self._jobs[self._by_sequence[position][1]]
            if (
                (not statuses or job.status in statuses)
                and (wanted.queue is None or job.spec.queue == wanted.queue)
                and (wanted.job_type is None or job.spec.job_type == wanted.job_type)
            ):
                found.append(job)
        return found

    async def counts(self) -> Sequence[tuple[str, JobStatus, int]]:
        self._check_open()
        return [(queue, status, count) for (queue, status), count in sorted(self._counts.items())]

    async def last_sequence(self) -> int:
        self._check_open()
        return max(0, self._by_sequence[len(self._by_sequence) - 1][0]) if len(self._by_sequence) else 0

    async def recurring(self, names: Sequence[str] | None = None) -> Sequence[RecurringJob]:
        self._check_open()
        wanted = self._recurring if names is None else self._recurring.keys() & set(names)
        return [self._recurring[name] for name in sorted(wanted)]

    async def occurrences(self, name: str, limit: int) -> Sequence[Occurrence]:
        self._check_open()
        kept = self._occurrences.get(name, {})
        return [kept[instant] for instant in sorted(kept, reverse=True)[: max(0, limit)]]

    def _check_open(self) -> None:
        if not self._is_open:
            raise StorageError("the memory storage is not open; call open() first")

    def _enter(self, job: Job, key: _ReadyKey) -> None:
        status = job.status
        if status is JobStatus.ENQUEUED:
            lane = (job.spec.queue, job.spec.job_type)
            ordered = self._ready.get(lane)
            if ordered is None:
                ordered = self._ready[lane] = _Ordered()
            ordered.add(key)
        elif status is JobStatus.SCHEDULED:
            if job.waiting_for in _CLOCK_WAITS:
                self._waiting.add(key[1:])
        elif status.is_active:
            self._active[key[3]] = job
        counted = (job.spec.queue, status)
        self._counts[counted] = self._counts.get(counted, 0) + 1

    def _leave(self, job: Job) -> None:
        status = job.status
        if status is JobStatus.ENQUEUED:
            lane = (job.spec.queue, job.spec.job_type)
            ordered = self._ready[lane]
            ordered.remove(_ready_key(job))
            if not len(ordered):
                del self._ready[lane]
        elif status is JobStatus.SCHEDULED:
            if job.waiting_for in _CLOCK_WAITS:
                self._waiting.remove(_ready_key(job)[1:])
        elif status.is_active:
            del self._active[job.spec.id]
        counted = (job.spec.queue, status)
        if self._counts[counted] == 1:
            del self._counts[counted]
        else:
            self._counts[counted] -= 1
