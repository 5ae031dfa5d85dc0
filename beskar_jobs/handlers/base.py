"""The two bases of handlers. A handler is built once per worker and runs many jobs, also at the same time.

``execute`` may be written ``async def`` (it runs on the worker's event loop) or ``def`` (it runs in a thread). The
declared return type is the union of both, which is the one declaration that lets an implementer write either under
mypy --strict and pyright, and still makes a wrong result type an error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from beskar_jobs.handlers.context import JobContext
from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.model.request import JobRequest

if TYPE_CHECKING:
    from beskar_jobs.handlers.recurrence import RecurringDeclaration
    from beskar_jobs.handlers.registry import HandlerDefinition

A = TypeVar("A")
R = TypeVar("R")


class HandlerBase(ABC, Generic[A, R]):
    """What both kinds of handlers share. Derive from :class:`JobHandler` or :class:`JobHandlerWithResult` instead.

    Attributes:
        job_type, queue: as given to ``@job_handler``; a class without the decorator has neither.
    """

    job_type: ClassVar[str]
    queue: ClassVar[str]
    __job_definition__: ClassVar[HandlerDefinition]
    __recurring_jobs__: ClassVar[tuple[RecurringDeclaration, ...]]

    @abstractmethod
    def execute(self, context: JobContext[A]) -> Awaitable[R] | R:
        """Do the job. Returning ends it well; an exception fails the attempt, and the retry policy decides."""

    @classmethod
    def request(cls, arguments: A) -> JobRequest[A, R]:
        """A typed request for this handler's job type, for processes that import the handler.

        Raises:
            InvalidValue: the class is not decorated with ``@job_handler``.
        """
        definition = cls.__dict__.get("__job_definition__")
        if definition is None:
            raise InvalidValue(f"{cls.__qualname__} is not decorated with @job_handler(…), so it has no job type")
        return _HandlerRequest(definition, arguments)


class JobHandler(HandlerBase[A, None], Generic[A]):
    """Handles jobs with arguments *A* that return nothing."""


class JobHandlerWithResult(HandlerBase[A, R], Generic[A, R]):
    """Handles jobs with arguments *A* that return an *R*."""


class _HandlerRequest(JobRequest[Any, Any]):
    def __init__(self, definition: HandlerDefinition, arguments: object) -> None:
        super().__init__(arguments)
        self.job_type = definition.job_type
        self.queue = definition.queue
        self.priority = definition.priority
        self.args_type = definition.args_type
        self.result_type = definition.result_type
