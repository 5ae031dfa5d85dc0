"""``@recurring``: says in code that a handler's job runs again and again; workers tell the scheduler when they start.

The decorator checks all that it can know against the rules JOBGEN024 to JOBGEN028 when the module is imported, and
leaves the class as it is, but for an attribute that lists its declarations. They are read when a worker is made
(:func:`declared_recurring`), so that it does not matter in which registry the class is, nor whether the decorator
stands above or below ``@job_handler``; what needs the handler's definition is checked by the one that comes later.

A class with ``@recurring`` alone is no handler, and nobody runs it; a worker says so when it is made.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar, get_origin, is_typeddict
from weakref import WeakSet

import attrs

from beskar_jobs.handlers import rules
from beskar_jobs.handlers.base import HandlerBase
from beskar_jobs.handlers.registry import HandlerDefinition
from beskar_jobs.model.errors import InvalidValue, ValueNotSerializable
from beskar_jobs.model.names import name_problem
from beskar_jobs.model.recurring import DEFAULT_MISFIRE_LIMIT, Misfire, Overlap, RecurringDefinition
from beskar_jobs.model.request import NOT_GIVEN
from beskar_jobs.ports.serializer import Serializer
from beskar_jobs.wire.values import dump_value

ATTRIBUTE: Final = "__recurring_jobs__"

H = TypeVar("H", bound=HandlerBase[Any, Any])

_homeless: WeakSet[type] = WeakSet()
"""Classes with ``@recurring`` that no ``@job_handler`` has made handlers, so far."""


@attrs.frozen
class RecurringDeclaration:
    """One ``@recurring(…)``.

    Attributes:
        template: all of the definition but what the handler gives; its name is ``""`` where that is the job type.
        arguments: ``NOT_GIVEN`` where the defaults of the arguments' type are meant.
    """

    template: RecurringDefinition
    arguments: Any = attrs.field(eq=False)

    def name_for(self, handler: HandlerDefinition) -> str:
        """The name of the entry."""
        return self.template.name or handler.job_type

    def definition(self, handler: HandlerDefinition, serializer: Serializer) -> RecurringDefinition:
        """What a worker with *handler* asks of the scheduler.

        Raises:
            ValueNotSerializable: the arguments do not fit their type.
        """
        return attrs.evolve(
            self.template,
            name=self.name_for(handler),
            job_type=handler.job_type,
            queue=handler.queue,
            priority=handler.priority,
            arguments=serializer.dump_value(self.arguments_for(handler), handler.args_type),
        )

    def arguments_for(self, handler: HandlerDefinition) -> Any:
        """The arguments of each run.

        Raises:
            JobDefinitionError: JOBGEN026, there are none.
        """
        if self.arguments is not NOT_GIVEN:
            return self.arguments
        declared = handler.args_type
        if declared is None or declared is type(None):
            return None
        name = handler.handler.__qualname__
        kind = get_origin(declared) or declared
        type_name = getattr(kind, "__qualname__", repr(kind))
        if not _is_class_of_fields(kind):
            raise rules.JOBGEN026.error(handler=name, problem=rules.ARGUMENTS_NO_CLASS.format(type=type_name))
        missing = ", ".join(_required_fields(kind))
        if missing:
            problem = rules.ARGUMENTS_NEEDED.format(type=type_name, fields=missing)
            raise rules.JOBGEN026.error(handler=name, problem=problem)
        try:
            return declared()
        except Exception as error:
            problem = f"{type_name}() raises {type(error).__name__}: {error}"
            raise rules.JOBGEN026.error(handler=name, problem=problem) from error


def recurring(
    schedule: str,
    *,
    time_zone: str = "UTC",
    name: str | None = None,
    arguments: Any = NOT_GIVEN,
    overlap: Overlap | str = Overlap.ALLOW_CONCURRENT,
    misfire: Misfire | str = Misfire.FIRE_ONCE,
    misfire_limit: int = DEFAULT_MISFIRE_LIMIT,
    start: datetime | None = None,
    end: datetime | None = None,
    jitter: float | timedelta = 0.0,
) -> Callable[[type[H]], type[H]]:
    """Run the handler's job at the times of *schedule*, as soon as a worker has told a scheduler of it.

    Stands on a handler class, above or below ``@job_handler``, once or several times. Queue, priority, retry and
    timeout of the runs are the handler's. What becomes of declarations that change or vanish is in
    ``docs/recurring.md``.

    Args:
        schedule: a cron expression (five fields, six with seconds), or an interval such as ``"@every 15m"``.
        time_zone: IANA name; the clock of *schedule*.
        name: of the entry; ``None``: the job type.
        arguments: of every run; left out: the arguments' type with all its defaults.
        overlap: what happens while an earlier run has not ended: ``allow_concurrent``, ``skip_if_running`` or
            ``queue_next``.
        misfire: what happens to instants that passed by more than a minute while no scheduler ran: ``skip``,
            ``fire_once``, or ``fire_all`` (the latest *misfire_limit*, from 1 to 1000).
        start, end: no instant before, none after (aware).
        jitter: seconds (or a timedelta), up to a day; spreads the starts of its jobs.

    Raises:
        JobDefinitionError: a rule is broken; ``.code`` says which.
    """
    bare: object = schedule
    if isinstance(bare, type) or (callable(bare) and not isinstance(bare, str)):
        on = getattr(bare, "__qualname__", repr(bare))
        raise rules.JOBGEN024.error(handler=on, problem=rules.RECURRING_BARE)

    def decorate(cls: type[H]) -> type[H]:
        handler = getattr(cls, "__qualname__", repr(cls))
        if not isinstance(cls, type):
            raise rules.JOBGEN024.error(handler=handler, problem=rules.RECURRING_NOT_ON_CLASS)
        problem = None if name is None else name_problem(name)
        if problem is not None:
            raise rules.JOBGEN027.error(handler=handler, name=repr(name), problem=problem)
        from beskar_jobs.cron.timetable import as_member, as_utc  # noqa: PLC0415  # most handlers need no cron

        try:
            template = RecurringDefinition(
                name=name or "",
                job_type="",
                queue="",
                arguments=b"",
                schedule=schedule,
                time_zone=time_zone,
                overlap=as_member("overlap", overlap, Overlap),
                misfire=as_member("misfire", misfire, Misfire),
                misfire_limit=misfire_limit,
                start=as_utc("start", start),
                end=as_utc("end", end),
                jitter=jitter.total_seconds() if isinstance(jitter, timedelta) else jitter,
            )
        except InvalidValue as refused:
            raise rules.JOBGEN028.error(handler=handler, problem=str(refused)) from None
        _check(handler, template)
        # The one that is written last comes first, as decorators are applied; in the list they are as written.
        known: tuple[RecurringDeclaration, ...] = cls.__dict__.get(ATTRIBUTE, ())
        setattr(cls, ATTRIBUTE, (RecurringDeclaration(template, arguments), *known))
        definition = cls.__dict__.get("__job_definition__")
        if isinstance(definition, HandlerDefinition):
            check_declarations(definition)
        else:
            _homeless.add(cls)
        return cls

    return decorate


def _check(handler: str, template: RecurringDefinition) -> None:
    """Hold what does not depend on the handler against the rules: JOBGEN025 for the times, JOBGEN028 for the rest."""
    from beskar_jobs.cron.timetable import (  # noqa: PLC0415 - most programs with handlers need no cron
        Timetable,
        check_definition,
    )

    named = attrs.evolve(template, name=template.name or "unnamed")
    try:
        Timetable.of(named)
    except InvalidValue as problem:
        raise rules.JOBGEN025.error(handler=handler, problem=str(problem)) from None
    try:
        check_definition(named)
    except InvalidValue as problem:
        raise rules.JOBGEN028.error(handler=handler, problem=str(problem)) from None


def declarations_of(handler: HandlerDefinition) -> tuple[RecurringDeclaration, ...]:
    """What ``@recurring`` said about the class of *handler* itself; a subclass inherits nothing."""
    found: tuple[RecurringDeclaration, ...] = handler.handler.__dict__.get(ATTRIBUTE, ())
    return found


def check_declarations(handler: HandlerDefinition) -> None:
    """Hold the declarations of *handler* against the rules that need to know it: arguments and names.

    Raises:
        JobDefinitionError: JOBGEN026 or JOBGEN027.
    """
    _homeless.discard(handler.handler)
    class_name = handler.handler.__qualname__
    names: set[str] = set()
    for declaration in declarations_of(handler):
        try:
            dump_value(declaration.arguments_for(handler), handler.args_type)
        except ValueNotSerializable as error:
            raise rules.JOBGEN026.error(handler=class_name, problem=f"arguments do not fit: {error}") from None
        name = declaration.name_for(handler)
        if name in names:
            problem = rules.NAME_TAKEN.format(other="the same class")
            raise rules.JOBGEN027.error(handler=class_name, name=repr(name), problem=problem)
        names.add(name)


def declared_recurring(handlers: Iterable[HandlerDefinition], serializer: Serializer) -> list[RecurringDefinition]:
    """All that *handlers* declare, by name.

    Raises:
        JobDefinitionError: JOBGEN027, two of them declare one name.
        ValueNotSerializable: arguments do not fit their type.
    """
    found: dict[str, RecurringDefinition] = {}
    owners: dict[str, HandlerDefinition] = {}
    for handler in handlers:
        for declaration in declarations_of(handler):
            definition = declaration.definition(handler, serializer)
            other = owners.setdefault(definition.name, handler)
            if definition.name in found:
                problem = rules.NAME_TAKEN.format(other=other.place)
                raise rules.JOBGEN027.error(handler=handler.place, name=repr(definition.name), problem=problem)
            found[definition.name] = definition
    return [found[name] for name in sorted(found)]


def classes_without_handler() -> list[str]:
    """Classes that have ``@recurring`` and no ``@job_handler``, so that nothing of them recurs."""
    return sorted(f"{cls.__module__}.{cls.__qualname__}" for cls in _homeless)


def _is_class_of_fields(kind: Any) -> bool:
    return isinstance(kind, type) and (
        attrs.has(kind) or dataclasses.is_dataclass(kind) or is_typeddict(kind) or hasattr(kind, "_fields")
    )


def _required_fields(kind: Any) -> list[str]:
    if is_typeddict(kind):
        return sorted(kind.__required_keys__)
    parameters = inspect.signature(kind).parameters.values()
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in variable]
