"""Docstrings of classes, and what they say about single fields.

A field is described by the string below it, by comments above or behind it that begin with ``#:``, or in the class's
docstring, in the sections that Google and NumPy style have for it, or as ``:param name:``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Final

import libcst as cst

_SECTION: Final = re.compile(r"(?:Attributes|Args|Arguments|Parameters|Fields):?\s*")
_GOOGLE: Final = re.compile(r"(\w+(?:\s*,\s*\w+)*)\s*(?:\([^)]*\))?\s*:\s+(.*)")
_PARAM: Final = re.compile(r":(?:param|ivar|attr)(?:\s+[^:]*)?\s+(\w+):\s*(.*)")


def docstring(node: cst.ClassDef) -> str:
    """The docstring of *node*, without its indentation; empty if there is none."""
    text = node.get_docstring(clean=False)
    return inspect.cleandoc(text) if isinstance(text, str) else ""


def field_docs(node: cst.ClassDef) -> dict[str, str]:
    """What is said about each field."""
    found = dict(_from_docstring(docstring(node)))
    found.update(_beside(node))
    return found


def _beside(node: cst.ClassDef) -> Mapping[str, str]:
    found: dict[str, str] = {}
    last: str | None = None
    for statement in node.body.body:
        if not isinstance(statement, cst.SimpleStatementLine) or not statement.body:
            last = None
            continue
        small = statement.body[0]
        if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
            last = small.target.value
            comments = [line.comment.value for line in statement.leading_lines if line.comment is not None]
            if statement.trailing_whitespace.comment is not None:
                comments.append(statement.trailing_whitespace.comment.value)
            text = " ".join(each[2:].strip() for each in comments if each.startswith("#:"))
            if text:
                found[last] = text
        elif isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString) and last is not None:
            value = small.value.evaluated_value
            if isinstance(value, str):
                found[last] = inspect.cleandoc(value)
            last = None
        else:
            last = None
    return found


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
