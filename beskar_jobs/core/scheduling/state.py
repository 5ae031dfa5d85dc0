"""What the parts of the scheduler session share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime

import attrs

from beskar_jobs.core.lanes import Lanes
from beskar_jobs.core.scheduling.ledger import Ledger
from beskar_jobs.core.scheduling.outbox import Outbox
from beskar_jobs.core.scheduling.records import Notable, Question, Read, RefusedEnd
from beskar_jobs.core.workers import Workers
from beskar_jobs.model.job import Job, JobStatus, WaitingFor
from beskar_jobs.model.retry import NO_RETRY, Retry
from beskar_jobs.ports.storage import Lane


@attrs.define(eq=False)
class SchedulerState:
    """One scheduler's view of the world.

    Attributes:
        dice: gives the jitter of a retry, in [-1, 1].
        echo_wanted: the shell is to publish the scheduler's presence, to see whether the line lives.
        next_due: when the next SCHEDULED job that nobody is reading yet is due.
        counters: what happened how often, by name; for health and metrics.
        refused_ends: late or foreign ends since the shell last looked, for its log.
        notable: likewise, what happened to workers, and to jobs whose attempt failed.
    """

    outbox: Outbox
    dice: Callable[[], float]
    default_retry: Retry = NO_RETRY
    ledger: Ledger = attrs.field(factory=Ledger)
    lanes: Lanes = attrs.field(factory=Lanes)
    workers: Workers = attrs.field(factory=Workers)
    reads: list[Read] = attrs.field(factory=list)
    questions: list[Question] = attrs.field(factory=list)
    last_sequence: int = 0
    next_due: datetime | None = None
    echo_wanted: bool = False
    counters: Counter[str] = attrs.field(factory=Counter)
    refused_ends: list[RefusedEnd] = attrs.field(factory=list)
    notable: list[Notable] = attrs.field(factory=list)

    def due_at(self, when: datetime) -> None:
        """A job is due then."""
        if self.next_due is None or when < self.next_due:
            self.next_due = when

    def waiting_for(self, job: Job) -> WaitingFor | None:
        """What *job* waits for, where that follows from presence rather than from storage."""
        if job.status is not JobStatus.ENQUEUED or job.waiting_for is not None:
            return job.waiting_for
        lane = Lane(job.queue, job.job_type)
        if not self.workers.capable(lane):
            return WaitingFor.WORKER
        return None if self.workers.candidates(lane) else WaitingFor.SLOT
