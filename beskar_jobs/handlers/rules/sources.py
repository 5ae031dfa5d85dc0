"""Rules that only sources can break, or what is generated from them: the code generator tells them, no decorator does.

The rules of the decorator are about classes as they are at run time; these are about what can be known of them without
running a line.
"""

from __future__ import annotations

from typing import Final

from beskar_jobs.handlers.rules.rule import Rule

JOBGEN013: Final = Rule(
    code="JOBGEN013",
    title="decorator argument not static",
    rule="Job type, queue, priority and version are constants that can be read without running the program.",
    explanation="""
        The code generator reads sources and never imports them, so that it needs none of their dependencies. It
        follows names of constants, also into other modules of the project, members of string enums, and sums of
        strings; it calls no function and reads no environment.
    """,
    message="@job_handler of {handler}: {option} is {text}, which cannot be known without running the program",
    hint="write the value itself, or the name of a constant that is assigned once",
    example="""
        @job_handler("mail.send", queue=os.environ["MAIL_QUEUE"])
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        @job_handler("mail.send", queue="mail")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN014: Final = Rule(
    code="JOBGEN014",
    title="hidden by a star import",
    rule="The decorator, base classes and types are imported by name, not by a star.",
    explanation="""
        With "from x import *" only running the program tells for sure which names are there, and another release of x
        may change what they mean.
    """,
    message="{name} comes, or may come, from the star import of {module!r}",
    hint="import it by name: from {module} import {name}",
    example="""
        from beskar_jobs import *

        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        from beskar_jobs import JobHandler, job_handler

        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN015: Final = Rule(
    code="JOBGEN015",
    title="type drags handlers into clients",
    rule="In import mode, the import of the types of arguments and results brings no handler module along.",
    explanation="""
        Generated descriptors import these types from where they are defined. If that module holds handlers, or imports
        a module that does, every client loads the handlers with all that they need. Stand-alone mode writes the types
        into the generated module instead.
    """,
    message="{type}, used by {handler}, is defined in {module}, whose import brings the handlers of {dragged} along",
    hint='move it to a module without handlers, or set mode = "standalone" in [tool.beskar.codegen]',
    example="""
        # app/mail.py
        @attrs.frozen
        class MailArgs:
            address: str

        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        # app/mail_types.py
        @attrs.frozen
        class MailArgs:
            address: str

        # app/mail.py
        from app.mail_types import MailArgs

        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN016: Final = Rule(
    code="JOBGEN016",
    title="descriptor name taken",
    rule="Every handler of a project has a descriptor name of its own.",
    explanation="""
        The descriptor is named after the class, without the suffix JobHandler or Handler; a class within another one
        has the names of the outer ones before its own (Mail.SendJobHandler becomes MailSend). All descriptors stand in
        one module.
    """,
    message="{handler} gets the descriptor name {descriptor}, which {other} has already",
    hint="rename one of the two classes",
    example="""
        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...

        @job_handler("mail.queue")
        class MailHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...

        @job_handler("mail.queue")
        class MailQueueJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN017: Final = Rule(
    code="JOBGEN017",
    title="name cannot be followed",
    rule="Bases and types of handlers are written as class statements, or well known, and found without running code.",
    explanation="""
        The code generator follows imports, re-exports, aliases and generic bases through the modules of the project.
        It reads no installed packages, and what a call makes (namedtuple(…), type(…), make_class(…)) is not in the
        source.
    """,
    message="{name}, {where}, {problem}",
    hint="import it by name from a module of the project, and write it as a class statement",
    example="""
        MailArgs = attrs.make_class("MailArgs", ["address"])

        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        @attrs.frozen
        class MailArgs:
            address: str

        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN018: Final = Rule(
    code="JOBGEN018",
    title="module cannot be imported",
    rule="Handlers and their types live in modules that an import statement can name.",
    explanation="""
        Generated code imports types from their modules, and a worker imports handlers by module name. A file whose
        name is no Python name, or a keyword, can be run but not imported.
    """,
    message="{name} is defined in {path}, which no import statement can name",
    hint="rename the file: letters, digits and underscores, as in mail_jobs.py",
    example="""
        # app/mail-jobs.py
        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        # app/mail_jobs.py
        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN019: Final = Rule(
    code="JOBGEN019",
    title="file cannot be read",
    rule="Source files are Python, in the encoding that they declare.",
    explanation="""
        A file that cannot be opened, decoded or parsed may hold handlers that nobody would see.
    """,
    message="{path} {problem}",
    hint="correct the file, or leave it out of the sources in [tool.beskar.codegen]",
    example="""
        class MailJobHandler(JobHandler[MailArgs]:
            ...
    """,
    remedy="""
        class MailJobHandler(JobHandler[MailArgs]):
            ...
    """,
)

JOBGEN020: Final = Rule(
    code="JOBGEN020",
    title="mutable default",
    rule="The default of a field is no list, dict or set; a factory makes those.",
    explanation="""
        All values of the class would share the one object, and so would the descriptor. dataclasses refuse it when the
        module is imported, attrs does not.
    """,
    message="the default of {type}.{field} is {default}, which all values would share",
    hint="make a new one for each value: attrs.field(factory=list), or dataclasses.field(default_factory=list)",
    example="""
        @attrs.frozen
        class MailArgs:
            addresses: list[str] = []
    """,
    remedy="""
        @attrs.frozen
        class MailArgs:
            addresses: list[str] = attrs.field(factory=list)
    """,
)

JOBGEN021: Final = Rule(
    code="JOBGEN021",
    title="decorator used as a value",
    rule="job_handler stands as @job_handler(…) above a class, and nowhere else.",
    explanation="""
        What a wrapper around the decorator declares, or a call that is given a class, can only be known by running the
        program. Other names for the decorator (import … as, task = job_handler) are fine.
    """,
    message="{text} is used as a value here, so the handlers that it declares cannot be seen",
    hint="write @job_handler(…) above each handler class",
    example="""
        mail_job = functools.partial(job_handler, queue="mail")

        @mail_job("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        @job_handler("mail.send", queue="mail")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN022: Final = Rule(
    code="JOBGEN022",
    title="no descriptor name",
    rule="The class's name without the suffix JobHandler or Handler is a name that a class can have.",
    explanation="""
        The descriptor is named after the class, without the suffix. Of a class that is named by the suffix alone
        nothing is left, and NoneHandler would leave a keyword.
    """,
    message="the name of {handler} leaves {descriptor!r} for its descriptor, which is no name for a class",
    hint="rename the class after what it does, as in VideoTranscodeJobHandler",
    example="""
        @job_handler("mail.send")
        class Handler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        @job_handler("mail.send")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)

JOBGEN023: Final = Rule(
    code="JOBGEN023",
    title="unknown decorator argument",
    rule="@job_handler takes the job type, and by name the options that it knows.",
    explanation="""
        Python refuses the call when the module is imported; here it is told where it stands.
    """,
    message="@job_handler of {handler} {problem}",
    hint="the job type comes first; then, by name: {options}",
    example="""
        @job_handler("mail.send", que="mail")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
    remedy="""
        @job_handler("mail.send", queue="mail")
        class MailJobHandler(JobHandler[MailArgs]): ...
    """,
)
UNKNOWN_OPTION: Final = "has no option {option!r}"
POSITIONAL_OPTION: Final = "takes one positional argument, the job type"
JOB_TYPE_MISSING: Final = "is called without the job type"

TABLE: Final = (
    JOBGEN013,
    JOBGEN014,
    JOBGEN015,
    JOBGEN016,
    JOBGEN017,
    JOBGEN018,
    JOBGEN019,
    JOBGEN020,
    JOBGEN021,
    JOBGEN022,
    JOBGEN023,
)
"""These rules, in order."""
