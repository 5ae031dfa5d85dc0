"""Rules of the contract, of generated files and of the settings, which only the generator applies: JOBGEN050 and on.

A change of the contract breaks somebody, and every message says whom: *stored jobs* (written by the old code, read by
the new), *deployed clients* (still sending what the old code took), or *result readers* (clients that read what the new
code returns). Field names of the templates: *job* is the job type, *where* a field, *change* what happened to it.
"""

from __future__ import annotations

from typing import Final

from beskar_jobs.handlers.rules.rule import Rule

_RAISE: Final = (
    "take the change back, or say that it is meant: @job_handler({job!r}, version={next}) and beskar-codegen generate"
)
_COMPARED: Final = """
    The contract file holds, for each job type, what its arguments and its result look like in JSON. It is committed,
    and "beskar-codegen check" compares the code with it. Fields that a class does not know are refused when a value is
    read, missing ones take their default. A change that somebody could not read is an error until the version of the
    job is raised: by then drain the queue, or keep a handler of the old form under another job type.
"""

JOBGEN050: Final = Rule(
    code="JOBGEN050",
    title="contract unreadable",
    rule="The contract file is one that this version of beskar-codegen has written.",
    explanation="""
        Without the contract nobody can tell which changes break stored jobs and deployed clients. So a damaged one is
        not replaced on the quiet. After a merge conflict, take either side and generate: compatible changes are added.
    """,
    message="the contract cannot be used: {problem}",
    hint="restore it from version control, or write a new one with: beskar-codegen generate --force",
    example="""
        # beskar_jobs.lock.json begins with: <<<<<<< HEAD
    """,
    remedy="""
        # git checkout HEAD -- beskar_jobs.lock.json
        # beskar-codegen generate
    """,
)

JOBGEN051: Final = Rule(
    code="JOBGEN051",
    title="job type removed",
    rule="A job type of the contract has a handler.",
    explanation=_COMPARED,
    message="the job type {job!r} has no handler any more: stored jobs wait for ever, deployed clients still send it",
    hint="bring it back; once no such job is stored or sent, let it go with: beskar-codegen generate --accept {job}",
    example="""
        @job_handler("mail.post")  # was "mail.send"
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN052: Final = Rule(
    code="JOBGEN052",
    title="queue changed",
    rule="A job type stays in its queue.",
    explanation="""
        Deployed clients go on to put jobs into the queue that they were built with, and stored jobs wait there. If the
        workers leave that queue, nobody runs them.
    """,
    message="{job!r} moved from queue {old!r} to {new!r}: stored jobs and those of deployed clients stay in {old!r}",
    hint=_RAISE,
    example="""
        @job_handler("mail.send", queue="post")  # was "mail"
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        @job_handler("mail.send", queue="post", version=2)
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN053: Final = Rule(
    code="JOBGEN053",
    title="argument removed",
    rule="A field of the arguments stays.",
    explanation=_COMPARED,
    message="{job!r}: the argument {where} is gone, but stored jobs and deployed clients still have it",
    hint=_RAISE,
    example="""
        @attrs.frozen
        class MailArgs:
            to: str  # and no longer: cc: str
    """,
    remedy="""
        @attrs.frozen
        class MailArgs:
            to: str
            cc: str = ""  # no longer used
    """,
)

JOBGEN054: Final = Rule(
    code="JOBGEN054",
    title="required argument added",
    rule="A new field of the arguments has a default, and a default stays.",
    explanation=_COMPARED,
    message="{job!r}: the argument {where} is required now, and stored jobs and deployed clients may lack it",
    hint="give it a default; or say that the change is meant: @job_handler({job!r}, version={next})",
    example="""
        @attrs.frozen
        class MailArgs:
            to: str
            subject: str  # new
    """,
    remedy="""
        @attrs.frozen
        class MailArgs:
            to: str
            subject: str = ""
    """,
)

JOBGEN055: Final = Rule(
    code="JOBGEN055",
    title="argument narrowed",
    rule="A field of the arguments takes what it took before.",
    explanation=_COMPARED,
    message="{job!r}: {where} {change}; stored jobs and deployed clients may have what is no longer taken",
    hint=_RAISE,
    example="""
        @attrs.frozen
        class MailArgs:
            to: str  # was str | None
    """,
    remedy="""
        @job_handler("mail.send", version=2)
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN056: Final = Rule(
    code="JOBGEN056",
    title="result field removed or added",
    rule="The result has the fields that it had before.",
    explanation=_COMPARED,
    message="{job!r}: the result's field {where} is {change}; result readers that are deployed {effect}",
    hint=_RAISE,
    example="""
        @attrs.frozen
        class MailResult:
            message_id: str  # and no longer: sent_at: datetime
    """,
    remedy="""
        @job_handler("mail.send", version=2)
        class MailJobHandler(JobHandlerWithResult[MailArgs, MailResult]): ...
    """,
)

JOBGEN057: Final = Rule(
    code="JOBGEN057",
    title="result widened",
    rule="The result is nothing that its readers would not know.",
    explanation=_COMPARED,
    message="{job!r}: {where} {change}; result readers that are deployed do not know what comes now",
    hint=_RAISE,
    example="""
        @attrs.frozen
        class MailResult:
            message_id: str | None  # was str
    """,
    remedy="""
        @job_handler("mail.send", version=2)
        class MailJobHandler(JobHandlerWithResult[MailArgs, MailResult]): ...
    """,
)

JOBGEN058: Final = Rule(
    code="JOBGEN058",
    title="version lowered",
    rule="The version of a job type only grows.",
    explanation="""
        The version says that a breaking change was meant. Lowered, it would hide the next one. After a rollback, keep
        the higher version.
    """,
    message="{job!r} has version {new}, and the contract knows version {old}; stored jobs may be of that one",
    hint="give it version={old} or higher",
    example="""
        @job_handler("mail.send", version=1)  # was 2
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        @job_handler("mail.send", version=2)
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN070: Final = Rule(
    code="JOBGEN070",
    title="settings invalid",
    rule="[tool.beskar.codegen] holds known keys with values of the right type.",
    explanation="""
        The keys are source (a list of folders or files), descriptors, stubs, contract (paths below the project's root)
        and mode ("import" or "standalone"). Each has a default, so the section may be missing altogether.
    """,
    message="{path}: {key} {problem}",
    hint="{way}",
    example="""
        # [tool.beskar.codegen]
        # source = "app"
    """,
    remedy="""
        # [tool.beskar.codegen]
        # source = ["app"]
    """,
)

JOBGEN071: Final = Rule(
    code="JOBGEN071",
    title="generated file was edited",
    rule="Generated files are not edited by hand.",
    explanation="""
        A generated file carries a digest of its contents. Where they differ, somebody has changed it, and the change
        would be lost. Make the change in the handler instead, or beside the generated file.
    """,
    message="{path} was edited after it was generated",
    hint="move the edit elsewhere, then run: beskar-codegen generate --force",
    example="""
        # Generated by beskar-codegen …
        class Mail(JobRequest[MailArgs, None]):
            def my_own_method(self) -> None: ...
    """,
    remedy="""
        # beskar-codegen generate --force
    """,
)

JOBGEN072: Final = Rule(
    code="JOBGEN072",
    title="output cannot be written",
    rule="The generator can write its files.",
    explanation="""
        A file is written beside its place and moved there whole, so that it is the old one or the new one and never
        half of it. That needs the right to write in its folder.
    """,
    message="{path} cannot be written: {problem}",
    hint="see to the folder's permissions, or name another place in [tool.beskar.codegen]",
    example="""
        # chmod -w app
        # beskar-codegen generate
    """,
    remedy="""
        # chmod +w app
        # beskar-codegen generate
    """,
)

JOBGEN073: Final = Rule(
    code="JOBGEN073",
    title="a file is in the way",
    rule="What stands at the path of a generated file was generated.",
    explanation="""
        The generator overwrites and removes only files that carry its own header. Anything else is yours.
    """,
    message="{path} exists and was not generated by beskar-codegen",
    hint="move it away, name another path in the settings, or overwrite it: beskar-codegen generate --force",
    example="""
        # [tool.beskar.codegen]
        # descriptors = "app/models.py", written by hand
    """,
    remedy="""
        # [tool.beskar.codegen]
        # descriptors = "app/jobs.py"
    """,
)

JOBGEN074: Final = Rule(
    code="JOBGEN074",
    title="generated file is stale",
    rule="Generated files are what the sources say.",
    explanation="""
        Descriptors, stubs and the contract are committed, so that clients and reviews see them. "beskar-codegen check"
        makes them anew, compares, and writes nothing.
    """,
    message="{path} {problem}",
    hint="run: beskar-codegen generate",
    example="""
        # a field was added to MailArgs, and app/jobs.py is as it was
    """,
    remedy="""
        # beskar-codegen generate
    """,
)

TABLE: Final = (
    JOBGEN050,
    JOBGEN051,
    JOBGEN052,
    JOBGEN053,
    JOBGEN054,
    JOBGEN055,
    JOBGEN056,
    JOBGEN057,
    JOBGEN058,
    JOBGEN070,
    JOBGEN071,
    JOBGEN072,
    JOBGEN073,
    JOBGEN074,
)
"""These rules, in order."""
