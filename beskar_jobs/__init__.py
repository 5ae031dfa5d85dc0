"""Beskar Jobs: distributed background jobs on MQTT 5, enqueued by class and type-checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from beskar_jobs.client import JobClient, JobHandle, SyncJobClient, SyncJobHandle
from beskar_jobs.handlers import HandlerRegistry, JobContext, JobHandler, JobHandlerWithResult, job_handler
from beskar_jobs.model.errors import (
    BeskarError,
    BrokerUnreachable,
    EnqueueRejected,
    InvalidValue,
    JobCancelled,
    JobDefinitionError,
    JobFailed,
    ResultTimeout,
    SchedulerUnavailable,
    UnknownJob,
    ValueNotSerializable,
    WorkerReplaced,
)
from beskar_jobs.model.job import JobId, JobStatus, ParentOutcome, WaitingFor
from beskar_jobs.model.request import JobRequest, RawRequest
from beskar_jobs.model.retry import Retry
from beskar_jobs.model.updates import JobStatusUpdate
from beskar_jobs.runtime.connection import ConnectionSettings
from beskar_jobs.scheduler import JobScheduler
from beskar_jobs.worker import JobWorker

if TYPE_CHECKING:
    from beskar_jobs.broker import EmbeddedBroker

__all__ = [
    "BeskarError",
    "BrokerUnreachable",
    "ConnectionSettings",
    "EmbeddedBroker",
    "EnqueueRejected",
    "HandlerRegistry",
    "InvalidValue",
    "JobCancelled",
    "JobClient",
    "JobContext",
    "JobDefinitionError",
    "JobFailed",
    "JobHandle",
    "JobHandler",
    "JobHandlerWithResult",
    "JobId",
    "JobRequest",
    "JobScheduler",
    "JobStatus",
    "JobStatusUpdate",
    "JobWorker",
    "ParentOutcome",
    "RawRequest",
    "ResultTimeout",
    "Retry",
    "SchedulerUnavailable",
    "SyncJobClient",
    "SyncJobHandle",
    "UnknownJob",
    "ValueNotSerializable",
    "WaitingFor",
    "WorkerReplaced",
    "job_handler",
]


def __getattr__(name: str) -> Any:
    """The embedded broker is imported when it is used: its packet codec is an extra that most processes go without."""
    if name == "EmbeddedBroker":
        from beskar_jobs.broker import EmbeddedBroker  # noqa: PLC0415

        return EmbeddedBroker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
