"""Holds ``execute`` against the types that the class declares, as the decorator does."""

from __future__ import annotations

import ast
from typing import Final

from beskar_codegen.model import ExecuteModel, HandlerDeclaration, LiteralType, NamedType, TypeExpression, UnionType
from beskar_codegen.read.types import variables
from beskar_codegen.validate.portable import Portability, first_unresolved
from beskar_codegen.validate.spelling import spelled
from beskar_jobs.handlers import rules

_CONTEXT: Final = ("beskar_jobs", "JobContext")
_AWAITABLES: Final = {("collections.abc", "Awaitable"), ("collections.abc", "Coroutine")}
_ANY: Final = NamedType("typing", "Any")
_NEVER: Final = NamedType("typing", "NoReturn")


def wanted_signature(handler: HandlerDeclaration, args_type: TypeExpression, result_type: TypeExpression) -> str:
    """How ``execute`` is to be written: ``def`` where it is."""
    execute = handler.execute
    is_plain = execute is not None and execute.is_method and not (execute.is_abstract or execute.is_async)
    keyword = "def" if is_plain else "async def"
    return f"{keyword} execute(self, context: JobContext[{spelled(args_type)}]) -> {spelled(result_type)}"


def execute_problem(
    handler: HandlerDeclaration, args_type: TypeExpression, result_type: TypeExpression, types: Portability
) -> str | None:
    """What is wrong with ``execute`` of *handler*, as the end of a sentence."""
    execute = handler.execute
    if execute is None:
        return rules.EXECUTE_MISSING if handler.open_base is None else None
    if execute.is_abstract:
        return rules.EXECUTE_MISSING
    if not execute.is_method:
        return rules.EXECUTE_NOT_A_METHOD
    if not execute.is_known:
        return None
    if execute.is_generator:
        return rules.EXECUTE_GENERATOR
    if not execute.takes_context:
        return rules.EXECUTE_PARAMETERS.format(parameters=execute.text)
    return _annotations_problem(execute, args_type, result_type, types)


def _annotations_problem(
    execute: ExecuteModel, args_type: TypeExpression, result_type: TypeExpression, types: Portability
) -> str | None:
    written = [annotation for _, annotation in execute.parameters if annotation is not None]
    written += [execute.returns] if execute.returns is not None else []
    if any(first_unresolved(annotation) is not None for annotation in written):
        return None  # a name that only type checkers know; they have checked it
    context = execute.parameters[0][1] if execute.parameters else None
    if context is not None and not _context_fits(context, args_type, types):
        expected = f"JobContext[{spelled(args_type)}]"
        return rules.EXECUTE_CONTEXT.format(actual=spelled(context), expected=expected)
    returned = execute.returns
    if returned is None:
        return None
    if not execute.is_async and isinstance(returned, NamedType) and returned.arguments:
        is_awaitable = (returned.module, returned.name) in _AWAITABLES
        returned = returned.arguments[-1] if is_awaitable else returned
    if returned in (_ANY, _NEVER) or variables(returned) or same(returned, result_type, types):
        return None
    return rules.EXECUTE_RETURN.format(actual=spelled(returned), expected=spelled(result_type))


def _context_fits(annotation: TypeExpression, args_type: TypeExpression, types: Portability) -> bool:
    if annotation == _ANY or variables(annotation):
        return True
    if not isinstance(annotation, NamedType) or (annotation.module, annotation.name) != _CONTEXT:
        return False
    inner = annotation.arguments
    return not inner or inner[0] == _ANY or same(inner[0], args_type, types)


def same(first: TypeExpression, second: TypeExpression, types: Portability) -> bool:
    """Whether two spellings mean one type, the members of unions and literals in any order."""
    if first == second:
        return True
    if isinstance(first, UnionType) and isinstance(second, UnionType):
        if len(first.members) != len(second.members):
            return False
        return all(any(same(one, other, types) for other in second.members) for one in first.members)
    if isinstance(first, LiteralType) and isinstance(second, LiteralType):
        return _meant(first) == _meant(second)
    if isinstance(first, NamedType) and isinstance(second, NamedType):
        alike = (first.module, first.name) == (second.module, second.name)
        if alike and len(first.arguments) == len(second.arguments):
            return all(same(one, other, types) for one, other in zip(first.arguments, second.arguments, strict=True))
    return False


def _meant(literal: LiteralType) -> frozenset[object]:
    """What the values of *literal* are, however they are spelled: constants, and homes of members of enums."""
    homes: dict[str, object] = {text: (module, name) for text, module, name in literal.names}
    return frozenset(homes[each] if each in homes else _constant(each) for each in literal.values)


def _constant(text: str) -> object:
    """What *text* means; what is no constant, and so no literal either, means but itself."""
    try:
        value: object = ast.literal_eval(text)
        hash(value)
    except (ValueError, TypeError, SyntaxError):
        return (text,)
    return value
