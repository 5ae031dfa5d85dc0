"""A parsed piece of a module that still knows where in the file it stands. Positions are worked out when asked for."""

from __future__ import annotations

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from beskar_codegen.model import Place
from beskar_codegen.read.outline import Chunk, Piece
from beskar_codegen.read.positions import Span, statement_positions


class Tree:
    """The libcst module of a *piece* of the file *path*."""

    def __init__(self, path: str, piece: Piece, module: cst.Module) -> None:
        self.path = path
        self.module = module
        self._piece = piece
        self._quick: dict[cst.CSTNode, Span] | None = None
        self._all: dict[cst.CSTNode, Span] | None = None

    def place(self, node: cst.CSTNode) -> Place:
        """Where *node* of this tree stands in the file."""
        if self._quick is None:
            self._quick = statement_positions(self.module, self._piece.text) or {}
        span = self._quick.get(node)
        if span is None:
            if self._all is None:
                self._all = _all_positions(self.module)
            span = self._all[node]
        line, column, end_line, end_column = span
        lines = self._piece.lines
        return Place(self.path, lines[line - 1], column + 1, lines[end_line - 1], end_column + 1)

    def code(self, node: cst.CSTNode) -> str:
        """*node* as written."""
        return self.module.code_for_node(node)


def _all_positions(module: cst.Module) -> dict[cst.CSTNode, Span]:
    """Positions of all nodes, at the cost of libcst's writing all of them out."""
    ranges = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    return {node: (span.start.line, span.start.column, span.end.line, span.end.column) for node, span in ranges.items()}


def parse_chunk(path: str, chunk: Chunk) -> Tree | None:
    """The tree of *chunk*; ``None`` where libcst refuses what Python takes."""
    return parse_piece(path, chunk.short) or parse_piece(path, Piece.of(chunk.text, chunk.line))


def parse_piece(path: str, piece: Piece) -> Tree | None:
    """The tree of *piece*; ``None`` as for :func:`parse_chunk`."""
    try:
        return Tree(path, piece, cst.parse_module(piece.text))
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
