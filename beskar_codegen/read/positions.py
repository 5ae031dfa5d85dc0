"""Where nodes stand in their file, and how they are written there.

``ast`` counts columns from 0 in bytes of UTF-8; a :class:`~beskar_codegen.model.Place` counts from 1 in characters.
"""

from __future__ import annotations

import ast
import re
from typing import Final

from beskar_codegen.model import Place
from beskar_codegen.read.syntax import Definition

_KEYWORDS: Final = re.compile(r"(?:class|async\s+def|def)\s+(\w+)")


class Positions:
    """The file *path*, whose tree was made from *text*."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines = text.split("\n")
        self._is_ascii = text.isascii()

    def place(self, node: ast.stmt | ast.expr) -> Place:
        """Where *node* stands."""
        last = node.end_lineno or node.lineno
        return Place(
            self.path,
            node.lineno,
            self.column(node.lineno, node.col_offset) + 1,
            last,
            self.column(last, node.end_col_offset or 0) + 1,
        )

    def name_place(self, node: Definition) -> Place:
        """Where the name of a class or function stands."""
        line = node.lineno
        column = self.column(line, node.col_offset)
        match = _KEYWORDS.match(self.lines[line - 1], column)
        start, end = match.span(1) if match is not None else (column, column + len(node.name))
        return Place(self.path, line, start + 1, line, end + 1)

    def column(self, line: int, offset: int) -> int:
        """Characters before the byte *offset* of *line*."""
        if self._is_ascii:
            return offset
        return len(self.lines[line - 1].encode()[:offset].decode("utf-8", "replace"))

    def code(self, node: ast.stmt | ast.expr | ast.arg) -> str:
        """*node* as written, without parentheses around it."""
        first, last = node.lineno, node.end_lineno or node.lineno
        start = self.column(first, node.col_offset)
        end = self.column(last, node.end_col_offset or 0)
        if first == last:
            return self.lines[first - 1][start:end]
        middle = self.lines[first : last - 1]
        return "\n".join([self.lines[first - 1][start:], *middle, self.lines[last - 1][:end]])

    def one_line(self, node: ast.expr) -> str:
        """*node* as written; in one line, if need be written anew."""
        text = self.code(node)
        return ast.unparse(node) if "\n" in text else text
