"""A job: what was asked for (:class:`JobSpec`, never changed after enqueue) and how it stands (:class:`Job`).

Both are plain frozen data. Nothing here decides; :mod:`beskar_jobs.core.transitions` does.

* ``version`` grows by one with every change: a storage writes a change only over the version it was decided on.
* ``fence`` grows by one with every claim: the attempt token. News of an attempt counts only with the current fence.
* ``attempt`` counts the attempts that count (a rejected or released claim gives its number back).
* ``failures`` and ``crashes`` are the two budgets; a requeue by hand resets both, and neither of the numbers above.

Times are aware datetimes in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, NewType

import attrs

from beskar_jobs.model.retry import NO_RETRY, Retry

JobId = NewType("JobId", str)
WorkerId = NewType("WorkerId", str)
ClientId = NewType("ClientId", str)

DEFAULT_QUEUE: Final = "default"
DEFAULT_MAX_CRASHES: Final = 5
MAX_PRIORITY: Final = 1_000_000


class JobStatus(StrEnum):
    """Where a job stands. The last three are terminal."""

    SCHEDULED = "scheduled"
    ENQUEUED = "enqueued"
    DISPATCHED = "dispatched"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    DEAD_LETTERED = "dead_lettered"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        return self in TERMINAL

    @property
    def is_active(self) -> bool:
        """A worker has it, or is being offered it."""
        return self in ACTIVE


TERMINAL: Final = frozenset({JobStatus.SUCCEEDED, JobStatus.DEAD_LETTERED, JobStatus.CANCELLED})
ACTIVE: Final = frozenset({JobStatus.DISPATCHED, JobStatus.RUNNING})


class WaitingFor(StrEnum):
    """What a job that does not run yet waits for. ``SLOT`` and ``WORKER`` are derived from presence, not stored."""

    TIME = "time"
    PARENT = "parent"
    RETRY = "retry"
    SLOT = "slot"
    RATE = "rate"
    WORKER = "worker"


class ParentOutcome(StrEnum):
    """Which end of its parents lets a continuation run."""

    SUCCEEDED = "succeeded"
    FINISHED = "finished"


class FailureKind(StrEnum):
    """Why an attempt ended without success."""

    EXCEPTION = "exception"
    TIMEOUT = "timeout"
    ARGUMENTS = "arguments"
    RESULT = "result"
    CRASH = "crash"


@attrs.frozen
class JobFailure:
    """Why an attempt, or in the end the job, failed.

    Attributes:
        error_type: qualified name of the exception class, ``""`` where there was none (a crash).
        error_bases: qualified names of the exception class and its bases, for ``retry_on`` / ``give_up_on``.
        traceback: text, cut to a bound by the worker.
    """

    kind: FailureKind
    message: str
    error_type: str = ""
    error_bases: tuple[str, ...] = ()
    traceback: str = ""

    @property
    def summary(self) -> str:
        """Type and message, as people read it."""
        return f"{self.type_name}: {self.message}" if self.error_type else self.message

    @property
    def type_name(self) -> str:
        """``error_type`` as Python's own tracebacks have it: a built-in exception without its module."""
        return self.error_type.removeprefix("builtins.")


@attrs.frozen
class WorkerRef:
    """One process that works: its id, and the incarnation that tells it from earlier ones of the same id."""

    worker_id: WorkerId
    incarnation: str


@attrs.frozen
class JobPolicy:
    """The options in force for a job: resolved once, at its first claim, and stored with it.

    Attributes:
        timeout: seconds that one attempt may run; ``None``: no bound.
        restart_on_crash: whether the job starts again when its worker is lost.
    """

    retry: Retry = NO_RETRY
    timeout: float | None = None
    restart_on_crash: bool = True
    max_crashes: int = DEFAULT_MAX_CRASHES


@attrs.frozen
class JobSpec:
    """What the client asked for.

    Attributes:
        arguments: the arguments as the serializer wrote them (JSON by default).
        priority: higher runs first, within a queue.
        sequence: order of enqueue, given by the scheduler.
        run_at: not before this time.
        retry, timeout: the per-enqueue rung of the policy; ``None`` leaves it to the handler.
        metadata: the user's own, carried to the handler.
        traceparent: W3C trace context of the enqueuer, ``""`` for none.
    """

    id: JobId
    job_type: str
    queue: str
    arguments: bytes
    created_at: datetime
    sequence: int = 0
    priority: int = 0
    run_at: datetime | None = None
    retry: Retry | None = None
    timeout: float | None = None
    metadata: Mapping[str, str] = attrs.field(factory=dict)
    traceparent: str = ""


@attrs.frozen(slots=False)
class Job:
    """How a job stands. (No slots: a change copies the instance's dictionary, a tenth of what ``attrs.evolve`` costs.)

    Attributes:
        due_at: when a SCHEDULED job (``time``, ``retry``) becomes ENQUEUED; for the others, when it became ready, which
            orders it in its queue.
        worker: who holds the current attempt; ``None`` unless DISPATCHED or RUNNING.
        reason: why it stands where it stands, in a few words, for people.
        result: as the serializer wrote it; only SUCCEEDED jobs have one.
        failure: of the last failed attempt; stays until the job succeeds.
    """

    spec: JobSpec
    status: JobStatus
    due_at: datetime
    updated_at: datetime
    waiting_for: WaitingFor | None = None
    version: int = 1
    fence: int = 0
    attempt: int = 0
    failures: int = 0
    crashes: int = 0
    worker: WorkerRef | None = None
    policy: JobPolicy | None = None
    cancel_requested: bool = False
    started_at: datetime | None = None
    finished_at: datetime | None = None
    reason: str = ""
    result: bytes | None = None
    failure: JobFailure | None = None

    @property
    def id(self) -> JobId:
        return self.spec.id

    @property
    def job_type(self) -> str:
        return self.spec.job_type

    @property
    def queue(self) -> str:
        return self.spec.queue

    @property
    def order(self) -> tuple[int, datetime, int]:
        """Place within a queue, smallest first: priority, due time, order of enqueue."""
        return (-self.spec.priority, self.due_at, self.spec.sequence)
