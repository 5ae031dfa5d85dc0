"""Who is there: the payload of the retained presence topics of workers and schedulers.

A worker id may be used again by a new process, and one process may connect again while the broker still keeps its old,
half-open connection. So presence names three things: the id, the *incarnation* (new with each process start, growing
with time) and the *connection* (growing with each connect of that process). An offline notice counts only for exactly
the incarnation and connection it names; an older process's last will says nothing about its successor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from beskar_jobs.model.job import DEFAULT_MAX_CRASHES, JobId, WorkerId
from beskar_jobs.model.retry import Retry

_MAX_NUMBER: Final = 2**63 - 1
_is_number: Final = attrs.validators.and_(attrs.validators.ge(0), attrs.validators.le(_MAX_NUMBER))
"""These numbers come from outside and go on into messages, where longer integers cannot be written."""


@attrs.frozen
class HandlerPolicy:
    """What a handler class declares about its job type: the handler's rung of the job policy, and its queue.

    Attributes:
        queue: where its jobs wait unless the enqueuer says otherwise; ``""`` from a worker that does not tell.
    """

    retry: Retry | None = None
    timeout: float | None = None
    restart_on_crash: bool = True
    max_crashes: int = attrs.field(default=DEFAULT_MAX_CRASHES, validator=_is_number)
    queue: str = ""


@attrs.frozen
class HeldAttempt:
    """An attempt that a worker runs, or whose result it keeps until the scheduler has acknowledged it."""

    job_id: JobId
    fence: int = attrs.field(validator=_is_number)


@attrs.frozen
class WorkerHeartbeat:
    """A worker's presence.

    Attributes:
        is_online: ``False`` in the last will and in the farewell.
        draining: takes no more claims.
        queues: the queues it serves; empty: all.
        job_types: the job types it knows, with what their handlers declare; empty: all.
        active: attempts it runs now.
        max_concurrency: slots.
        interval: seconds between two heartbeats; a reader waits three of them before it calls the worker lost.
        report: echo of the last report request it has seen, ``""`` if none: everything sent before was seen too.
    """

    worker_id: WorkerId
    incarnation: str
    connection: int = attrs.field(validator=_is_number)
    is_online: bool
    draining: bool = False
    queues: tuple[str, ...] = ()
    job_types: Mapping[str, HandlerPolicy] = attrs.field(factory=dict)
    active: int = attrs.field(default=0, validator=_is_number)
    max_concurrency: int = attrs.field(default=0, validator=_is_number)
    interval: float = 2.0
    held: tuple[HeldAttempt, ...] = ()
    report: str = ""


@attrs.frozen
class SchedulerPresence:
    """A scheduler's presence; a new incarnation tells workers and clients to send again what is not acknowledged."""

    scheduler_id: str
    incarnation: str
    connection: int = attrs.field(validator=_is_number)
    is_online: bool
