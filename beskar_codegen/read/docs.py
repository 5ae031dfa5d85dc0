"""Docstrings of classes, and what they say about single fields.

A field is described by the string below it, by comments above or behind it that begin with ``#:``, or in the class's
docstring, in the sections that Google and NumPy style have for it, or as ``:param name:``.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Final

_SECTION: Final = re.compile(r"(?:Attributes|Args|Arguments|Parameters|Fields):?\s*")
_GOOGLE: Final = re.compile(r"(\w+(?:\s*,\s*\w+)*)\s*(?:\([^)]*\))?\s*:\s+(.*)")
_PARAM: Final = re.compile(r":(?:param|ivar|attr)(?:\s+[^:]*)?\s+(\w+):\s*(.*)")


def docstring(node: ast.ClassDef) -> str:
    """The docstring of *node*, without its indentation; empty if there is none."""
    return ast.get_docstring(node) or ""


def field_docs(node: ast.ClassDef, lines: Sequence[str]) -> dict[str, str]:
    """What is said about each field; *lines* are those of the module."""
    found = dict(_from_docstring(docstring(node)))
    found.update(_beside(node, lines))
    return found


def _beside(node: ast.ClassDef, lines: Sequence[str]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    last: str | None = None
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)):
                last = name
                text = " ".join(each[2:].strip() for each in _comments(statement, lines) if each.startswith("#:"))
                if text:
                    found[last] = text
            case ast.Expr(value=ast.Constant(value=str(value))) if last is not None:
                found[last] = inspect.cleandoc(value)
                last = None
            case _:
                last = None
    return found


def _comments(statement: ast.stmt, lines: Sequence[str]) -> list[str]:
    """The comments in the lines above *statement*, and the one behind it."""
    above: list[str] = []
    for line in reversed(lines[: statement.lineno - 1]):
        text = line.strip()
        if text and not text.startswith("#"):
            break
        above.append(text)
    last = lines[(statement.end_lineno or statement.lineno) - 1].encode()
    behind = last[statement.end_col_offset :].decode("utf-8", "replace").strip()
    return [*reversed(above), behind]


def _from_docstring(doc: str) -> Mapping[str, str]:
    found: dict[str, str] = {}
    inside = False
    indent = 0
    names: list[str] = []
    for line in doc.splitlines():
        param = _PARAM.fullmatch(line.strip())
        if param is not None:
            found[param.group(1)] = param.group(2).strip()
            continue
        if _SECTION.fullmatch(line):
            inside, indent, names = True, 0, []
            continue
        if not inside or not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        if depth == 0:
            inside = line.startswith("---")
            continue
        indent = indent or depth
        entry = _GOOGLE.fullmatch(line.strip()) if depth == indent else None
        if entry is not None:
            names = [name.strip() for name in entry.group(1).split(",")]
            found.update(dict.fromkeys(names, entry.group(2).strip()))
        elif depth > indent:
            found.update({name: f"{found[name]} {line.strip()}" for name in names})
    return found
