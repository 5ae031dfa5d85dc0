"""Beskar Jobs: distributed background jobs on MQTT 5, enqueued by class and type-checked."""

from beskar_jobs.handlers import HandlerRegistry, JobContext, JobHandler, JobHandlerWithResult, job_handler
from beskar_jobs.model.errors import (
    BeskarError,
    EnqueueRejected,
    InvalidValue,
    JobCancelled,
    JobDefinitionError,
    JobFailed,
    ResultTimeout,
    SchedulerUnavailable,
    UnknownJob,
    ValueNotSerializable,
)
from beskar_jobs.model.job import JobId, JobStatus, ParentOutcome, WaitingFor
from beskar_jobs.model.request import JobRequest, RawRequest
from beskar_jobs.model.retry import Retry
from beskar_jobs.model.updates import JobStatusUpdate

__all__ = [
    "BeskarError",
    "EnqueueRejected",
    "HandlerRegistry",
    "InvalidValue",
    "JobCancelled",
    "JobContext",
    "JobDefinitionError",
    "JobFailed",
    "JobHandler",
    "JobHandlerWithResult",
    "JobId",
    "JobRequest",
    "JobStatus",
    "JobStatusUpdate",
    "ParentOutcome",
    "RawRequest",
    "ResultTimeout",
    "Retry",
    "SchedulerUnavailable",
    "UnknownJob",
    "ValueNotSerializable",
    "WaitingFor",
    "job_handler",
]
