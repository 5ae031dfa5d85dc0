"""What a stub says about a value: its type where that is plain to see, the value itself where checkers need it."""

from __future__ import annotations

import ast
from typing import Final

INCOMPLETE: Final = ast.Name("_typeshed.Incomplete")
TYPE_ALIAS: Final = ast.Name("typing.TypeAlias")
"""Both are annotations that the reader adds; the stub imports them under a name that is free."""
NONE: Final = ast.Constant(None)
ELLIPSIS: Final = ast.Constant(...)

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


def last_name(node: ast.expr) -> str:
    """``c`` of ``a.b.c`` and of ``a.b.c(…)``, as decorators are told apart; empty of anything else."""
    while isinstance(node, ast.Call):
        node = node.func
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def called(node: ast.expr) -> str:
    """The last name of what *node* calls; empty if it is no call."""
    return last_name(node) if isinstance(node, ast.Call) else ""


def is_declaring(node: ast.expr) -> bool:
    """Whether the value has to stay: a type variable, a functional class."""
    return called(node) in _DECLARING


def is_none(node: ast.expr | None) -> bool:
    """Whether it is ``None``, as written."""
    return isinstance(node, ast.Constant) and node.value is None


def short(node: ast.expr) -> ast.expr:
    """A default as stubs write it: a short constant, or ``...``."""
    return node if _is_constant(node) and len(ast.unparse(node)) <= _LONG else ELLIPSIS


def is_alias(node: ast.expr, classes: set[str]) -> bool:
    """Whether the value is a type, so that the assignment makes an alias; *classes* are the known ones."""
    while isinstance(node, ast.BinOp):  # a long union leans to the left, one level for each member
        if not isinstance(node.op, ast.BitOr) or not (is_none(node.right) or is_alias(node.right, classes)):
            return False
        node = node.left
        if is_none(node):
            return True
    match node:
        case ast.Name(id=name):
            return name in classes or name in _BUILT_IN_TYPES
        case ast.Attribute(value=value, attr=attr):
            return attr[:1].isupper() and not attr.isupper() and isinstance(value, ast.Name | ast.Attribute)
        case ast.Subscript(value=value):
            return is_alias(value, classes)
        case _:
            return False


def type_of(node: ast.expr) -> ast.expr:
    """The type of the value, ``Incomplete`` if it does not show."""
    match node:
        case ast.Constant(value=value):
            return INCOMPLETE if value is None or value is Ellipsis else ast.Name(type(value).__name__)
        case ast.JoinedStr():
            return ast.Name("str")
        case ast.UnaryOp(op=ast.Not()):
            return ast.Name("bool")
        case ast.UnaryOp(operand=operand):
            return type_of(operand)
        case ast.Tuple(elts=[_, *_] as items):
            return _generic("tuple", *(type_of(item) for item in items))
        case ast.List(elts=items):
            return _generic("list", _common(items))
        case ast.Set(elts=items):
            return _generic("set", _common(items))
        case ast.Dict(keys=keys, values=values):
            return _generic("dict", _common([key for key in keys if key is not None]), _common(values))
        case ast.Call(func=ast.Attribute(value=ast.Name(id="logging"), attr="getLogger")):
            return ast.Attribute(ast.Name("logging"), "Logger")
        case ast.Call(func=ast.Name(id="frozenset"), args=[ast.Set(elts=items)]):
            return _generic("frozenset", _common(items))
        case _:
            return INCOMPLETE


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


def _generic(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Subscript(ast.Name(name), arguments[0] if len(arguments) == 1 else ast.Tuple(list(arguments)))


def _common(items: list[ast.expr]) -> ast.expr:
    """The type that all *items* have, if there is one."""
    types = {ast.unparse(found): found for found in map(type_of, items)}
    return types.popitem()[1] if len(types) == 1 else INCOMPLETE
