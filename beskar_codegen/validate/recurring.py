"""What can be known of ``@recurring`` from sources, held against the decorator's own rules by the same functions.

Schedules, zones, names and options count where they are constants; what only running the program would tell is left
to the decorator, for nothing that is generated depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from beskar_codegen.breaches import breach
from beskar_codegen.model import (
    Argument,
    Diagnostic,
    EllipsisType,
    HandlerDeclaration,
    NamedType,
    NoneType,
    Place,
    RecurringUse,
    TypeKind,
    TypeVariable,
    UnresolvedType,
)
from beskar_codegen.validate.portable import Portability
from beskar_codegen.validate.spelling import spelled
from beskar_jobs.handlers import rules
from beskar_jobs.model.names import name_problem

OPTIONS: Final = (
    "time_zone",
    "name",
    "arguments",
    "overlap",
    "misfire",
    "misfire_limit",
    "start",
    "end",
    "jitter",
)
"""What the decorator takes by name; a test holds this against its signature."""

_WITH_FIELDS: Final = (TypeKind.ATTRS, TypeKind.DATACLASS, TypeKind.NAMED_TUPLE)


def recurring_problems(handler: HandlerDeclaration, types: Portability) -> Iterator[Diagnostic]:
    """What is wrong with each ``@recurring`` of *handler*."""
    names: set[object] = set()
    for use in handler.recurring:
        given = {argument.name: argument for argument in use.arguments}
        is_spread = any(name.startswith("*") for name in given)
        if not use.is_called or ("schedule" not in given and not is_spread):
            yield breach(rules.JOBGEN024, use.place, handler=handler.name, problem=rules.RECURRING_BARE)
            continue
        yield from _option_problems(handler, use)
        yield from _name_problems(handler, use, names)
        yield from _time_problems(handler, use, given)
        if "arguments" not in given and not is_spread:
            problem = _default_problem(handler, types)
            if problem is not None:
                yield breach(rules.JOBGEN026, use.place, handler=handler.name, problem=problem)


def _option_problems(handler: HandlerDeclaration, use: RecurringUse) -> Iterator[Diagnostic]:
    for argument in use.arguments:
        problem = None
        if argument.name.startswith("#"):
            problem = "takes one positional argument, the schedule"
        elif not argument.name.startswith("*") and argument.name not in ("schedule", *OPTIONS):
            problem = f"has no option {argument.name!r}"
        if problem is not None:
            yield breach(rules.JOBGEN028, argument.place, handler=handler.name, problem=problem)


def entry_name(handler: HandlerDeclaration, use: RecurringUse) -> Argument | None:
    """The argument that names the entry of *use*: its own, or the job type; ``None`` if sources do not tell."""
    given = {argument.name: argument for argument in use.arguments}
    named = given.get("name")
    if named is None and any(name.startswith("*") for name in given):
        return None
    if named is None or (named.is_static and named.value is None):
        named = handler.job_type
    return named if named is not None and named.is_static else None


def _name_problems(handler: HandlerDeclaration, use: RecurringUse, names: set[object]) -> Iterator[Diagnostic]:
    """A name that is no name, or that an earlier declaration of the same class has (those are in *names*)."""
    named = entry_name(handler, use)
    if named is None:
        return
    is_own = named is not handler.job_type
    problem = name_problem(named.value) if is_own else None
    if problem is None and named.value in names:
        problem = rules.NAME_TAKEN.format(other="the same class")
    names.add(named.value)
    if problem is not None:
        place = named.place if is_own else use.place
        yield breach(rules.JOBGEN027, place, handler=handler.name, name=repr(named.value), problem=problem)


def _time_problems(handler: HandlerDeclaration, use: RecurringUse, given: dict[str, Argument]) -> Iterator[Diagnostic]:
    """JOBGEN025 and JOBGEN028, by the check of every definition, on those of its parts that are constants."""
    from beskar_jobs.cron.timetable import (  # noqa: PLC0415 - most projects need no cron
        Timetable,
        as_member,
        as_utc,
        check_definition,
    )
    from beskar_jobs.model.errors import InvalidValue  # noqa: PLC0415
    from beskar_jobs.model.recurring import Misfire, Overlap, RecurringDefinition  # noqa: PLC0415

    def place(*options: str) -> Place:
        return next((given[option].place for option in options if option in given), use.place)

    constants: dict[str, Any] = {
        name: argument.value
        for name, argument in given.items()
        if argument.is_static and name in ("schedule", "time_zone", "misfire_limit", "jitter")
    }
    schedule: Any = constants.pop("schedule", "* * * * *")
    zone: Any = constants.pop("time_zone", "UTC")
    for text, named, option in ((schedule, "UTC", "schedule"), ("* * * * *", zone, "time_zone")):
        try:
            Timetable.of(RecurringDefinition("unnamed", "", "", b"", text, named))
        except InvalidValue as error:
            yield breach(rules.JOBGEN025, place(option), handler=handler.name, problem=str(error))
    conversions: dict[str, Callable[[str, Any], object]] = {
        "overlap": partial(as_member, kind=Overlap),
        "misfire": partial(as_member, kind=Misfire),
        "start": as_utc,
        "end": as_utc,
    }
    for option, convert in conversions.items():
        argument = given.get(option)
        if argument is None or not argument.is_static:
            continue
        try:
            convert(option, argument.value)
        except InvalidValue as error:
            yield breach(rules.JOBGEN028, argument.place, handler=handler.name, problem=str(error))
    for option, value in constants.items():
        changes: dict[str, Any] = {option: value}
        try:
            check_definition(RecurringDefinition("unnamed", "", "", b"", "* * * * *", **changes))
        except InvalidValue as error:
            yield breach(rules.JOBGEN028, place(option), handler=handler.name, problem=str(error))


def _default_problem(handler: HandlerDeclaration, types: Portability) -> str | None:
    """Why the arguments cannot be made of defaults alone; ``None`` if they can, or if only running would tell."""
    declared = handler.args_type
    if declared is None or isinstance(declared, NoneType | UnresolvedType | TypeVariable | EllipsisType):
        return None
    name = spelled(declared)
    if not isinstance(declared, NamedType) or declared.module == "builtins":
        return rules.ARGUMENTS_NO_CLASS.format(type=name)
    known = types.known.get((declared.module, declared.name))
    if known is None or known.open_bases or known.kind in (TypeKind.ALIAS, TypeKind.TYPED_DICT, TypeKind.PLAIN):
        return None
    if known.kind not in _WITH_FIELDS:
        return rules.ARGUMENTS_NO_CLASS.format(type=name)
    missing = [field.alias or field.name for field in known.fields if field.in_init and field.is_required]
    return rules.ARGUMENTS_NEEDED.format(type=known.name, fields=", ".join(missing)) if missing else None
