"""Reads the declared types of a handler class, and holds its ``execute`` against them.

Type arguments may come through generic classes of the user's own in between (``class Base(JobHandler[T])``).
Annotations that cannot be resolved at import (names under ``TYPE_CHECKING``, say) are left to the type checkers.
"""

from __future__ import annotations

import collections.abc
import inspect
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any, Final, ForwardRef, TypeVar

from beskar_jobs.handlers import rules
from beskar_jobs.handlers.base import HandlerBase, JobHandler, JobHandlerWithResult
from beskar_jobs.handlers.context import JobContext
from beskar_jobs.wire.typewalk import type_name

_AWAITABLES = (collections.abc.Awaitable, collections.abc.Coroutine)


def declared_types(cls: type[HandlerBase[Any, Any]]) -> tuple[Any, Any]:
    """The concrete types of arguments and result; the result of ``JobHandler[Args]`` is ``None``.

    Raises:
        JobDefinitionError: JOBGEN004.
    """
    name = cls.__qualname__
    found = _bound(cls, ())
    if found is None:
        raise rules.JOBGEN004.error(handler=name, problem=rules.BARE_BASE)
    for argument in found:
        for variable in _variables(argument):
            raise rules.JOBGEN004.error(handler=name, problem=rules.OPEN_TYPE.format(variable=variable))
    args_type, result_type = found
    return args_type, None if result_type is type(None) else result_type


def _bound(cls: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What *cls*, subscripted by *arguments*, fills the two type variables of HandlerBase with."""
    if cls is HandlerBase or (cls in (JobHandler, JobHandlerWithResult) and not arguments):
        return arguments or None
    parameters = getattr(cls, "__parameters__", ())
    if parameters and not arguments:
        arguments = parameters
    known: dict[Any, Any] = dict(zip(parameters, arguments, strict=False))
    for base in cls.__dict__.get("__orig_bases__", cls.__bases__):
        origin = typing.get_origin(base) or base
        if isinstance(origin, type) and issubclass(origin, HandlerBase):
            inner = tuple(_filled(_resolved(argument, cls), known) for argument in typing.get_args(base))
            return _bound(origin, inner)
    return None


def _filled(argument: Any, known: Mapping[Any, Any]) -> Any:
    if isinstance(argument, TypeVar):
        return known.get(argument, argument)
    parameters = getattr(argument, "__parameters__", ())
    if parameters and not isinstance(argument, type):
        return argument[tuple(known.get(parameter, parameter) for parameter in parameters)]
    return argument


def _resolved(argument: Any, cls: type) -> Any:
    if not isinstance(argument, str | ForwardRef):
        return argument
    text = argument if isinstance(argument, str) else argument.__forward_arg__
    try:
        return typing.get_type_hints(_holder(text), vars(sys.modules[cls.__module__]), {cls.__name__: cls})["it"]
    except Exception as error:
        problem = f"names the type {text!r}, which cannot be resolved: {error}"
        raise rules.JOBGEN004.error(handler=cls.__qualname__, problem=problem) from error


def _holder(text: str) -> type:
    return type("_Holder", (), {"__annotations__": {"it": text}})


def _variables(argument: Any) -> tuple[Any, ...]:
    if isinstance(argument, TypeVar):
        return (argument,)
    if isinstance(argument, type) and not typing.get_args(argument):
        return ()
    return tuple(getattr(argument, "__parameters__", ()))


def check_execute(cls: type[HandlerBase[Any, Any]], args_type: Any, result_type: Any) -> bool:
    """Whether ``execute`` of *cls* is asynchronous.

    Raises:
        JobDefinitionError: JOBGEN010.
    """
    function = inspect.getattr_static(cls, "execute")
    problem, is_async = _execute_problem(function, args_type, result_type)
    if problem is not None:
        keyword = "def" if _is_plain_function(function) else "async def"
        wanted = f"{keyword} execute(self, context: JobContext[{type_name(args_type)}]) -> {type_name(result_type)}"
        raise rules.JOBGEN010.error(handler=cls.__qualname__, problem=problem, signature=wanted)
    return is_async


def _is_plain_function(function: Any) -> bool:
    """Whether it is there and written ``def``, which a hint keeps."""
    if not inspect.isfunction(function) or getattr(function, "__isabstractmethod__", False):
        return False
    inner = inspect.unwrap(function)
    return not (inspect.iscoroutinefunction(inner) or inspect.isasyncgenfunction(inner))


def _execute_problem(function: Any, args_type: Any, result_type: Any) -> tuple[str | None, bool]:
    if getattr(function, "__isabstractmethod__", False):
        return rules.EXECUTE_MISSING, False
    if not inspect.isfunction(function):
        return rules.EXECUTE_NOT_A_METHOD, False
    inner = inspect.unwrap(function)
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        return rules.EXECUTE_GENERATOR, False
    parameters = list(inspect.signature(function).parameters.values())
    if not _takes_one(parameters):
        return rules.EXECUTE_PARAMETERS.format(parameters=", ".join(str(p) for p in parameters)), False
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(inner)
    hints = _hints(inner)
    context = hints.get(parameters[1].name) if len(parameters) > 1 else None
    if context is not None and not _context_fits(context, args_type):
        expected = f"JobContext[{type_name(args_type)}]"
        return rules.EXECUTE_CONTEXT.format(actual=type_name(context), expected=expected), is_async
    if "return" in hints:
        returned = hints["return"]
        if not is_async and typing.get_origin(returned) in _AWAITABLES:
            returned, is_async = typing.get_args(returned)[-1], True
        if not _result_fits(returned, result_type):
            return rules.EXECUTE_RETURN.format(actual=type_name(returned), expected=type_name(result_type)), is_async
    return None, is_async


def _takes_one(parameters: list[inspect.Parameter]) -> bool:
    """Whether a call with self and one more positional argument goes through."""
    empty = inspect.Parameter.empty
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind is p.KEYWORD_ONLY and p.default is empty for p in parameters):
        return False
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return len([p for p in positional if p.default is empty]) <= 2
    return len(positional) >= 2 and all(p.default is not empty for p in positional[2:])


def _hints(function: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception:  # a name that only type checkers know; they have checked it
        return {}


def _context_fits(annotation: Any, args_type: Any) -> bool:
    if annotation is Any or isinstance(annotation, TypeVar):
        return True
    if (typing.get_origin(annotation) or annotation) is not JobContext:
        return False
    inner = typing.get_args(annotation)
    return not inner or inner[0] is Any or bool(_variables(inner[0])) or _same(inner[0], args_type)


def _result_fits(annotation: Any, result_type: Any) -> bool:
    return annotation in (Any, typing.NoReturn) or bool(_variables(annotation)) or _same(annotation, result_type)


_UNIONS: Final = (typing.Union, types.UnionType)


def _same(first: Any, second: Any) -> bool:
    """Whether two spellings mean one type: ``List[int]`` and ``list[int]``, ``Optional[int]`` and ``None | int``."""
    first, second = _bare(first), _bare(second)
    if first == second:
        return True
    origins = typing.get_origin(first), typing.get_origin(second)
    parts = typing.get_args(first), typing.get_args(second)
    if None in origins or len(parts[0]) != len(parts[1]):
        return False
    if all(origin in _UNIONS for origin in origins):
        return all(any(_same(one, other) for other in parts[1]) for one in parts[0])
    return origins[0] is origins[1] and all(map(_same, *parts))


def _bare(declared: Any) -> Any:
    while typing.get_origin(declared) is typing.Annotated:
        declared = typing.get_args(declared)[0]
    return type(None) if declared is None else declared
