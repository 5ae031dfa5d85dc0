"""Beskar Jobs: distributed background jobs on MQTT 5, enqueued by class and type-checked.

Each public name is imported from its home when it is first used. So a client does not pay for the worker, nobody pays
for the packet codec of the embedded broker (an extra) but who uses it, and the command line answers at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from beskar_jobs.broker import EmbeddedBroker
    from beskar_jobs.client import JobClient, JobHandle, SyncJobClient, SyncJobHandle
    from beskar_jobs.handlers import (
        HandlerRegistry,
        JobContext,
        JobHandler,
        JobHandlerWithResult,
        default_registry,
        job_handler,
        recurring,
    )
    from beskar_jobs.model.errors import (
        BeskarError,
        BrokerUnreachable,
        EnqueueRejected,
        InvalidCron,
        InvalidValue,
        JobCancelled,
        JobDefinitionError,
        JobFailed,
        ResultTimeout,
        SchedulerUnavailable,
        UnknownJob,
        UnknownRecurring,
        ValueNotSerializable,
        WorkerReplaced,
    )
    from beskar_jobs.model.job import JobId, JobStatus, ParentOutcome, WaitingFor
    from beskar_jobs.model.recurring import Misfire, Occurrence, OccurrenceOutcome, Overlap, RecurringJob
    from beskar_jobs.model.request import NOT_GIVEN, JobRequest, RawRequest
    from beskar_jobs.model.retry import Retry
    from beskar_jobs.model.updates import JobStatusUpdate
    from beskar_jobs.runtime.connection import ConnectionSettings
    from beskar_jobs.scheduler import JobScheduler
    from beskar_jobs.wire.values import register_type
    from beskar_jobs.worker import JobWorker

__all__ = [
    "NOT_GIVEN",
    "BeskarError",
    "BrokerUnreachable",
    "ConnectionSettings",
    "EmbeddedBroker",
    "EnqueueRejected",
    "HandlerRegistry",
    "InvalidCron",
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
    "Misfire",
    "Occurrence",
    "OccurrenceOutcome",
    "Overlap",
    "ParentOutcome",
    "RawRequest",
    "RecurringJob",
    "ResultTimeout",
    "Retry",
    "SchedulerUnavailable",
    "SyncJobClient",
    "SyncJobHandle",
    "UnknownJob",
    "UnknownRecurring",
    "ValueNotSerializable",
    "WaitingFor",
    "WorkerReplaced",
    "default_registry",
    "job_handler",
    "recurring",
    "register_type",
]

_HOMES: Final = {
    name: module
    for module, names in {
        "beskar_jobs.broker": ("EmbeddedBroker",),
        "beskar_jobs.client": ("JobClient", "JobHandle", "SyncJobClient", "SyncJobHandle"),
        "beskar_jobs.handlers": (
            "HandlerRegistry",
            "JobContext",
            "JobHandler",
            "JobHandlerWithResult",
            "default_registry",
            "job_handler",
            "recurring",
        ),
        "beskar_jobs.model.errors": (
            "BeskarError",
            "BrokerUnreachable",
            "EnqueueRejected",
            "InvalidCron",
            "InvalidValue",
            "JobCancelled",
            "JobDefinitionError",
            "JobFailed",
            "ResultTimeout",
            "SchedulerUnavailable",
            "UnknownJob",
            "UnknownRecurring",
            "ValueNotSerializable",
            "WorkerReplaced",
        ),
        "beskar_jobs.model.job": ("JobId", "JobStatus", "ParentOutcome", "WaitingFor"),
        "beskar_jobs.model.recurring": ("Misfire", "Occurrence", "OccurrenceOutcome", "Overlap", "RecurringJob"),
        "beskar_jobs.model.request": ("NOT_GIVEN", "JobRequest", "RawRequest"),
        "beskar_jobs.model.retry": ("Retry",),
        "beskar_jobs.model.updates": ("JobStatusUpdate",),
        "beskar_jobs.runtime.connection": ("ConnectionSettings",),
        "beskar_jobs.scheduler": ("JobScheduler",),
        "beskar_jobs.wire.values": ("register_type",),
        "beskar_jobs.worker": ("JobWorker",),
    }.items()
    for name in names
}

if not TYPE_CHECKING:  # a type checker knows the names, and is to refuse all others

    def __getattr__(name: str) -> Any:
        """A public name, on its first use; from then on it is an ordinary attribute."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(home), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
