"""Rules of ``@recurring(…)``; decorator and code generator apply them alike, where sources say enough."""

from __future__ import annotations

from typing import Final

from beskar_jobs.handlers.rules.rule import Rule

JOBGEN024: Final = Rule(
    code="JOBGEN024",
    title="recurring misused",
    rule="@recurring(…) is called with a schedule, and stands on a handler class, above or below @job_handler(…).",
    explanation="""
        What recurs is a job, so there has to be a handler; without a schedule there is no time at which it could run,
        so there is no bare form. It may stand on a handler several times, each with a name of its own.
    """,
    message="@recurring on {handler} {problem}",
    hint='write @recurring("0 3 * * *") above @job_handler("the.job.type") on a class',
    example="""
        @recurring
        @job_handler("report.nightly")
        class ReportJobHandler(JobHandler[ReportArgs]): ...
    """,
    remedy="""
        @recurring("0 3 * * *")
        @job_handler("report.nightly")
        class ReportJobHandler(JobHandler[ReportArgs]): ...
    """,
)
RECURRING_BARE: Final = "has no schedule"
RECURRING_NOT_ON_CLASS: Final = "decorates something that is not a class"
RECURRING_NOT_ON_HANDLER: Final = "decorates a class that is no handler: @job_handler(…) is missing"

JOBGEN025: Final = Rule(
    code="JOBGEN025",
    title="schedule or time zone invalid",
    rule="The schedule of @recurring is a cron expression or an interval that fires, in an IANA time zone.",
    explanation="""
        Cron expressions have five fields, or six with seconds first; intervals are written "@every 15m", and are at
        least 100 ms. An expression that can never fire, such as 31 June, is refused as well. Zones are names such as
        Europe/Berlin.
    """,
    message="@recurring of {handler}: {problem}",
    hint="correct the schedule or the zone; docs/cron.md has the syntax",
    example="""
        @recurring("0 25 * * *", time_zone="Europe/Berlin")
        @job_handler("report.nightly")
        class ReportJobHandler(JobHandler[ReportArgs]): ...
    """,
    remedy="""
        @recurring("0 3 * * *", time_zone="Europe/Berlin")
        @job_handler("report.nightly")
        class ReportJobHandler(JobHandler[ReportArgs]): ...
    """,
)

JOBGEN026: Final = Rule(
    code="JOBGEN026",
    title="recurring job without arguments",
    rule="A recurring job has arguments: all fields have defaults, or @recurring(…, arguments=…) gives them.",
    explanation="""
        Nobody is there to fill them in when the time comes. They are made when the module is imported, and are the
        same for every run; what differs from run to run is in context.metadata["instant"].
    """,
    message="@recurring of {handler}: {problem}",
    hint="give arguments=…, or give each field of the arguments a default",
    example="""
        @attrs.frozen
        class ReportArgs:
            title: str

        @recurring("0 3 * * *")
        @job_handler("report.nightly")
        class ReportJobHandler(JobHandler[ReportArgs]): ...
    """,
    remedy="""
        @attrs.frozen
        class ReportArgs:
            title: str

        @recurring("0 3 * * *", arguments=ReportArgs("last night"))
        @job_handler("report.nightly")
        class ReportJobHandler(JobHandler[ReportArgs]): ...
    """,
)
ARGUMENTS_NEEDED: Final = "{type} needs {fields}, and there is no arguments=…"
ARGUMENTS_NO_CLASS: Final = "{type} is no class of fields with defaults, and there is no arguments=…"

JOBGEN027: Final = Rule(
    code="JOBGEN027",
    title="recurring name invalid or taken",
    rule="Each recurring job has a name of its own, which can stand in an MQTT topic.",
    explanation="""
        The name is what an entry is known by: to change it, to pause it, and to see what became of its instants. Where
        none is given, it is the job type; so a second @recurring on a handler needs one.
    """,
    message="@recurring of {handler}: the name {name} {problem}",
    hint='give it another one: @recurring("0 3 * * *", name="report.weekdays")',
    example="""
        @recurring("0 3 * * 1-5")
        @recurring("0 9 * * 0,6")
        @job_handler("report.nightly")
        class ReportJobHandler(JobHandler[ReportArgs]): ...
    """,
    remedy="""
        @recurring("0 3 * * 1-5", name="report.weekdays")
        @recurring("0 9 * * 0,6", name="report.weekends")
        @job_handler("report.nightly")
        class ReportJobHandler(JobHandler[ReportArgs]): ...
    """,
)
NAME_TAKEN: Final = "belongs to another @recurring, that of {other}"

JOBGEN028: Final = Rule(
    code="JOBGEN028",
    title="recurring option invalid",
    rule="Every option of @recurring has a value that makes sense.",
    explanation="""
        overlap is allow_concurrent, skip_if_running or queue_next, misfire is skip, fire_once or fire_all,
        misfire_limit a whole number from 1 to 1000, jitter from 0 to 86400 seconds, start and end datetimes with a
        time zone, end after start.
    """,
    message="@recurring of {handler}: {problem}",
    hint="correct the option, or leave it out for the default",
    example="""
        @recurring("0 3 * * *", overlap="never")
        @job_handler("report.nightly")
        class ReportJobHandler(JobHandler[ReportArgs]): ...
    """,
    remedy="""
        @recurring("0 3 * * *", overlap="skip_if_running")
        @job_handler("report.nightly")
        class ReportJobHandler(JobHandler[ReportArgs]): ...
    """,
)

TABLE: Final = (
    JOBGEN024,
    JOBGEN025,
    JOBGEN026,
    JOBGEN027,
    JOBGEN028,
)
"""These rules, in order."""
