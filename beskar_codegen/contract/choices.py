"""What the members of an enum stand as in JSON: the value if all are strings or all are ints, else the name.

Values are source text here. Constants, ``auto()`` and arithmetic on constants are worked out; where a value is not to
be known without running code, the schema keeps the names and says so in ``x-names``.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, Final

from beskar_codegen.model import DeclaredType, NamedType

_FLAGS: Final = {"Flag", "IntFlag"}
_OPERATORS: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.LShift: operator.lshift,
    ast.BitOr: operator.or_,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_MAX_BITS: Final = 64


class _Unknown(Exception):
    """Nobody can say without running code."""


def enum_values(declared: DeclaredType) -> dict[str, Any]:
    """The schema of the enum *declared*."""
    bases = {base.name for base in declared.bases if isinstance(base, NamedType)}
    names = [name for name, _ in declared.members]
    try:
        values = _values(declared, is_text="StrEnum" in bases, is_flag=bool(bases & _FLAGS))
    except _Unknown:
        return {"title": declared.name, "x-names": sorted(names)}
    kinds = {type(value) for value in values}
    if bases & _FLAGS and kinds == {int}:
        return {"title": declared.name, "type": "integer", "x-names": sorted(names)}
    plain = values if kinds in ({str}, {int}) else names
    return {"title": declared.name, "enum": sorted(set(plain), key=lambda each: (str(type(each)), each))}


def _values(declared: DeclaredType, *, is_text: bool, is_flag: bool) -> list[Any]:
    values: list[Any] = []
    known: dict[str, Any] = {}
    for name, text in declared.members:
        value = _value(text, known, name, values, is_text=is_text, is_flag=is_flag)
        values.append(value)
        known[name] = value
    return values


def _value(text: str, known: dict[str, Any], name: str, before: list[Any], *, is_text: bool, is_flag: bool) -> Any:
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise _Unknown from error
    if isinstance(node, ast.Call) and not node.args and ast.unparse(node.func).rpartition(".")[2] == "auto":
        if is_text:
            return name.lower()
        numbers = [value for value in before if type(value) is int]
        if not numbers:
            return 1
        return 1 << max(numbers).bit_length() if is_flag else max(numbers) + 1
    return _evaluated(node, known)


def _evaluated(node: ast.expr, known: dict[str, Any]) -> Any:
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _evaluated(node.left, known), _evaluated(node.right, known)
        if type(left) is not int or type(right) is not int or abs(left) >> _MAX_BITS or not 0 <= right < 2**_MAX_BITS:
            raise _Unknown
        if isinstance(node.op, ast.LShift) and right > _MAX_BITS:
            raise _Unknown
        return _OPERATORS[type(node.op)](left, right)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError) as error:
        raise _Unknown from error
