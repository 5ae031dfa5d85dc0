"""Rewrites a source that is newer than the running Python, by what libcst sees in it; see :mod:`.syntax`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from beskar_codegen.read.syntax import TypeParameter, parse_expression


@attrs.define
class OlderSource:
    """The source in older syntax; all that stays has its old position.

    Attributes:
        parameters: type parameters of all classes and functions, in the order of the source.
        aliases: type parameters of ``type`` statements, by line and column (in bytes, from 0) of the name.
    """

    text: str
    parameters: list[tuple[TypeParameter, ...]] = attrs.Factory(list)
    aliases: dict[tuple[int, int], tuple[TypeParameter, ...]] = attrs.Factory(dict)


def rewritten(text: str) -> OlderSource | None:
    """*text* in older syntax; ``None`` if libcst takes it for no Python either."""
    try:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        rewriter = _Rewriter(text, wrapper.resolve(PositionProvider))
        wrapper.module.visit(rewriter)
    except (cst.ParserSyntaxError, RecursionError, ValueError):
        return None
    rewriter.found.text = b"\n".join(rewriter.lines).decode()
    return rewriter.found


class _Rewriter(cst.CSTVisitor):
    """Changes *lines* in place, without changing the length of any: ``ast`` counts bytes."""

    def __init__(self, text: str, positions: Mapping[Any, Any]) -> None:
        super().__init__()
        self._text = text.split("\n")
        self.lines = [line.encode() for line in self._text]
        self.found = OlderSource(text)
        self._positions = positions

    def visit_ClassDef(self, node: cst.ClassDef) -> None:  # noqa: N802  # libcst's name for it
        self.found.parameters.append(self._parameters(node.type_parameters))

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:  # noqa: N802
        self.found.parameters.append(self._parameters(node.type_parameters))

    def visit_TypeAlias(self, node: cst.TypeAlias) -> None:  # noqa: N802
        (line, column), _ = self._span(node.name)
        between = self.lines[line - 1][:column]
        keyword = between.rstrip()
        self._put(line, len(keyword), len(keyword) + 1, b";")
        self.found.aliases[line, column] = self._parameters(node.type_parameters)

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:  # noqa: N802
        code = cst.Module([]).code_for_node(node)
        try:
            parse_expression(code)
        except SyntaxError:
            self._replace(node, b'f"{0}"')
        return False

    def visit_TemplatedString(self, node: cst.TemplatedString) -> bool:  # noqa: N802
        self._replace(node, b'f""')
        return False

    def visit_ExceptHandler(self, node: cst.ExceptHandler) -> None:  # noqa: N802
        self._caught(node.type)

    def visit_ExceptStarHandler(self, node: cst.ExceptStarHandler) -> None:  # noqa: N802
        self._caught(node.type)

    def _caught(self, node: cst.BaseExpression | None) -> None:
        if isinstance(node, cst.Tuple) and not node.lpar:
            self._replace(node, b"()")

    def _parameters(self, node: cst.TypeParameters | None) -> tuple[TypeParameter, ...]:
        if node is None:
            return ()
        self._replace(node, b"")
        code = cst.Module([]).code_for_node
        bare = [each.with_changes(comma=cst.MaybeSentinel.DEFAULT) for each in node.params]
        return tuple(TypeParameter(each.param.name.value, " ".join(code(each).split())) for each in bare)

    def _span(self, node: cst.CSTNode) -> tuple[tuple[int, int], tuple[int, int]]:
        """Where *node* begins and ends: lines from 1, columns from 0 in bytes."""
        span: CodeRange = self._positions[node]
        start, end = span.start, span.end
        return (start.line, self._bytes(start.line, start.column)), (end.line, self._bytes(end.line, end.column))

    def _bytes(self, line: int, column: int) -> int:
        return len(self._text[line - 1][:column].encode())

    def _replace(self, node: cst.CSTNode, short: bytes) -> None:
        """Put *short* in the place of *node*, where there is room for it, and nothing where the rest of it is."""
        (first, column), (last, last_column) = self._span(node)
        for line in range(first, last + 1):
            tail = b"" if line == last else b"\\"
            end = last_column if line == last else len(self.lines[line - 1])
            room = end - column - len(tail)
            if len(short) <= room:
                self._put(line, column, end, short.ljust(room) + tail)
                short = b""
            else:
                self._put(line, column, end, b" " * room + tail)
            column = 0

    def _put(self, line: int, start: int, end: int, text: bytes) -> None:
        self.lines[line - 1] = self.lines[line - 1][:start] + text + self.lines[line - 1][end:]
