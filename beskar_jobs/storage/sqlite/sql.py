"""Reads the SQL files of this package: named queries, and the steps of the schema.

The texts are package data, so a broken file is a fault of the build: it raises ``ValueError`` at import, and a test
prepares every query against the schema.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import attrs

_HEADING: Final = re.compile(r"^-- (name|fragment): (\w+)\n", re.MULTILINE)
_STEP_NAME: Final = re.compile(r"(\d{4})_(\w+)\.sql")
_INCLUDE: Final = re.compile(r"\{(\w+)\}")
_ROWS: Final = "rows"


@attrs.frozen
class SchemaStep:
    """One forward step of the schema: file ``schema/NNNN_name.sql``."""

    version: int
    name: str
    statements: tuple[str, ...]


def load_queries(text: str) -> dict[str, str]:
    """The queries in *text* by name, without comments and with their fragments put in.

    Raises:
        ValueError: a name comes twice, or a fragment is unknown.
    """
    pieces = _HEADING.split(text)
    fragments: dict[str, str] = {}
    queries: dict[str, str] = {}
    for kind, name, body in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        if name in fragments or name in queries:
            raise ValueError(f"the SQL name {name!r} comes twice")
        (fragments if kind == "fragment" else queries)[name] = _without_comments(body)

    def include(match: re.Match[str]) -> str:
        name = match.group(1)
        if name == _ROWS:
            return match.group()
        if name not in fragments:
            raise ValueError(f"the SQL fragment {name!r} is unknown")
        return fragments[name]

    return {name: _INCLUDE.sub(include, query) for name, query in queries.items()}


def load_steps(folder: Traversable) -> tuple[SchemaStep, ...]:
    """The steps in *folder*, in order.

    Raises:
        ValueError: a file is not named ``NNNN_name.sql``, a number is missing, or a statement has no end.
    """
    steps = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        named = _STEP_NAME.fullmatch(entry.name)
        if named is None:
            raise ValueError(f"the schema file {entry.name!r} is not named NNNN_name.sql")
        steps.append(SchemaStep(int(named[1]), named[2], tuple(_statements(entry.read_text(encoding="utf-8")))))
    if [step.version for step in steps] != list(range(1, len(steps) + 1)):
        raise ValueError(f"the schema steps {[step.version for step in steps]} do not count from 1 without a gap")
    return tuple(steps)


def with_rows(query: str, width: int, count: int) -> str:
    """*query* for *count* rows of *width* parameters."""
    row = "(" + ", ".join("?" * width) + ")"
    return query.replace("{rows}", ", ".join([row] * count))


def _without_comments(text: str) -> str:
    lines = (line.partition("--")[0].rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _statements(text: str) -> Iterator[str]:
    statement = ""
    for line in _without_comments(text).splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        raise ValueError(f"the SQL statement {statement.strip()!r} has no end")


_PACKAGE: Final = files("beskar_jobs.storage.sqlite")

QUERIES: Final = load_queries(_PACKAGE.joinpath("queries.sql").read_text(encoding="utf-8"))
STEPS: Final = load_steps(_PACKAGE.joinpath("schema"))
