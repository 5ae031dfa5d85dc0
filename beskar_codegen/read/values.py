"""Values that can be known without running code: constants, names of constants, members of enums, sums of strings."""

from __future__ import annotations

import ast
from typing import Final

import attrs

from beskar_codegen.read.modules import ClassSite
from beskar_codegen.read.scopes import Scope
from beskar_codegen.read.symbols import External, Resolver, ValueSymbol, known_home
from beskar_codegen.read.syntax import dotted_name

Constant = str | bytes | int | float | bool | None

_MAX_DEPTH: Final = 30


@attrs.frozen
class Static:
    """A value that is known."""

    value: Constant


def static_value(resolver: Resolver, scope: Scope, node: ast.expr, depth: int = 0) -> Static | None:
    """The value of *node*; ``None`` if only running the code would tell."""
    if depth > _MAX_DEPTH:
        return None
    match node:
        case ast.Constant(value=value):
            return Static(value) if value is None or isinstance(value, str | bytes | int | float) else None
        case ast.JoinedStr(values=parts):
            texts = [part.value for part in parts if isinstance(part, ast.Constant)]
            return Static("".join(map(str, texts))) if len(texts) == len(parts) else None
        case ast.UnaryOp(op=operator, operand=operand):
            return _signed(static_value(resolver, scope, operand, depth + 1), operator)
        case ast.BinOp(left=one, op=operator_, right=other):
            left = static_value(resolver, scope, one, depth + 1)
            return _combined(left, operator_, static_value(resolver, scope, other, depth + 1))
        case _:
            dotted = dotted_name(node)
            return None if dotted is None else _named(resolver, scope, dotted, depth)


def _signed(operand: Static | None, operator: ast.unaryop) -> Static | None:
    if operand is None or isinstance(operand.value, bool) or not isinstance(operand.value, int | float):
        return None
    if isinstance(operator, ast.USub):
        return Static(-operand.value)
    return operand if isinstance(operator, ast.UAdd) else None


def _combined(left: Static | None, operator: ast.operator, right: Static | None) -> Static | None:
    if left is None or right is None:
        return None
    one, other = left.value, right.value
    if isinstance(operator, ast.Add) and isinstance(one, str) and isinstance(other, str):
        return Static(one + other)
    if isinstance(one, int | float) and isinstance(other, int | float):
        if isinstance(operator, ast.Mult):
            return Static(one * other)
        if isinstance(operator, ast.Add):
            return Static(one + other)
    return None


def _named(resolver: Resolver, scope: Scope, dotted: str, depth: int) -> Static | None:
    symbol = resolver.resolve(scope, dotted)
    if isinstance(symbol, ValueSymbol) and symbol.binding.value is not None:
        owner, _, _ = dotted.rpartition(".")
        if owner:
            cls = resolver.resolve(scope, owner)
            if isinstance(cls, ClassSite) and not _gives_its_value(resolver, cls):
                return None
        return static_value(resolver, symbol.scope, symbol.binding.value, depth + 1)
    return None


def _gives_its_value(resolver: Resolver, cls: ClassSite) -> bool:
    """Whether an attribute of *cls* is what was assigned: yes for plain classes, and for enums that are strings."""
    homes = {known_home(base) for base in resolver.bases(cls) if isinstance(base, External)}
    if ("enum", "StrEnum") in homes or ("enum", "IntEnum") in homes:
        return True
    if ("enum", "Enum") in homes:
        return bool({("builtins", "str"), ("builtins", "int")} & homes)
    return True
