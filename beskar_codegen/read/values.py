"""Values that can be known without running code: constants, names of constants, members of enums, sums of strings."""

from __future__ import annotations

from typing import Final

import attrs
import libcst as cst

from beskar_codegen.read.modules import ClassSite
from beskar_codegen.read.scopes import Scope
from beskar_codegen.read.symbols import External, Resolver, ValueSymbol, known_home
from beskar_codegen.read.trees import dotted_name

Constant = str | bytes | int | float | bool | None

_MAX_DEPTH: Final = 30
_WORDS: Final = {"True": True, "False": False, "None": None}


@attrs.frozen
class Static:
    """A value that is known."""

    value: Constant


def static_value(resolver: Resolver, scope: Scope, node: cst.BaseExpression, depth: int = 0) -> Static | None:
    """The value of *node*; ``None`` if only running the code would tell."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(node, cst.SimpleString | cst.ConcatenatedString | cst.FormattedString):
        return _string(node)
    if isinstance(node, cst.Integer | cst.Float):
        try:
            return Static(node.evaluated_value)
        except (ValueError, OverflowError):
            return None
    if isinstance(node, cst.UnaryOperation):
        return _signed(static_value(resolver, scope, node.expression, depth + 1), node.operator)
    if isinstance(node, cst.BinaryOperation):
        left = static_value(resolver, scope, node.left, depth + 1)
        right = static_value(resolver, scope, node.right, depth + 1)
        return _combined(left, node.operator, right)
    dotted = dotted_name(node)
    if dotted is None:
        return None
    if dotted in _WORDS:
        return Static(_WORDS[dotted])
    return _named(resolver, scope, dotted, depth)


def _string(node: cst.SimpleString | cst.ConcatenatedString | cst.FormattedString) -> Static | None:
    if isinstance(node, cst.FormattedString):
        if all(isinstance(part, cst.FormattedStringText) for part in node.parts):
            text = "".join(part.value for part in node.parts if isinstance(part, cst.FormattedStringText))
            return None if "\\" in text or "{" in text or "}" in text else Static(text)
        return None
    try:
        value = node.evaluated_value
    except (ValueError, SyntaxError):
        return None
    return None if value is None else Static(value)


def _signed(operand: Static | None, operator: cst.BaseUnaryOp) -> Static | None:
    if operand is None or isinstance(operand.value, bool) or not isinstance(operand.value, int | float):
        return None
    if isinstance(operator, cst.Minus):
        return Static(-operand.value)
    return operand if isinstance(operator, cst.Plus) else None


def _combined(left: Static | None, operator: cst.BaseBinaryOp, right: Static | None) -> Static | None:
    if left is None or right is None:
        return None
    one, other = left.value, right.value
    if isinstance(operator, cst.Add) and isinstance(one, str) and isinstance(other, str):
        return Static(one + other)
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    if numbers and isinstance(operator, cst.Multiply):
        return Static(one * other)  # type: ignore[operator]  # both are numbers
    if numbers and isinstance(operator, cst.Add):
        return Static(one + other)  # type: ignore[operator]  # both are numbers
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
