"""Cuts out of a module's text what no stub needs: the bodies of functions, which are most of a module.

libcst takes some hundred microseconds for a line, the running Python's own parser a few. So the latter finds the
functions, and of a body is left what a stub tells of it: that it yields or gives something back, and what it assigns to
attributes, for those of ``self`` are variables of the class. Text that Python cannot parse (newer syntax) stays whole.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import Final

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def without_bodies(text: str) -> str:
    """*text* with the bodies of its functions cut down."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like: not ours to tell
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    lines = text.split("\n")
    for function in reversed(list(_functions(tree.body))):  # from the end, so that line numbers hold
        first, last = function.body[0], function.body[-1]
        start, end = min(_start(first), first.lineno), last.end_lineno or last.lineno
        column = len(lines[first.lineno - 1].encode()[: first.col_offset].decode(errors="replace"))
        indent = lines[first.lineno - 1][:column]
        if indent.strip() or ";" in lines[end - 1][(last.end_col_offset or 0) :]:
            continue  # in the line of its def
        lines[start - 1 : end] = [indent + left for left in _left(function)]
    return "\n".join(lines)


def _functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions of a module and its classes, in order; none within another one."""
    for node in body:
        if isinstance(node, _FUNCTIONS):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body)
        elif isinstance(node, ast.If):
            yield from _functions([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            handlers = [each for handler in node.handlers for each in handler.body]
            yield from _functions([*node.body, *handlers, *node.orelse, *node.finalbody])


def _start(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _left(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    found: list[str] = []
    for node in _within(function.body):
        match node:
            case ast.Yield() | ast.YieldFrom():
                found.append("yield")
            case ast.Return(value=value) if value is not None:
                is_none = isinstance(value, ast.Constant) and value.value is None
                found += [] if is_none else ["return 0"]
            case ast.Assign(targets=targets) if any(isinstance(target, ast.Attribute) for target in targets):
                found.append(ast.unparse(node))
            case ast.AnnAssign(target=ast.Attribute()):
                found.append(ast.unparse(node))
            case _:
                pass
    return [line for text in dict.fromkeys(found) for line in text.split("\n")] or ["..."]


def _within(nodes: list[ast.stmt]) -> Iterator[ast.AST]:
    pending: list[ast.AST] = list(reversed(nodes))
    while pending:
        node = pending.pop()
        if isinstance(node, _SCOPES):
            continue
        yield node
        pending.extend(reversed(list(ast.iter_child_nodes(node))))
