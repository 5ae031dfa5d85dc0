"""What a stub says about a value: its type where that is plain to see, the value itself where checkers need it."""

from __future__ import annotations

import ast
from typing import Final

INCOMPLETE: Final = "_typeshed.Incomplete"
TYPE_ALIAS: Final = "typing.TypeAlias"
"""Both are annotations that the reader adds; the stub imports them under a name that is free."""

_BUILT_IN_TYPES: Final = frozenset(
    {"int", "str", "bool", "float", "complex", "bytes", "list", "dict", "set", "frozenset", "tuple", "type", "object"}
)
# Calls that make something a type checker has to see: type variables, functional classes.
_DECLARING: Final = frozenset(
    {
        "TypeVar",
        "ParamSpec",
        "TypeVarTuple",
        "NewType",
        "TypeAliasType",
        "namedtuple",
        "NamedTuple",
        "TypedDict",
        "Enum",
        "IntEnum",
        "StrEnum",
        "Flag",
        "IntFlag",
    }
)
_LONG: Final = 60


def parsed(text: str) -> ast.expr | None:
    """The expression *text*, or ``None`` where this Python cannot parse it."""
    try:
        return ast.parse(f"({text.strip()}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None


def called(text: str) -> str:
    """The last name of what *text* calls; empty if it is no call."""
    node = parsed(text)
    return ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def is_declaring(text: str) -> bool:
    """Whether the value has to stay: a type variable, a functional class."""
    return called(text) in _DECLARING


def short(text: str) -> str:
    """A default as stubs write it: a short constant, or ``...``."""
    node = parsed(text)
    if node is None or not _is_constant(node):
        return "..."
    flat = ast.unparse(node)
    return flat if len(flat) <= _LONG else "..."


def is_alias(text: str, classes: frozenset[str]) -> bool:
    """Whether the value is a type, so that the assignment makes an alias; *classes* are the known ones."""
    node = parsed(text)
    return node is not None and not isinstance(node, ast.Constant) and _is_type(node, classes)


def type_of(text: str) -> str:
    """The type of the value, ``Incomplete`` if it does not show."""
    node = parsed(text)
    return INCOMPLETE if node is None else _type_of(node)


def _is_constant(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant()):
            return True
        case ast.Tuple(elts=items):
            return all(_is_constant(item) for item in items)
        case _:
            return False


def _is_type(node: ast.expr, classes: frozenset[str]) -> bool:
    match node:
        case ast.Name(id=name):
            return name in classes or name in _BUILT_IN_TYPES
        case ast.Attribute(value=value, attr=attr):
            return attr[:1].isupper() and not attr.isupper() and isinstance(value, ast.Name | ast.Attribute)
        case ast.Subscript(value=value):
            return _is_type(value, classes)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return all(
                _is_type(side, classes) or (isinstance(side, ast.Constant) and side.value is None)
                for side in (left, right)
            )
        case _:
            return False


def _type_of(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=value):
            return INCOMPLETE if value is None or value is Ellipsis else type(value).__name__
        case ast.JoinedStr():
            return "str"
        case ast.UnaryOp(op=ast.Not()) | ast.Compare():
            return "bool" if isinstance(node, ast.UnaryOp) else INCOMPLETE
        case ast.UnaryOp(operand=operand):
            return _type_of(operand)
        case ast.Tuple(elts=[_, *_] as items):
            return f"tuple[{', '.join(_type_of(item) for item in items)}]"
        case ast.List(elts=items) | ast.Set(elts=items):
            return f"{'list' if isinstance(node, ast.List) else 'set'}[{_common(items)}]"
        case ast.Dict(keys=keys, values=values):
            return f"dict[{_common([key for key in keys if key is not None])}, {_common(values)}]"
        case ast.Call(func=ast.Attribute(value=ast.Name(id="logging"), attr="getLogger")):
            return "logging.Logger"
        case ast.Call(func=ast.Name(id="frozenset"), args=[ast.Set(elts=items)]):
            return f"frozenset[{_common(items)}]"
        case _:
            return INCOMPLETE


def _common(items: list[ast.expr]) -> str:
    found = {_type_of(item) for item in items}
    return found.pop() if len(found) == 1 else INCOMPLETE
