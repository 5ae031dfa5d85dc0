"""Rewrites a source that is newer than the running Python, by what libcst sees in it; see :mod:`.syntax`."""

from __future__ import annotations

import ast
import textwrap
import warnings
from collections.abc import Sequence

import attrs
import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from beskar_codegen.read.syntax import TypeParameter


@attrs.define
class OlderSource:
    """The source in older syntax.

    Attributes:
        parameters: type parameters, by the line of the statement that has them.
        aliases: line and column (in bytes, from 0) of the names that ``type`` statements bind.
    """

    text: str
    parameters: dict[int, tuple[TypeParameter, ...]] = attrs.Factory(dict)
    aliases: set[tuple[int, int]] = attrs.Factory(set)


def rewritten(text: str) -> OlderSource | None:
    """*text* in older syntax; ``None`` if libcst takes it for no Python either."""
    try:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        positions = wrapper.resolve(PositionProvider)
    except (cst.ParserSyntaxError, RecursionError, ValueError):
        return None
    rewriter = _Rewriter(text, positions)
    wrapper.module.visit(rewriter)
    return OlderSource("\n".join(rewriter.lines), rewriter.parameters, rewriter.aliases)


class _Rewriter(cst.CSTVisitor):
    """Changes *lines* in place; all that stays keeps its position."""

    def __init__(self, text: str, positions: object) -> None:
        super().__init__()
        self.lines = text.split("\n")
        self.parameters: dict[int, tuple[TypeParameter, ...]] = {}
        self.aliases: set[tuple[int, int]] = set()
        self._positions = positions

    def _span(self, node: cst.CSTNode) -> CodeRange:
        span: CodeRange = self._positions[node]  # type: ignore[index]  # a mapping that libcst types by provider
        return span

    def visit_ClassDef(self, node: cst.ClassDef) -> None:  # noqa: N802  # libcst's name for it
        self._blank_parameters(self._span(node.name).start.line, node.type_parameters)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:  # noqa: N802
        self._blank_parameters(self._span(node.name).start.line, node.type_parameters)

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:  # noqa: N802
        """From the innermost function outwards, bodies are cut that this Python does not take."""
        body = original_node.body
        if not isinstance(body, cst.IndentedBlock):
            return
        span = self._span(body)
        first = self._span(body.body[0]).start
        last = span.end.line if span.end.column else span.end.line - 1
        lines = self.lines[first.line - 1 : last]
        if not _is_taken(lines):
            indent = lines[0][: first.column]
            left = indent + ("yield" if _yields(body) else "...")
            self.lines[first.line - 1 : last] = [left, *[""] * (len(lines) - 1)]

    def visit_TypeAlias(self, node: cst.TypeAlias) -> None:  # noqa: N802
        name = self._span(node.name).start
        line = self.lines[name.line - 1]
        between = line[: name.column]
        keyword = between.rstrip()
        self.lines[name.line - 1] = keyword + ";" + between[len(keyword) + 1 :] + line[name.column :]
        self.aliases.add((name.line, len(between.encode())))
        self._blank_parameters(name.line, node.type_parameters)

    def _blank_parameters(self, line: int, parameters: cst.TypeParameters | None) -> None:
        if parameters is None:
            return
        code = cst.Module([]).code_for_node
        self.parameters[line] = tuple(
            TypeParameter(
                each.param.name.value, " ".join(code(each.with_changes(comma=cst.MaybeSentinel.DEFAULT)).split())
            )
            for each in parameters.params
        )
        span = self._span(parameters)
        for number in range(span.start.line, span.end.line + 1):
            text = self.lines[number - 1]
            start = span.start.column if number == span.start.line else 0
            end = span.end.column if number == span.end.line else len(text)
            continued = "\\" if number < span.end.line else ""
            blank = " " * (end - start - len(continued)) + continued
            self.lines[number - 1] = text[:start] + blank + text[end:]


def _is_taken(body: Sequence[str]) -> bool:
    """Whether the running Python takes the lines of a function's *body*."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse("async def f():\n" + textwrap.indent(textwrap.dedent("\n".join(body)), " "))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


class _YieldFinder(cst.CSTVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.found = False

    def visit_Yield(self, node: cst.Yield) -> None:  # noqa: N802  # libcst's name for it
        self.found = True

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:  # noqa: N802
        return False

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:  # noqa: N802
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool:  # noqa: N802
        return False


def _yields(body: cst.IndentedBlock) -> bool:
    finder = _YieldFinder()
    body.visit(finder)
    return finder.found
