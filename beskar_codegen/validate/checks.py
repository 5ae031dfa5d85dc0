"""The rules of the decorator, applied to one declaration: the same rules, in the same order, with the same verdicts.

Where the decorator stops at the first breach, all of them are told here, but for those that only follow from an
earlier one (a class with no types to hold ``execute`` against).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from beskar_codegen.breaches import breach
from beskar_codegen.model import Argument, Diagnostic, HandlerDeclaration, NoneType, UnresolvedType
from beskar_codegen.read.types import variables
from beskar_codegen.validate.executing import execute_problem, wanted_signature
from beskar_codegen.validate.options import option_problems
from beskar_codegen.validate.portable import Portability, first_unresolved
from beskar_codegen.validate.recurring import recurring_problems
from beskar_codegen.validate.spelling import spelled
from beskar_jobs.handlers import rules
from beskar_jobs.model.names import name_problem

DEFAULT_QUEUE: Final = "default"


def check_handler(handler: HandlerDeclaration, types: Portability) -> Iterator[Diagnostic]:
    """All that is wrong with *handler* by itself."""
    name = handler.name
    if not handler.is_called:
        yield breach(rules.JOBGEN012, handler.place, handler=name, problem=rules.DECORATOR_BARE)
        return
    if not handler.is_class:
        yield breach(rules.JOBGEN012, handler.place, handler=name, problem=rules.DECORATOR_NOT_ON_CLASS)
        return
    if handler.is_decorated_twice:
        yield breach(rules.JOBGEN012, handler.place, handler=name, problem=rules.DECORATOR_TWICE)
    if "<locals>" in name:
        yield breach(rules.JOBGEN001, handler.place, handler=name.replace(".<locals>", ""))
        return  # its types may well be local, too
    yield from _name_problems(handler, handler.job_type, "job type", rules.JOBGEN002, rules.JOBGEN006)
    if handler.queue is not None:
        yield from _name_problems(handler, handler.queue, "queue", rules.JOBGEN003, rules.JOBGEN007)
    yield from option_problems(handler)
    yield from recurring_problems(handler, types)
    base_problem = _base_problem(handler)
    if base_problem is not None:
        yield base_problem
        return
    yield from _type_problems(handler, types)
    yield from _execute_problems(handler, types)


def _name_problems(
    handler: HandlerDeclaration, argument: Argument | None, kind: str, blank: rules.Rule, malformed: rules.Rule
) -> Iterator[Diagnostic]:
    if argument is None or not argument.is_static:
        return  # told with the options
    value = argument.value
    if isinstance(value, str) and not value.strip():
        yield breach(blank, argument.place, handler=handler.name)
        return
    problem = name_problem(value)
    if problem is not None:
        yield breach(malformed, argument.place, handler=handler.name, value=repr(value), problem=problem, kind=kind)


def _base_problem(handler: HandlerDeclaration) -> Diagnostic | None:
    """JOBGEN004, or JOBGEN017 where a base or a type in its brackets cannot be followed."""

    def told(problem: str) -> Diagnostic:
        return breach(rules.JOBGEN004, handler.place, handler=handler.name, problem=problem)

    if handler.base is None:
        base = handler.open_base
        if base is None:
            return told(rules.NOT_A_HANDLER)
        return _unfollowed(handler, base, f"a base class of {handler.name}")
    if handler.base_problem:
        return told(handler.base_problem)
    if handler.args_type is None:
        return told(rules.BARE_BASE)
    for declared in (handler.args_type, handler.result_type):
        missing = first_unresolved(declared) if declared is not None else None
        if missing is not None:
            if missing.is_quoted and not missing.exists:
                return told(f"names the type {missing.text!r}, which cannot be resolved: it {missing.reason}")
            return _unfollowed(handler, missing, f"a type of {handler.name}")
        for variable in variables(declared) if declared is not None else ():
            return told(rules.OPEN_TYPE.format(variable=f"~{variable}"))
    return None


def _unfollowed(handler: HandlerDeclaration, missing: UnresolvedType, where: str) -> Diagnostic:
    return breach(rules.JOBGEN017, handler.place, name=missing.text, where=where, problem=missing.reason)


def _type_problems(handler: HandlerDeclaration, types: Portability) -> Iterator[Diagnostic]:
    assert handler.args_type is not None
    for rule, declared, what in (
        (rules.JOBGEN008, handler.args_type, "the arguments"),
        (rules.JOBGEN009, handler.result_type or NoneType(), "the result"),
    ):
        problem = types.problem(declared)
        if problem is None:
            continue
        missing = problem.unresolved
        if missing is not None and missing.exists:
            where = f"used by {what} of {handler.name}"
            yield breach(rules.JOBGEN017, handler.place, name=missing.text, where=where, problem=missing.reason)
        else:
            yield breach(rule, handler.place, handler=handler.name, problem=problem.text(spelled(declared)))


def _execute_problems(handler: HandlerDeclaration, types: Portability) -> Iterator[Diagnostic]:
    assert handler.args_type is not None
    result_type = handler.result_type or NoneType()
    problem = execute_problem(handler, handler.args_type, result_type, types)
    if problem is not None:
        signature = wanted_signature(handler, handler.args_type, result_type)
        yield breach(rules.JOBGEN010, handler.place, handler=handler.name, problem=problem, signature=signature)
