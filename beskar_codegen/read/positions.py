"""Where statements, their names and their decorators' arguments stand, without libcst's own positions.

libcst works positions out by writing the whole tree out again in Python, which costs more than parsing it. The few that
diagnostics need are in the tree of Python's own parser, which C makes of the same text in no time. The two trees agree
statement by statement, so that both are walked side by side. Where Python's parser refuses the text, because its syntax
is newer than the running Python's, libcst's positions are used.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Final

import libcst as cst

Span = tuple[int, int, int, int]
"""First line, column, last line, column; lines from 1, columns from 0 in characters, the end exclusive."""

_KEYWORDS: Final = re.compile(r"(?:class|async\s+def|def)\s+(\w+)")


def statement_positions(module: cst.Module, text: str) -> dict[cst.CSTNode, Span] | None:
    """Positions in *text* of what *module*, parsed from it, declares; ``None`` if Python does not take *text*."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    locator = _Locator(text.split("\n"))
    try:
        locator.walk(module.body, tree.body)
    except ValueError:  # the trees differ
        return None
    return locator.found


class _Locator:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self.found: dict[cst.CSTNode, Span] = {}

    def walk(self, body: Sequence[cst.CSTNode], other: Sequence[ast.AST]) -> None:
        for node, twin in zip(_flat(body), other, strict=True):
            self._statement(node, twin)

    def _statement(self, node: cst.CSTNode, twin: ast.AST) -> None:
        if isinstance(node, cst.ClassDef | cst.FunctionDef):
            if not isinstance(twin, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                raise ValueError(node)
            self._name(node.name, twin)
            for decorator, expression in zip(node.decorators, twin.decorator_list, strict=True):
                self._decorator(decorator, expression)
            self.walk(node.body.body, twin.body)
            return
        self._note(node, twin)
        if isinstance(node, cst.AnnAssign) and isinstance(twin, ast.AnnAssign):
            self._note(node.target, twin.target)
        elif isinstance(node, cst.Assign) and isinstance(twin, ast.Assign):
            self._note(node.value, twin.value)
        elif isinstance(node, cst.BaseCompoundStatement):
            for block, statements in zip(blocks(node), _blocks(twin), strict=True):
                self.walk(block, statements)

    def _decorator(self, decorator: cst.Decorator, expression: ast.expr) -> None:
        self._note(decorator.decorator, expression)
        if isinstance(decorator.decorator, cst.Call) and isinstance(expression, ast.Call):
            values = [*expression.args, *(each.value for each in expression.keywords)]
            values.sort(key=lambda each: (each.lineno, each.col_offset))
            for argument, value in zip(decorator.decorator.args, values, strict=True):
                self._note(argument.value, value.value if isinstance(value, ast.Starred) else value)

    def _name(self, name: cst.Name, twin: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        column = self._column(twin.lineno, twin.col_offset)
        match = _KEYWORDS.match(self._lines[twin.lineno - 1], column)
        start, end = match.span(1) if match is not None else (column, column + len(name.value))
        self.found[name] = (twin.lineno, start, twin.lineno, end)

    def _note(self, node: cst.CSTNode, twin: ast.AST) -> None:
        if isinstance(twin, ast.stmt | ast.expr):
            last = twin.end_lineno or twin.lineno
            self.found[node] = (
                twin.lineno,
                self._column(twin.lineno, twin.col_offset),
                last,
                self._column(last, twin.end_col_offset or twin.col_offset),
            )

    def _column(self, line: int, offset: int) -> int:
        """Characters before the byte *offset* of *line*."""
        text = self._lines[line - 1]
        return offset if text.isascii() else len(text.encode()[:offset].decode("utf-8", "replace"))


def _flat(body: Sequence[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """The statements of a block, those in one line one by one."""
    for node in body:
        if isinstance(node, cst.SimpleStatementLine):
            yield from node.body
        else:
            yield node


def blocks(node: cst.CSTNode) -> Iterator[Sequence[cst.CSTNode]]:
    """The blocks of a compound statement; an ``elif`` is one of one statement."""
    if isinstance(node, cst.If | cst.For | cst.While | cst.With | cst.Try | cst.TryStar):
        yield node.body.body
    if isinstance(node, cst.Try | cst.TryStar):
        for handler in node.handlers:
            yield handler.body.body
    if isinstance(node, cst.If | cst.For | cst.While | cst.Try | cst.TryStar) and node.orelse is not None:
        yield [node.orelse] if isinstance(node.orelse, cst.If) else node.orelse.body.body
    if isinstance(node, cst.Try | cst.TryStar) and node.finalbody is not None:
        yield node.finalbody.body.body
    if isinstance(node, cst.Match):
        for case in node.cases:
            yield case.body.body


def _blocks(node: ast.AST) -> Iterator[Sequence[ast.AST]]:
    """The same of Python's tree."""
    if isinstance(node, ast.If | ast.For | ast.AsyncFor | ast.While | ast.With | ast.AsyncWith | ast.Try | ast.TryStar):
        yield node.body
    if isinstance(node, ast.Try | ast.TryStar):
        for handler in node.handlers:
            yield handler.body
    if isinstance(node, ast.If | ast.For | ast.AsyncFor | ast.While | ast.Try | ast.TryStar) and node.orelse:
        yield node.orelse
    if isinstance(node, ast.Try | ast.TryStar) and node.finalbody:
        yield node.finalbody
    if isinstance(node, ast.Match):
        for case in node.cases:
            yield case.body
