"""Handlers: the classes that do the jobs, the decorator that declares them, and the registry that finds them."""

from beskar_jobs.handlers.base import JobHandler, JobHandlerWithResult
from beskar_jobs.handlers.context import AttemptLink, JobContext, ProgressReport
from beskar_jobs.handlers.decorator import job_handler
from beskar_jobs.handlers.registry import HandlerDefinition, HandlerRegistry, default_registry, definition_of

__all__ = [
    "AttemptLink",
    "HandlerDefinition",
    "HandlerRegistry",
    "JobContext",
    "JobHandler",
    "JobHandlerWithResult",
    "ProgressReport",
    "default_registry",
    "definition_of",
    "job_handler",
]
