"""The arguments of ``@job_handler`` besides their names: known, static where they have to be, and sensible."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from beskar_codegen.breaches import breach
from beskar_codegen.model import Argument, Diagnostic, HandlerDeclaration
from beskar_jobs.handlers import rules

OPTIONS: Final = (
    "queue",
    "priority",
    "retry",
    "timeout",
    "restart_on_crash",
    "max_crashes",
    "version",
    "registry",
)
"""What the decorator takes by name; a test holds this against its signature."""

MAX_PRIORITY: Final = 1_000_000
MAX_VERSION: Final = 1_000_000

_STATIC: Final = {"job_type", "queue", "priority", "version"}


def option_problems(handler: HandlerDeclaration) -> Iterator[Diagnostic]:
    """What is wrong with the arguments of the decorator of *handler*."""
    arguments = all_arguments(handler)
    if handler.job_type is None and not any(each.name.startswith("*") for each in arguments):
        problem = rules.JOB_TYPE_MISSING
        yield breach(rules.JOBGEN023, handler.place, handler=handler.name, problem=problem, options=", ".join(OPTIONS))
    for argument in arguments:
        name = argument.name
        if name.startswith("*"):
            yield _not_static(handler, argument, f"{name} stands for options")
        elif name.startswith("#"):
            yield _unknown(handler, argument, rules.POSITIONAL_OPTION)
        elif name != "job_type" and name not in OPTIONS:
            yield _unknown(handler, argument, rules.UNKNOWN_OPTION.format(option=name))
        elif not argument.is_static:
            if name in _STATIC:
                yield _not_static(handler, argument, name)
        else:
            wanted = _wanted(argument)
            if wanted is not None:
                problem = f"is {wanted}, not {argument.value!r}"
                yield breach(rules.JOBGEN011, argument.place, handler=handler.name, option=name, problem=problem)


def all_arguments(handler: HandlerDeclaration) -> tuple[Argument, ...]:
    """Every argument of the decorator of *handler*."""
    named = (handler.job_type, handler.queue, handler.version)
    return (*(each for each in named if each is not None), *handler.other_arguments)


def _not_static(handler: HandlerDeclaration, argument: Argument, option: str) -> Diagnostic:
    text = argument.text if len(argument.text) <= 60 else f"{argument.text[:60]}…"
    return breach(rules.JOBGEN013, argument.place, handler=handler.name, option=option, text=text)


def _unknown(handler: HandlerDeclaration, argument: Argument, problem: str) -> Diagnostic:
    options = ", ".join(OPTIONS)
    return breach(rules.JOBGEN023, argument.place, handler=handler.name, problem=problem, options=options)


def _wanted(argument: Argument) -> str | None:
    """What the constant *argument* should have been; ``None`` if it is."""
    value = argument.value
    name = argument.name
    if name == "priority" and not _is_int(value, -MAX_PRIORITY, MAX_PRIORITY):
        return f"a whole number from -{MAX_PRIORITY} to {MAX_PRIORITY}"
    if name == "version" and not _is_int(value, 1, MAX_VERSION):
        return f"a whole number from 1 to {MAX_VERSION}"
    if name == "max_crashes" and not _is_int(value, 0, MAX_PRIORITY):
        return "a whole number of at least 0"
    if name == "restart_on_crash" and not isinstance(value, bool):
        return "True or False"
    if name == "retry" and value is not None:
        return "a Retry, such as Retry(3)"
    if name == "registry" and value is not None:
        return "a HandlerRegistry"
    if name == "timeout" and value is not None and not _is_duration(value):
        return "a number of seconds (or a timedelta) above 0"
    return None


def _is_int(value: object, lowest: int, highest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= highest


def _is_duration(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
