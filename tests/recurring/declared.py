"""Handlers that declare that they recur, each in a registry of its own, as releases of one program."""

from __future__ import annotations

import attrs

from beskar_jobs import HandlerRegistry, JobContext, JobHandler, job_handler, recurring

first_release = HandlerRegistry()
second_release = HandlerRegistry()
last_release = HandlerRegistry()


@attrs.frozen
class ReportArgs:
    title: str = "all"


@recurring("0 * * * *", time_zone="Europe/Berlin")
@job_handler("report", queue="reports", priority=3, registry=first_release)
class FirstHandler(JobHandler[ReportArgs]):
    async def execute(self, context: JobContext[ReportArgs]) -> None: ...


@job_handler("report", queue="reports", registry=second_release)
@recurring("30 * * * *", overlap="skip_if_running", arguments=ReportArgs("half"))
@recurring("@every 1d", name="report.daily")
class SecondHandler(JobHandler[ReportArgs]):
    async def execute(self, context: JobContext[ReportArgs]) -> None: ...


@job_handler("report", queue="reports", registry=last_release)
class LastHandler(JobHandler[ReportArgs]):
    async def execute(self, context: JobContext[ReportArgs]) -> None: ...
