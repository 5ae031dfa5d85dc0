"""Rules of handler classes that the decorator applies at import, and the generator to source: JOBGEN001 to 012."""

from __future__ import annotations

from typing import Final

from beskar_jobs.handlers.rules.rule import Rule

JOBGEN001: Final = Rule(
    code="JOBGEN001",
    title="handler out of reach",
    rule="A handler class stands at module level, or nested in classes that do; never inside a function.",
    explanation="""
        Generated code names the handler, and a worker finds it, by module and class name. A class made inside a
        function has no such name: it is new with every call, and nothing outside can refer to it. Every class around
        the handler has to be a plain named class for the same reason.
    """,
    message="{handler} is defined inside a function, where generated code cannot reach it",
    hint=(
        "move the class to module level; for a test, to that of the test's module, "
        "with registry=HandlerRegistry() to keep it apart"
    ),
    example="""
        def make_handler():
            @job_handler("mail.send")
            class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN002: Final = Rule(
    code="JOBGEN002",
    title="empty job type",
    rule="The job type is neither empty nor blank.",
    explanation="""
        The job type is the name under which clients ask for the job and workers say that they can do it. It is stored
        with every job, so choose one that outlives the class's own name.
    """,
    message="the job type of {handler} is empty or blank",
    hint='name it after what it does, for example "media.video.transcode"',
    example="""
        @job_handler("")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN003: Final = Rule(
    code="JOBGEN003",
    title="empty queue",
    rule="The queue is neither empty nor blank.",
    explanation="""
        Jobs wait in queues, and workers choose which queues they serve. Leave the argument out to use the queue
        "default".
    """,
    message="the queue of {handler} is empty or blank",
    hint='name the queue, or leave the argument out to use "default"',
    example="""
        @job_handler("mail.send", queue=" ")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        @job_handler("mail.send", queue="mail")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN004: Final = Rule(
    code="JOBGEN004",
    title="not a typed handler",
    rule="The class derives from JobHandler[Args] or JobHandlerWithResult[Args, Result], with concrete types.",
    explanation="""
        The types in brackets are what the arguments and the result are written as and read back as, and what type
        checkers hold clients to. A bare base, or one with a type variable that is still open, says neither.
    """,
    message="{handler} {problem}",
    hint="derive it from JobHandler[Args] or JobHandlerWithResult[Args, Result], with the types filled in",
    example="""
        @job_handler("mail.send")
        class MailJobHandler(JobHandler): ...
    """,
    remedy="""
        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)
NOT_A_HANDLER: Final = "is neither a JobHandler nor a JobHandlerWithResult"
BARE_BASE: Final = "does not say the types of its arguments and result"
OPEN_TYPE: Final = "leaves the type variable {variable} open"

JOBGEN005: Final = Rule(
    code="JOBGEN005",
    title="job type taken",
    rule="A job type belongs to one handler class.",
    explanation="""
        With two handlers of one job type, which one ran a job would depend on the order of imports. The same class seen
        again, because its module was reloaded, quietly takes its own place.
    """,
    message="the job type {job_type!r} has two handlers: {first} and {second}",
    hint="give one of them another job type",
    example="""
        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...

        @job_handler("mail.send")
        class LetterJobHandler(JobHandler[LetterArgs]): ...
    """,
    remedy="""
        @job_handler("letter.send")
        class LetterJobHandler(JobHandler[LetterArgs]): ...
    """,
)

_TOPIC_EXPLANATION: Final = """
    Job types and queues stand as one level of an MQTT topic. So they contain none of + # / and no control characters,
    do not start with $, have no white space at the ends, and are at most 200 bytes long in UTF-8.
"""

JOBGEN006: Final = Rule(
    code="JOBGEN006",
    title="job type does not fit a topic",
    rule="The job type can stand as one level of an MQTT topic.",
    explanation=_TOPIC_EXPLANATION,
    message="the job type {value} of {handler} {problem}",
    hint="separate its parts by dots, as in media.video.transcode",
    example="""
        @job_handler("mail/send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN007: Final = Rule(
    code="JOBGEN007",
    title="queue does not fit a topic",
    rule="The queue can stand as one level of an MQTT topic.",
    explanation=_TOPIC_EXPLANATION,
    message="the queue {value} of {handler} {problem}",
    hint="use letters, digits, dots and dashes, as in mail-high",
    example="""
        @job_handler("mail.send", queue="mail/#")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        @job_handler("mail.send", queue="mail")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

_TYPE_EXPLANATION: Final = """
    Arguments travel from client to storage to worker, and results back, as JSON. Only types whose values come back
    equal are allowed: attrs classes, dataclasses, enums, NamedTuple and TypedDict of such types, str, int, float, bool,
    None, bytes, Decimal, UUID, datetime (with a zone), date, time, timedelta, list, tuple, set, frozenset, dict with
    string-like keys, Literal, NewType, and unions whose members can be told apart (classes are, by a tag).
"""

JOBGEN008: Final = Rule(
    code="JOBGEN008",
    title="arguments cannot be serialised",
    rule="The arguments have a type whose values come back from JSON as they were.",
    explanation=_TYPE_EXPLANATION,
    message="the arguments of {handler} cannot be serialised: {problem}",
    hint="use an attrs class or a dataclass with fields of plain types; pass a path or an id instead of a live object",
    example="""
        @attrs.frozen
        class UploadArgs:
            file: IO[bytes]
    """,
    remedy="""
        @attrs.frozen
        class UploadArgs:
            path: str
    """,
)

JOBGEN009: Final = Rule(
    code="JOBGEN009",
    title="result cannot be serialised",
    rule="The result has a type whose values come back from JSON as they were.",
    explanation=_TYPE_EXPLANATION,
    message="the result of {handler} cannot be serialised: {problem}",
    hint="return an attrs class or a dataclass with fields of plain types, or derive from JobHandler[Args]",
    example="""
        @job_handler("report.make")
        class ReportJobHandler(JobHandlerWithResult[ReportArgs, Any]): ...
    """,
    remedy="""
        @job_handler("report.make")
        class ReportJobHandler(JobHandlerWithResult[ReportArgs, ReportResult]): ...
    """,
)

JOBGEN010: Final = Rule(
    code="JOBGEN010",
    title="execute does not fit",
    rule="The class defines execute(self, context), and its annotations agree with the types of the class.",
    explanation="""
        The worker calls execute with one argument, the JobContext, and writes what it returns as the declared result
        type. It may be def or async def, but no generator. Annotations may be left out; if they are there, they say
        JobContext[Args] and Result.
    """,
    message="execute of {handler} {problem}",
    hint="write it as: {signature}",
    example="""
        class MailJobHandler(JobHandler[MailArgs]):
            async def execute(self, args: MailArgs) -> None: ...
    """,
    remedy="""
        class MailJobHandler(JobHandler[MailArgs]):
            async def execute(self, context: JobContext[MailArgs]) -> None: ...
    """,
)
EXECUTE_MISSING: Final = "is not defined"
EXECUTE_NOT_A_METHOD: Final = "is not a method that takes self"
EXECUTE_PARAMETERS: Final = "has to take self and one more argument, the context, but takes ({parameters})"
EXECUTE_GENERATOR: Final = "is a generator, which returns no result"
EXECUTE_CONTEXT: Final = "takes {actual} where the class says {expected}"
EXECUTE_RETURN: Final = "returns {actual} where the class says {expected}"

JOBGEN011: Final = Rule(
    code="JOBGEN011",
    title="decorator option invalid",
    rule="Every option of @job_handler has a value that makes sense.",
    explanation="""
        priority is a whole number, retry a Retry, timeout a number of seconds (or a timedelta) above zero,
        restart_on_crash a bool, max_crashes a whole number of at least zero, version one of at least 1, registry a
        HandlerRegistry.
    """,
    message="@job_handler of {handler}: {option} {problem}",
    hint="correct the option, or leave it out for the default",
    example="""
        @job_handler("mail.send", timeout=-1)
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        @job_handler("mail.send", timeout=30)
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN012: Final = Rule(
    code="JOBGEN012",
    title="decorator misused",
    rule="@job_handler(…) is called with the job type, and decorates a class, once.",
    explanation="""
        The decorator needs a job type, so there is no bare form. Functions are no handlers: a class says the types of
        arguments and result in one place, can be built with what it needs, and can be referred to by generated code.
    """,
    message="@job_handler on {handler} {problem}",
    hint='write @job_handler("the.job.type") once, above a class',
    example="""
        @job_handler
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)
DECORATOR_BARE: Final = "has no job type"
DECORATOR_NOT_ON_CLASS: Final = "decorates something that is not a class"
DECORATOR_TWICE: Final = "is there twice"

TABLE: Final = (
    JOBGEN001,
    JOBGEN002,
    JOBGEN003,
    JOBGEN004,
    JOBGEN005,
    JOBGEN006,
    JOBGEN007,
    JOBGEN008,
    JOBGEN009,
    JOBGEN010,
    JOBGEN011,
    JOBGEN012,
)
"""These rules, in order."""
