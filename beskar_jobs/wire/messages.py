"""The messages: one class for each payload, versioned, checked while they are decoded.

The envelopes are msgspec structs rather than attrs classes: decoding checks types and bounds in one C pass (about a
microsecond an item, against ten), and :class:`msgspec.Raw` carries a user's arguments and results through scheduler and
broker verbatim, without parsing what only the two ends need to understand.

Versioning: ``v`` is the version of the protocol, raised when a reader of the old one would go wrong. New optional
fields do not raise it; readers ignore fields that they do not know.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec

from beskar_jobs.model.job import FailureKind, JobFailure, JobStatus, WaitingFor
from beskar_jobs.model.names import MAX_NAME_BYTES, NAME_PATTERN
from beskar_jobs.model.presence import SchedulerPresence, WorkerHeartbeat
from beskar_jobs.model.recurring import Occurrence, RecurringDefinition, RecurringJob
from beskar_jobs.model.retry import Retry

PROTOCOL_VERSION: Final = 1
MAX_ITEMS: Final = 10_000
"""Items in one command at most; a client cuts longer lists."""
MAX_COMMAND_BYTES: Final = 16 * 1024 * 1024
"""Bytes of one command at most; likewise."""
MAX_ARGUMENT_BYTES: Final = 1024 * 1024
MAX_RESULT_BYTES: Final = 4 * 1024 * 1024
INLINE_RESULT_BYTES: Final = 128 * 1024
"""A larger result is left out of status messages, and of replies with several jobs, and fetched by query."""
REPLY_BYTES: Final = 4 * 1024 * 1024
"""Once a reply with several jobs has this size, the arguments and results of further ones are left out."""
MAX_TEXT: Final = 64 * 1024

Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]
MAX_NUMBER: Final = 2**63 - 1
"""What storages and encoders take; a decoder would let longer integers through."""
Number = Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
TopicLevel = Annotated[str, msgspec.Meta(max_length=MAX_NAME_BYTES, pattern=NAME_PATTERN)]
"""A name of which the scheduler makes a topic to answer on: a wildcard in it would end its connection to the broker.
Empty where nobody is named."""
NULL: Final = msgspec.Raw(b"null")


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what stands alone as a payload."""

    v: int = PROTOCOL_VERSION


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base of what stands inside a message, in numbers: fields at their default are left out."""


class Attempt(msgspec.Struct, frozen=True, array_like=True):
    """One attempt at a job: ``[job id, fence]``."""

    job_id: Name
    fence: Number


# -- client -> scheduler ----------------------------------------------------------------------------------------------


class EnqueueItem(Item, frozen=True, omit_defaults=True):
    """One job to enqueue. *delay* (seconds) counts on the scheduler's clock, *run_at* names an instant."""

    id: Name
    job_type: str
    queue: str
    arguments: msgspec.Raw
    priority: int = 0
    delay: float | None = None
    run_at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    retry: Retry | None = None
    timeout: float | None = None
    metadata: dict[str, str] = {}
    traceparent: str = ""


class EnqueueCommand(Message, frozen=True, kw_only=True):
    """Jobs to enqueue in one commit. *watcher*: the client whose updates topic is to hear of them, ``""`` for none."""

    items: Annotated[list[EnqueueItem], msgspec.Meta(min_length=1, max_length=MAX_ITEMS)]
    watcher: TopicLevel = ""


class EnqueueException(Item, frozen=True, omit_defaults=True):
    """An item of an enqueue command that was not simply accepted: refused, or known already (an idempotent repeat)."""

    index: Number
    outcome: Literal["rejected", "exists"]
    message: str = ""


class EnqueueReply(Message, frozen=True, kw_only=True):
    """All items are committed, but for those in *exceptions*. *error*: nothing was stored; *busy*: try again later."""

    exceptions: list[EnqueueException] = []
    error: str = ""
    busy: bool = False


class CancelCommand(Message, frozen=True, kw_only=True):
    reason: Text = ""


class CancelReply(Message, frozen=True, kw_only=True):
    """What the cancel did: ``requested`` means that the running handler has been told."""

    outcome: Literal["cancelled", "requested", "finished", "unknown"] = "unknown"
    status: JobStatus | None = None
    error: str = ""


class QueryCommand(Message, frozen=True, kw_only=True):
    """A question. ``jobs`` asks for the jobs in *ids*, and watches them if *watcher* is given."""

    what: Literal["jobs", "find", "workers", "queues"]
    ids: Annotated[list[Name], msgspec.Meta(max_length=MAX_ITEMS)] = []
    watcher: TopicLevel = ""
    statuses: list[JobStatus] = []
    queue: str | None = None
    job_type: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    before_sequence: Number | None = None


class RecurringCommand(Message, frozen=True, kw_only=True):
    """What to do about recurring entries. All but ``list`` and ``declare`` name one.

    Attributes:
        definition: for ``upsert``. *paused*: pause or resume it with that; ``None`` leaves it.
        job_id: for ``trigger``: the id of the job to make; the same id twice makes one.
        watcher: for ``trigger``: as in :class:`EnqueueCommand`.
        definitions, job_types: for ``declare``: all entries that a worker's code declares, and all types it knows.
        incarnation: for ``declare``: that of the worker.
        after, limit: for ``list``: entries whose names are beyond *after*. *limit* also bounds ``history``.
    """

    action: Literal["upsert", "remove", "pause", "resume", "trigger", "list", "history", "declare"]
    name: Text = ""
    definition: RecurringDefinition | None = None
    paused: bool | None = None
    job_id: TopicLevel = ""
    watcher: TopicLevel = ""
    definitions: Annotated[list[RecurringDefinition], msgspec.Meta(max_length=MAX_ITEMS)] = []
    job_types: Annotated[list[str], msgspec.Meta(max_length=MAX_ITEMS)] = []
    incarnation: Text = ""
    after: Text = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class RecurringReply(Message, frozen=True, kw_only=True):
    """What was done is committed. *unknown*: there is no entry of this name; *busy*: try again later."""

    entries: list[RecurringJob] = []
    occurrences: list[Occurrence] = []
    unknown: bool = False
    error: str = ""
    busy: bool = False


class QueueView(Item, frozen=True, omit_defaults=True):
    """How a queue stands: jobs per status, and the workers that serve it."""

    queue: str
    counts: dict[JobStatus, Number] = {}
    workers: Number = 0


class JobView(Item, frozen=True, omit_defaults=True):
    """A job, as answered to a query; in full where it is the only one."""

    id: str
    job_type: str
    queue: str
    status: JobStatus
    sequence: Number
    attempt: Number
    updated_at: datetime
    created_at: datetime
    due_at: datetime
    order: Number
    arguments: msgspec.Raw
    waiting_for: WaitingFor | None = None
    percent: float | None = None
    message: str = ""
    reason: str = ""
    worker_id: str = ""
    result: msgspec.Raw = NULL
    failure: JobFailure | None = None
    priority: int = 0
    failures: Number = 0
    crashes: Number = 0
    cancel_requested: bool = False
    started_at: datetime | None = None
    finished_at: datetime | None = None
    metadata: dict[str, str] = {}
    capable_workers: Number = 0
    arguments_omitted: bool = False
    result_omitted: bool = False


class QueryReply(Message, frozen=True, kw_only=True):
    jobs: list[JobView | None] = []
    workers: list[WorkerHeartbeat] = []
    queues: list[QueueView] = []
    error: str = ""


# -- scheduler -> all, scheduler -> client -----------------------------------------------------------------------------


class StatusItem(Item, frozen=True, omit_defaults=True):
    """One state of a job; see :class:`beskar_jobs.model.updates.JobStatusUpdate`."""

    id: str
    job_type: str
    queue: str
    status: JobStatus
    sequence: Number
    attempt: Number
    updated_at: datetime
    waiting_for: WaitingFor | None = None
    percent: float | None = None
    message: str = ""
    reason: str = ""
    worker_id: str = ""
    result: msgspec.Raw = NULL
    result_omitted: bool = False
    failure: JobFailure | None = None


class StatusMessage(Message, frozen=True, kw_only=True):
    job: StatusItem


class UpdatesMessage(Message, frozen=True, kw_only=True):
    jobs: list[StatusItem]


# -- scheduler <-> worker ----------------------------------------------------------------------------------------------


class Claim(Item, frozen=True, omit_defaults=True):
    """An attempt offered to a worker; *timeout* in seconds from its start."""

    job_id: Name
    fence: Number
    job_type: str
    attempt: Number
    arguments: msgspec.Raw
    timeout: float | None = None
    metadata: dict[str, str] = {}
    traceparent: str = ""


class ClaimRequest(Message, frozen=True, kw_only=True):
    """Claims for the worker process of this *incarnation*; another one leaves them alone."""

    incarnation: str
    claims: list[Claim]


class Rejection(Item, frozen=True, omit_defaults=True):
    job_id: Name
    fence: Number
    reason: Literal["full", "unknown_type", "queue", "draining", "duplicate", "cancelled"]


class ClaimReply(Message, frozen=True, kw_only=True):
    """Every claim of the request is accepted, and may have started already, but for those in *rejections*."""

    worker_id: Annotated[TopicLevel, msgspec.Meta(min_length=1)]
    incarnation: str
    accepted: list[Attempt] = []
    rejections: list[Rejection] = []


class AttemptEvent(Item, frozen=True, omit_defaults=True):
    """What happened to an attempt. All but ``progress`` end it, and are sent again until acknowledged.

    Attributes:
        percent: reported by the handler; of an end, if that report has not been told before.
        message: the text of that report.
    """

    kind: Literal["progress", "succeeded", "failed", "cancelled", "released"]
    job_id: Name
    fence: Number
    percent: Annotated[float, msgspec.Meta(ge=0, le=100)] | None = None
    message: Text = ""
    result: msgspec.Raw = NULL
    failure: JobFailure | None = None


class EventBatch(Message, frozen=True, kw_only=True):
    worker_id: Annotated[TopicLevel, msgspec.Meta(min_length=1)]
    incarnation: str
    events: list[AttemptEvent]


class ControlMessage(Message, frozen=True, kw_only=True):
    """To the worker process of this *incarnation*.

    Attributes:
        acknowledged: ends of attempts that are committed (or refused for good): forget them.
        cancel: stop these, gently; one whose claim has not come yet is to be refused.
        abandon: these are no longer yours; stop them, and report nothing.
        report: publish a heartbeat with this as its ``report``, ``""`` for no report.
    """

    incarnation: str
    acknowledged: list[Attempt] = []
    cancel: list[Attempt] = []
    abandon: list[Attempt] = []
    report: str = ""


class WorkerPresenceMessage(Message, frozen=True, kw_only=True):
    worker: WorkerHeartbeat


class SchedulerPresenceMessage(Message, frozen=True, kw_only=True):
    scheduler: SchedulerPresence


def failure_of(kind: FailureKind, message: str) -> JobFailure:
    """A failure without an exception behind it."""
    return JobFailure(kind, message[:MAX_TEXT])
