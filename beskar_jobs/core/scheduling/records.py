"""What the scheduler session keeps, and what it asks its shell to do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import Enum

import attrs

from beskar_jobs.model.job import Job, JobId, WorkerRef
from beskar_jobs.model.presence import WorkerHeartbeat
from beskar_jobs.ports.storage import Change, Commit, Lane, RecurringChange
from beskar_jobs.wire.messages import Attempt, EnqueueException, Message, RecurringReply
from beskar_jobs.wire.views import Progress

# -- commands to the shell ---------------------------------------------------------------------------------------------


@attrs.frozen
class Reply:
    """Where to answer a request: its MQTT 5 response topic and correlation data."""

    topic: str
    correlation: bytes | None


@attrs.frozen
class Send:
    """Publish *message*."""

    topic: str
    message: Message
    response_topic: str | None = None
    correlation: bytes | None = None


@attrs.frozen
class ReadLane:
    """Read the first *limit* ready jobs of *lane*; answer with ``lane_loaded``."""

    lane: Lane
    limit: int


@attrs.frozen
class ReadDue:
    """Read the jobs due at *now*, and when the next one after that is; answer with ``due_loaded``."""

    now: datetime
    limit: int


class Purpose(Enum):
    """Why a job is read from storage before a decision on it."""

    CANCEL = "cancel"
    LATE_END = "late end"
    HELD = "held"
    RESYNC = "resync"
    RUN = "run of a recurring entry"


@attrs.frozen
class Question:
    """A decision that waits for the stored job; *end* is the kind of a late end, *entry* the recurring one of a run."""

    purpose: Purpose
    job_id: JobId
    attempt: Attempt | None = None
    worker: WorkerRef | None = None
    reply: Reply | None = None
    reason: str = ""
    tries: int = 0
    end: str = ""
    entry: str = ""


@attrs.frozen
class ReadJobs:
    """Read the jobs of these questions; answer with ``jobs_loaded``."""

    questions: Sequence[Question]


@attrs.frozen
class ReadRecurring:
    """Read the recurring entry of this name; answer with ``recurring_loaded``."""

    name: str


Read = ReadLane | ReadDue | ReadJobs | ReadRecurring

# -- state -------------------------------------------------------------------------------------------------------------


@attrs.define(eq=False)
class Tracked:
    """A job that is with a worker, or has a change under way.

    Attributes:
        job: as decided last; storage may not have it yet.
        stored_version: the version that storage has.
        claim_sent: its current claim has been sent.
    """

    job: Job
    stored_version: int = 0
    progress: Progress = attrs.field(factory=Progress)
    claim_sent: bool = False


@attrs.frozen
class RefusedEnd:
    """An end reported for an attempt that does not hold its job."""

    attempt: Attempt
    worker: WorkerRef


@attrs.frozen
class WorkerCame:
    """A worker process that was not there before."""

    heartbeat: WorkerHeartbeat


@attrs.frozen
class WorkerGone:
    """A worker process is gone.

    Attributes:
        in_order: it drained and said good-bye, and had no job left.
        jobs: how many it had.
        restarted: how many of them wait for another worker; the crash budget, or their handler, decides.
    """

    worker: WorkerRef
    reason: str
    in_order: bool = False
    jobs: int = 0
    restarted: int = 0


Notable = WorkerCame | WorkerGone | Job
"""Something for the log: a worker, or a job that stands in storage as waiting for a retry or as dead-lettered."""


@attrs.define(eq=False)
class EnqueueRequest:
    """An enqueue command under way: answered when all its inserts are committed."""

    reply: Reply | None
    watcher: str
    exceptions: list[EnqueueException] = attrs.field(factory=list)
    open_items: int = 0


@attrs.frozen
class Insert:
    job: Job
    request: EnqueueRequest
    index: int


@attrs.define(eq=False)
class Write:
    """Changes to one job that go to storage as one.

    Attributes:
        ends: attempts to acknowledge to their worker once this is committed.
        cancels: cancel commands to answer then.
    """

    expected_version: int
    job: Job
    ends: list[tuple[WorkerRef, Attempt]] = attrs.field(factory=list)
    cancels: list[Question] = attrs.field(factory=list)
    is_due: bool = False


@attrs.define(eq=False)
class RecurringWrite:
    """Changes to one recurring entry that go to storage as one.

    Attributes:
        answers: commands to answer once this is committed.
        watchers: clients that are to hear of a job.
    """

    change: RecurringChange
    answers: list[tuple[Reply | None, RecurringReply]] = attrs.field(factory=list)
    watchers: list[tuple[JobId, str]] = attrs.field(factory=list)


@attrs.frozen
class Batch:
    """One transaction."""

    inserts: Sequence[Insert]
    writes: Sequence[Write]
    recurring: Sequence[RecurringWrite] = ()

    def commit(self) -> Commit:
        return Commit(
            [insert.job for insert in self.inserts],
            [Change(write.expected_version, write.job) for write in self.writes],
            [write.change for write in self.recurring],
        )
