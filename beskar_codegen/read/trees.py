"""A parsed piece of a module that still knows where in the file it stands. Positions are worked out when asked for."""

from __future__ import annotations

from typing import cast

import libcst as cst
from libcst.metadata import CodeRange, PositionProvider

from beskar_codegen.model import Place
from beskar_codegen.read.outline import Chunk


class Tree:
    """A libcst module of a piece that begins at *line* of the file *path*."""

    def __init__(self, path: str, line: int, module: cst.Module) -> None:
        self.path = path
        self.module = module
        self._shift = line - 1
        self._positions: dict[cst.CSTNode, CodeRange] | None = None

    def place(self, node: cst.CSTNode) -> Place:
        """Where *node* of this tree stands in the file."""
        if self._positions is None:
            self._positions = _positions(self.module)
        span = self._positions[node]
        shift = self._shift
        return Place(
            self.path,
            span.start.line + shift,
            span.start.column + 1,
            span.end.line + shift,
            span.end.column + 1,
        )

    def code(self, node: cst.CSTNode) -> str:
        """*node* as written."""
        return self.module.code_for_node(node)


def _positions(module: cst.Module) -> dict[cst.CSTNode, CodeRange]:
    """The ranges of all nodes. MetadataWrapper would walk the tree once more, for visitors that nobody has."""
    provider = PositionProvider()
    provider._gen_impl(module)
    return cast("dict[cst.CSTNode, CodeRange]", provider._computed)


def parse_chunk(path: str, chunk: Chunk) -> Tree | None:
    """The tree of *chunk*; ``None`` where libcst refuses what Python takes."""
    for text in (chunk.short, chunk.text):
        try:
            return Tree(path, chunk.line, cst.parse_module(text))
        except (cst.ParserSyntaxError, RecursionError, ValueError):
            continue
    return None


def parse_skeleton(path: str, text: str) -> Tree | None:
    """The tree of a module's skeleton; ``None`` as for :func:`parse_chunk`."""
    try:
        return Tree(path, 1, cst.parse_module(text))
    except (cst.ParserSyntaxError, RecursionError, ValueError):
        return None


def dotted_name(node: cst.BaseExpression) -> str | None:
    """``a.b.c`` of a name or attribute; ``None`` of anything else."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return None
    return ".".join([node.value, *reversed(parts)])
