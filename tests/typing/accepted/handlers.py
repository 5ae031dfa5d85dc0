"""Every form of a handler, as its author writes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Coroutine
from datetime import timedelta
from typing import Any, Generic, TypeVar, assert_type

import attrs

from beskar_jobs import HandlerRegistry, JobContext, JobHandler, JobHandlerWithResult, JobRequest, Retry, job_handler
from beskar_jobs.handlers import ProgressReport


@attrs.frozen
class Args:
    name: str
    size: int = 1


@dataclasses.dataclass
class Result:
    path: str


REGISTRY = HandlerRegistry()


@job_handler("async.result", queue="media", retry=Retry(3, delays=[15, 60, 300]), timeout=600, registry=REGISTRY)
class AsyncWithResult(JobHandlerWithResult[Args, Result]):
    async def execute(self, context: JobContext[Args]) -> Result:
        assert_type(context.arguments, Args)
        await context.report_progress(50, f"at {context.arguments.name}")
        return Result(context.arguments.name)


@job_handler("sync.result", timeout=timedelta(minutes=1), registry=REGISTRY)
class SyncWithResult(JobHandlerWithResult[Args, Result]):
    def execute(self, context: JobContext[Args]) -> Result:
        assert_type(context.report_progress(50), ProgressReport)
        context.report_progress(51)
        context.raise_if_cancelled()
        context.logger.info("at %s", context.arguments.name)
        return Result("a")


@job_handler("async.none", registry=REGISTRY)
class AsyncWithoutResult(JobHandler[Args]):
    async def execute(self, context: JobContext[Args]) -> None:
        await context.report_progress(100)


@job_handler("sync.none", restart_on_crash=False, max_crashes=1, priority=5, registry=REGISTRY)
class SyncWithoutResult(JobHandler[Args]):
    def __init__(self, server: str) -> None:
        self.server = server

    def execute(self, context: JobContext[Args]) -> None:
        context.report_progress(100)


@job_handler("returns.coroutine", registry=REGISTRY)
class ReturnsCoroutine(JobHandlerWithResult[Args, Result]):
    def execute(self, context: JobContext[Args]) -> Coroutine[Any, Any, Result]:
        return AsyncWithResult().execute(context)


@job_handler("returns.awaitable", registry=REGISTRY)
class ReturnsAwaitable(JobHandler[Args]):
    def execute(self, context: JobContext[Args]) -> Awaitable[None]:
        return AsyncWithoutResult().execute(context)


@job_handler("list.result", registry=REGISTRY)
class ListOfUnions(JobHandlerWithResult[list[Args | None], dict[str, int] | None]):
    async def execute(self, context: JobContext[list[Args | None]]) -> dict[str, int] | None:
        return {}


class Outer:
    @job_handler("nested", registry=REGISTRY)
    class Inner(JobHandler[Args]):
        def execute(self, context: JobContext[Args]) -> None:
            pass


T = TypeVar("T")
R = TypeVar("R")


class Traced(JobHandlerWithResult[T, R], Generic[T, R]):
    """A base of one's own, generic and still abstract."""

    def describe(self, arguments: T) -> str:
        return repr(arguments)


@job_handler("through.base", registry=REGISTRY)
class ThroughBase(Traced[Args, int]):
    async def execute(self, context: JobContext[Args]) -> int:
        return len(self.describe(context.arguments))


# The decorator gives the class back as itself, constructor included.
assert_type(AsyncWithResult(), AsyncWithResult)
assert_type(SyncWithoutResult("smtp").server, str)
assert_type(AsyncWithResult.job_type, str)
assert_type(AsyncWithResult().queue, str)
assert_type(Outer.Inner.job_type, str)

# A request keeps the type of its result.
assert_type(AsyncWithResult.request(Args("a")), JobRequest[Args, Result])
assert_type(SyncWithoutResult.request(Args("a")), JobRequest[Args, None])
assert_type(ThroughBase.request(Args("a")), JobRequest[Args, int])
assert_type(ListOfUnions.request([None]), JobRequest[list[Args | None], dict[str, int] | None])

REGISTRY.register(SyncWithoutResult, factory=lambda: SyncWithoutResult("smtp"))
HandlerRegistry.of([AsyncWithResult, SyncWithoutResult("a"), (SyncWithoutResult, lambda: SyncWithoutResult("b"))])
JobContext(arguments=Args("a"))
