"""Which defaults can be written into another module and mean the same there.

Written down are constants (numbers, strings, ``None``, tuples of these) and references to public names that the module
can import. A call would be made once for all requests, a list would be shared by them, and a private name is none of
the other module's business: for these a descriptor passes on only what it was given.
"""

from __future__ import annotations

import ast
import sys

from beskar_codegen.model import Field


def can_be_written(text: str, field: Field, *, reachable: frozenset[tuple[str, str]] | None = None) -> bool:
    """Whether the default *text* of *field* can stand in the signature of a descriptor.

    Args:
        reachable: homes (module, name) that the module defines for itself; ``None``: it may import any.
    """
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return False
    homes = {spelling: (module, name) for spelling, module, name in field.default_names}
    return _is_constant(node, homes, reachable)


def can_be_copied(text: str, field: Field, reachable: frozenset[tuple[str, str]]) -> bool:
    """Whether the default *text* of *field* can stand in a copy of its class: all that it names can be had there.

    That are the standard library and the types that are *reachable*.
    """
    homes = {spelling.partition(".")[0]: (module, name) for spelling, module, name in field.default_names}
    try:
        used = {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}
    except (SyntaxError, ValueError):
        return False
    return all(name in homes and (_is_standard(homes[name][0]) or _is_within(homes[name], reachable)) for name in used)


def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _is_within(home: tuple[str, str], known: frozenset[tuple[str, str]]) -> bool:
    module, name = home
    return any(module == at and (name == other or name.startswith(other + ".")) for at, other in known)


def _is_constant(
    node: ast.expr, homes: dict[str, tuple[str, str]], reachable: frozenset[tuple[str, str]] | None
) -> bool:
    match node:
        case ast.Constant():
            return node.value is not Ellipsis
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert(), operand=operand):
            return _is_constant(operand, homes, reachable)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.LShift() | ast.Pow(), right=right):
            return isinstance(left, ast.Constant | ast.BinOp | ast.UnaryOp) and all(
                _is_constant(side, homes, reachable) for side in (left, right)
            )
        case ast.Tuple(elts=items):
            return all(_is_constant(item, homes, reachable) for item in items)
        case ast.Name() | ast.Attribute():
            return _is_reachable(ast.unparse(node), homes, reachable)
        case _:
            return False


def _is_reachable(text: str, homes: dict[str, tuple[str, str]], reachable: frozenset[tuple[str, str]] | None) -> bool:
    home = homes.get(text)
    if home is None or any(part.startswith("_") for part in home[1].split(".")):
        return False
    if reachable is None:
        return True
    return _is_within(home, reachable)
