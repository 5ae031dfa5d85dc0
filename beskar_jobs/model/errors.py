"""The tree of errors that Beskar Jobs raises.

Every error a caller may want to catch derives from :class:`BeskarError`. A message names the thing, the rule it broke,
and the way out; secrets (the password in a broker URL) never stand in one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from beskar_jobs.model.job import JobFailure, JobId


class BeskarError(Exception):
    """Base of every error of this library."""


class InvalidValue(BeskarError, ValueError):
    """A value from outside (an option, a name, a URL) breaks a rule; the message says which."""


class InvalidCron(InvalidValue):
    """A cron expression or an interval that is malformed, out of bounds, or can never fire.

    Attributes:
        field: the field at fault (``"minute"``, ``"day-of-week"``, ``"interval"`` …), or ``""`` if it is the whole.
        value: what stands there.
    """

    def __init__(self, message: str, *, field: str = "", value: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.value = value


class JobDefinitionError(BeskarError, TypeError):
    """A handler class breaks a rule of the JOBGEN table.

    Attributes:
        code: the rule, for example ``"JOBGEN004"``; ``beskar-codegen explain CODE`` tells more.
        hint: what to change.
    """

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(f"{code}: {message} ({hint})")
        self.code = code
        self.hint = hint


class IllegalTransition(BeskarError):
    """A status change that the transition table does not allow."""


class StaleAttempt(IllegalTransition):
    """News of an attempt that no longer holds the job: its fence is not the current one."""


class PayloadInvalid(BeskarError):
    """Bytes from the wire that are not what their topic promises: malformed, oversized, or of an unknown version."""


class ValueNotSerializable(BeskarError, TypeError):
    """An argument or a result cannot be written as, or read from, its declared type."""


class TransportError(BeskarError):
    """Base of the errors of a connection to a broker."""


class BrokerUnreachable(TransportError):
    """No connection could be made in the time allowed; names the URL without its password.

    Attributes:
        denied: the broker answered, and does not let this user in (reason codes 0x86 and 0x87).
    """

    def __init__(self, message: str, *, denied: bool = False) -> None:
        super().__init__(message)
        self.denied = denied


class TransportClosed(TransportError):
    """The transport was closed, by its owner or for good by the broker."""


class OutboundQueueFull(TransportError):
    """The broker is away, and the bounded queue for what is to be sent is full."""


class PublishRefused(TransportError):
    """The broker refuses a message: larger than it accepts, or not allowed on its topic."""


class SubscriptionRefused(TransportError):
    """The broker refused a topic filter."""


class StorageError(BeskarError):
    """A storage cannot do what was asked (offline, locked, full); what was not committed can be tried again."""


class WorkerReplaced(BeskarError):
    """Another process runs under the same worker id; this one, the older, has stopped."""


class EnqueueRejected(BeskarError):
    """The scheduler refused a job, or the client did before sending it; nothing was stored."""


class SchedulerUnavailable(BeskarError):
    """No scheduler answered in time. Safe to try again: with the same job id there is never a second job."""


class UnknownJob(BeskarError):
    """No job has this id: it never existed, or its retention is over."""

    def __init__(self, job_id: JobId) -> None:
        super().__init__(f"no job has the id {job_id!r}; it was never enqueued, or its retention is over")
        self.job_id = job_id


class UnknownRecurring(BeskarError):
    """No recurring entry has this name: it was never added, or it was removed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no recurring job has the name {name!r}; it was never added, or was removed")
        self.name = name


class ResultTimeout(BeskarError, TimeoutError):
    """The job had not ended when the wait for its result did; the job goes on."""


class JobFailed(BeskarError):
    """The job was dead-lettered.

    Attributes:
        job_id: which job.
        failure: the last attempt's error: kind, type, message, traceback.
    """

    def __init__(self, job_id: JobId, failure: JobFailure) -> None:
        super().__init__(f"job {job_id} failed: {failure.summary}")
        self.job_id = job_id
        self.failure = failure


class JobCancelled(BeskarError):
    """The job was cancelled, and so has no result."""

    def __init__(self, job_id: JobId, reason: str) -> None:
        super().__init__(f"job {job_id} was cancelled: {reason}" if reason else f"job {job_id} was cancelled")
        self.job_id = job_id
        self.reason = reason
