"""Wrong uses by the author of a handler. Each marked line has to be refused, with these codes, by both checkers."""

# A wrong use is written down as a bare expression, and a refused name has an unknown type.
# ruff: noqa: B018
# pyright: reportUnknownMemberType=false, reportUntypedClassDecorator=false, reportUntypedFunctionDecorator=false

from __future__ import annotations

import attrs

from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, Retry, job_handler


@attrs.frozen
class Args:
    name: str


@attrs.frozen
class Result:
    path: str


@job_handler("wrong.async.return")
class WrongAsyncReturn(JobHandlerWithResult[Args, Result]):
    async def execute(self, context: JobContext[Args]) -> Args:  # E: override | reportIncompatibleMethodOverride
        return context.arguments


@job_handler("wrong.sync.return")
class WrongSyncReturn(JobHandlerWithResult[Args, Result]):
    def execute(self, context: JobContext[Args]) -> str:  # E: override | reportIncompatibleMethodOverride
        return "a"


@job_handler("result.where.none.is.declared")
class ResultWhereNone(JobHandler[Args]):
    async def execute(self, context: JobContext[Args]) -> Result:  # E: override | reportIncompatibleMethodOverride
        return Result("a")


@job_handler("wrong.context")
class WrongContext(JobHandler[Args]):
    async def execute(self, context: JobContext[Result]) -> None:  # E: override | reportIncompatibleMethodOverride
        pass


@job_handler("wrong.body")
class WrongBody(JobHandlerWithResult[Args, Result]):
    async def execute(self, context: JobContext[Args]) -> Result:
        context.arguments.nam  # E: attr-defined | reportAttributeAccessIssue
        context.report_progress("50")  # E: arg-type | reportArgumentType
        context.arguments.name = "b"  # E: misc | reportAttributeAccessIssue
        return "a"  # E: return-value | reportReturnType


@job_handler  # E: arg-type | reportArgumentType
class Bare(JobHandler[Args]):
    def execute(self, context: JobContext[Args]) -> None:
        pass


@job_handler()  # E: call-arg | reportCallIssue
class WithoutJobType(JobHandler[Args]):
    def execute(self, context: JobContext[Args]) -> None:
        pass


@job_handler("wrong.retry", retry=3)  # E: arg-type | reportArgumentType
class WrongRetry(JobHandler[Args]):
    def execute(self, context: JobContext[Args]) -> None:
        pass


@job_handler("wrong.option", retries=Retry(3))  # E: call-arg | reportCallIssue
class WrongOption(JobHandler[Args]):
    def execute(self, context: JobContext[Args]) -> None:
        pass


@job_handler("no.handler")  # E: - | reportArgumentType
class NoHandler:  # E: type-var | -
    pass


@job_handler("function")  # E: arg-type, type-var | reportArgumentType
def function(context: JobContext[Args]) -> None:
    pass


@job_handler("fine")
class Fine(JobHandlerWithResult[Args, Result]):
    def __init__(self, server: str) -> None:
        self.server = server

    async def execute(self, context: JobContext[Args]) -> Result:
        return Result(self.server)


Fine()  # E: call-arg | reportCallIssue
Fine.request(Result("a"))  # E: arg-type | reportArgumentType
Fine.request(Args(5))  # E: arg-type | reportArgumentType
Fine.request()  # E: call-arg | reportCallIssue
