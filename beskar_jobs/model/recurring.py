"""Recurring jobs: what was asked for (:class:`RecurringDefinition`), how an entry stands, what became of its instants.

An *instant* is a moment that the schedule names; an *occurrence* is what became of it, keyed by (name, instant) and
unique in storage. Nothing here decides; :mod:`beskar_jobs.core.recurring` does.

An entry moves forward only: ``last_instant`` never goes back, so that a clock that is set back fires nothing twice.
``version`` grows by one with every change, and a storage writes a change only over the version it was decided on: of
two schedulers that see one instant due, one writes occurrence, job and the entry's next instant, all at once.

Times are aware datetimes in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

import attrs

from beskar_jobs.model.job import JobId
from beskar_jobs.model.retry import Retry

DEFAULT_MISFIRE_LIMIT: Final = 100
MAX_MISFIRE_LIMIT: Final = 1_000
MAX_JITTER: Final = 24 * 3600.0
OCCURRENCES_KEPT: Final = 100
"""Occurrences that a storage keeps of each entry, the latest; writing newer ones drops the rest."""


class Overlap(StrEnum):
    """What happens at an instant while an earlier run of the entry has not ended.

    A run counts from its enqueue to its end; one that waits for a retry, or for its time, has not ended.
    """

    ALLOW_CONCURRENT = "allow_concurrent"
    SKIP_IF_RUNNING = "skip_if_running"
    QUEUE_NEXT = "queue_next"


class Misfire(StrEnum):
    """What happens to instants that passed by more than a minute while no scheduler ran."""

    SKIP = "skip"
    FIRE_ONCE = "fire_once"
    FIRE_ALL = "fire_all"


class RecurringSource(StrEnum):
    """Who defined an entry: a decorator in the workers' code, or somebody through a client."""

    DECLARED = "declared"
    API = "api"


class OccurrenceOutcome(StrEnum):
    """What became of an instant."""

    ENQUEUED = "enqueued"
    TRIGGERED = "triggered"
    SKIPPED_RUNNING = "skipped_running"
    SKIPPED_QUEUED = "skipped_queued"
    MISSED = "missed"


@attrs.frozen
class RecurringDefinition:
    """What recurs, and when.

    Attributes:
        schedule: a cron expression or ``@every …``.
        time_zone: IANA name; the schedule's clock.
        arguments: as the serializer wrote them.
        retry, timeout: the per-enqueue rung of the policy of its jobs.
        misfire_limit: how many missed instants :attr:`Misfire.FIRE_ALL` makes up for, the latest.
        start, end: no instant before *start*, none after *end*.
        jitter: seconds; each job may start later by up to this, by a share that follows from name and instant.
    """

    name: str
    job_type: str
    queue: str
    arguments: bytes
    schedule: str
    time_zone: str = "UTC"
    priority: int = 0
    retry: Retry | None = None
    timeout: float | None = None
    metadata: Mapping[str, str] = attrs.field(factory=dict)
    overlap: Overlap = Overlap.ALLOW_CONCURRENT
    misfire: Misfire = Misfire.FIRE_ONCE
    misfire_limit: int = DEFAULT_MISFIRE_LIMIT
    start: datetime | None = None
    end: datetime | None = None
    jitter: float = 0.0


@attrs.frozen
class Occurrence:
    """What became of one instant.

    Attributes:
        decided_at: when that was decided.
        job_id: the job it made, ``None`` if none.
        missed: for :attr:`OccurrenceOutcome.MISSED`: how many instants up to this one have passed unserved.
    """

    name: str
    instant: datetime
    outcome: OccurrenceOutcome
    decided_at: datetime
    job_id: JobId | None = None
    missed: int = 0


@attrs.frozen
class RecurringJob:
    """An entry: its definition, and how it stands.

    Attributes:
        next_at: the instant it waits for; ``None``: paused, over, or broken.
        last_instant: the latest instant that was dealt with.
        last: the latest occurrence.
        queued: the instant whose run waits for the end of the one before (:attr:`Overlap.QUEUE_NEXT`).
        runs: jobs of this entry that may not have ended; kept only where *overlap* asks for them.
        withdrawn_at: since when a worker that knows its job type has not declared it any more.
        problem: why it cannot fire, ``""`` if it can.
    """

    definition: RecurringDefinition
    created_at: datetime
    updated_at: datetime
    version: int = 1
    source: RecurringSource = RecurringSource.API
    paused: bool = False
    next_at: datetime | None = None
    last_instant: datetime | None = None
    last: Occurrence | None = None
    queued: datetime | None = None
    runs: tuple[JobId, ...] = ()
    withdrawn_at: datetime | None = None
    problem: str = ""

    @property
    def name(self) -> str:
        return self.definition.name
