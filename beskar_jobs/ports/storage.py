"""The port to a storage: it keeps jobs, compares and writes; it decides nothing.

Contract, held by the public suite in :mod:`beskar_jobs.testing.storage_suite`:

* ``commit`` is one transaction: when it returns, everything in it that was not refused is durable (as durable as the
  storage's settings promise); when it raises, nothing of it is. It may be called again with the same content.
* A change is written only where the stored version is the expected one. Losing that race is an answer
  (``False``), not an exception, and refuses that change only.
* A change writes how the job stands. What was asked for (``spec``) stays as it was inserted.
* An insert whose id is already there changes nothing and answers with the job as stored.
* A recurring change is all or nothing: over another version than the expected one it is refused whole. Where it is
  written, a firing whose occurrence (name and instant) or whose job is there already is left out, and no other.
* Of each recurring entry the latest :data:`~beskar_jobs.model.recurring.OCCURRENCES_KEPT` occurrences are kept.
* Jobs come back equal to what was written, field by field.
* Every other method reads; it sees all commits that returned before it was called.
* A job that cannot be kept (a time without a zone) is :class:`~beskar_jobs.model.errors.InvalidValue`.
* Failures that may pass (file locked, server away, disk full) are :class:`~beskar_jobs.model.errors.StorageError`.
* A storage may be used from one event loop; it never blocks it for longer than a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import attrs

from beskar_jobs.model.job import Job, JobId, JobStatus
from beskar_jobs.model.recurring import Occurrence, RecurringJob


@attrs.frozen
class Change:
    """Write *job* over the stored one, if that one has version *expected_version*."""

    expected_version: int
    job: Job


@attrs.frozen
class Firing:
    """An occurrence, and the job it makes, if any: both are written, or neither."""

    occurrence: Occurrence
    job: Job | None = None


@attrs.frozen
class RecurringChange:
    """Write *entry* over the stored one of that name, with its *firings*, all or nothing.

    Attributes:
        expected_version: of the stored entry; 0: there is none.
        entry: ``None`` removes the entry and its occurrences; its jobs stay.
    """

    name: str
    expected_version: int
    entry: RecurringJob | None
    firings: Sequence[Firing] = ()


@attrs.frozen
class Commit:
    """What goes into one transaction: inserts first, then changes, then recurring entries, each list in order."""

    inserts: Sequence[Job] = ()
    changes: Sequence[Change] = ()
    recurring: Sequence[RecurringChange] = ()


@attrs.frozen
class CommitOutcome:
    """What became of a :class:`Commit`.

    Attributes:
        existing: per insert, ``None`` if it was written, else the job that already had the id.
        applied: per change, whether it was written.
        recurring: per recurring change, ``None`` if it was refused, else for each firing whether it was written.
    """

    existing: Sequence[Job | None]
    applied: Sequence[bool]
    recurring: Sequence[Sequence[bool] | None] = ()


@attrs.frozen
class Lane:
    """The ENQUEUED jobs of one type in one queue: what a worker that knows the type could take."""

    queue: str
    job_type: str


@attrs.frozen
class JobFilter:
    """Which jobs to find; ``None`` or empty: any."""

    statuses: Sequence[JobStatus] = ()
    queue: str | None = None
    job_type: str | None = None


class JobStorage(Protocol):
    async def open(self) -> None:
        """Connect, and bring the schema to this version (forward only).

        Raises:
            StorageError: cannot be opened, or its schema is newer than this program.
        """

    async def close(self) -> None: ...

    async def commit(self, commit: Commit) -> CommitOutcome: ...

    async def get(self, ids: Sequence[JobId]) -> Sequence[Job | None]:
        """The jobs with these ids, in the order of *ids*; ``None`` where there is none."""
        ...

    async def ready(self, lane: Lane, limit: int) -> Sequence[Job]:
        """The first *limit* ENQUEUED jobs of *lane*, by :attr:`Job.order`."""
        ...

    async def lanes(self) -> Sequence[tuple[Lane, int]]:
        """Every lane with at least one ENQUEUED job, and how many it has."""
        ...

    async def due(self, now: datetime, limit: int) -> Sequence[Job]:
        """SCHEDULED jobs that wait for ``time`` or ``retry`` with ``due_at <= now``, earliest first."""
        ...

    async def next_due(self, after: datetime | None = None) -> datetime | None:
        """The earliest ``due_at`` (after *after*, if given) of SCHEDULED jobs that wait for ``time`` or ``retry``."""
        ...

    async def active(self) -> Sequence[Job]:
        """All DISPATCHED and RUNNING jobs."""
        ...

    async def find(self, wanted: JobFilter, *, limit: int, before_sequence: int | None = None) -> Sequence[Job]:
        """Jobs that match, latest enqueued first; *before_sequence* pages on (exclusive)."""
        ...

    async def counts(self) -> Sequence[tuple[str, JobStatus, int]]:
        """How many jobs each queue has in each status (zero counts left out)."""
        ...

    async def last_sequence(self) -> int:
        """The highest ``spec.sequence`` stored so far, 0 if none."""
        ...

    async def recurring(self, names: Sequence[str] | None = None) -> Sequence[RecurringJob]:
        """The recurring entries, or those of these *names* that are there, by name. One that cannot be read comes with
        its :attr:`~beskar_jobs.model.recurring.RecurringJob.problem`, and does not hold up the others."""
        ...

    async def occurrences(self, name: str, limit: int) -> Sequence[Occurrence]:
        """What became of the instants of this entry, the latest first."""
        ...
