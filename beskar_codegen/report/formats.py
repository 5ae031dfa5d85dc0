"""The four formats. Each takes all diagnostics at once and gives back the whole text, so that it can be tested as one.

``text``    ``path:line:column: error CODE: message`` (this line is public), the source line with a caret, and a hint.
``github``  one workflow command per diagnostic, escaped as GitHub Actions asks for: ``%``, CR and LF everywhere, ``:``
            and ``,`` in properties too.
``json``    a list of objects with ``code``, ``path``, ``line``, ``column``, ``message``, ``hint``; lines and columns
            from 1.
``sarif``   see :mod:`beskar_codegen.report.sarif`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal

from beskar_codegen.model import Diagnostic

ReportFormat = Literal["text", "github", "json", "sarif"]
FORMATS: Final[tuple[ReportFormat, ...]] = ("text", "github", "json", "sarif")

_BOLD: Final = "\x1b[1m"
_RED: Final = "\x1b[1;31m"
_CYAN: Final = "\x1b[36m"
_DIM: Final = "\x1b[2m"
_END: Final = "\x1b[0m"
_MAX_EXCERPT: Final = 160


def sorted_once(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """In order of place and code, each once."""
    return tuple(sorted(set(diagnostics)))


def report(
    diagnostics: Iterable[Diagnostic], form: ReportFormat, *, root: Path, version: str, is_coloured: bool = False
) -> str:
    """All *diagnostics* in the format *form*, ending with a line end; empty for none in the formats of lines.

    Args:
        root: where the paths start, for excerpts of sources.
        version: of the generator, for SARIF.
        is_coloured: text with ANSI colours.
    """
    ordered = sorted_once(diagnostics)
    match form:
        case "text":
            return _text(ordered, root, is_coloured=is_coloured)
        case "github":
            return "".join(map(_annotation, ordered))
        case "json":
            return json.dumps([_plain(each) for each in ordered], indent=2, ensure_ascii=False) + "\n"
        case "sarif":
            from beskar_codegen.report.sarif import sarif  # noqa: PLC0415  # it needs the whole rule table

            return json.dumps(sarif(ordered, version=version), indent=2, ensure_ascii=False) + "\n"


def _plain(diagnostic: Diagnostic) -> dict[str, str | int]:
    place = diagnostic.place
    return {
        "code": diagnostic.code,
        "path": place.path,
        "line": place.line,
        "column": place.column,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
    }


def _text(diagnostics: Sequence[Diagnostic], root: Path, *, is_coloured: bool) -> str:
    def paint(colour: str, text: str) -> str:
        return f"{colour}{text}{_END}" if is_coloured else text

    sources = _Sources(root)
    lines = []
    for each in diagnostics:
        place = each.place
        where = paint(_BOLD, f"{place.path}:{place.line}:{place.column}:")
        lines.append(f"{where} {paint(_RED, f'error {each.code}')}: {_one_line(each.message)}")
        excerpt = sources.excerpt(each)
        if excerpt is not None:
            margin = " " * len(str(place.line))
            lines.append(f"  {paint(_DIM, f'{place.line} |')} {excerpt[0]}")
            lines.append(f"  {paint(_DIM, f'{margin} |')} {paint(_RED, excerpt[1])}")
        lines.append(f"  {paint(_CYAN, 'hint:')} {_one_line(each.hint)}")
    return "".join(f"{line}\n" for line in lines)


class _Sources:
    """Lines of source files, each file read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lines: dict[str, list[str]] = {}

    def excerpt(self, diagnostic: Diagnostic) -> tuple[str, str] | None:
        """The line of *diagnostic* and the line of carets below it; ``None`` if there is nothing to see."""
        place = diagnostic.place
        if (place.line, place.column, place.end_line, place.end_column) == (1, 1, 1, 1):
            return None  # the file as a whole
        lines = self._of(place.path)
        if not 1 <= place.line <= len(lines):
            return None
        line = lines[place.line - 1].rstrip()
        if not line or place.column > len(line) + 1 or (not line.isprintable() and "\t" not in line):
            return None
        start = place.column - 1
        end = place.end_column - 1 if place.end_line == place.line else len(line)
        end = max(min(end, len(line), _MAX_EXCERPT), start + 1)
        if start >= _MAX_EXCERPT:
            return None
        # Tabs stay tabs below tabs, so that the caret stands where the reader's terminal puts the text.
        before = "".join("\t" if each == "\t" else " " for each in line[:start])
        return line[:_MAX_EXCERPT], before + "^" * (end - start)

    def _of(self, path: str) -> list[str]:
        if path not in self._lines:
            try:
                text = (self._root / path).read_bytes().decode("utf-8", "replace")
            except (OSError, ValueError):
                text = ""
            self._lines[path] = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return self._lines[path]


def _one_line(text: str) -> str:
    return " ".join(text.split())


_IN_MESSAGE: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def _annotation(diagnostic: Diagnostic) -> str:
    place = diagnostic.place
    properties: list[tuple[str, object]] = [("file", place.path), ("line", place.line), ("col", place.column)]
    if place.end_line > place.line:
        properties.append(("endLine", place.end_line))
    elif place.end_column > place.column:
        properties.append(("endColumn", place.end_column))
    properties.append(("title", diagnostic.code))
    head = ",".join(f"{key}={str(value).translate(_IN_PROPERTY)}" for key, value in properties)
    message = f"{diagnostic.message}; {diagnostic.hint}".translate(_IN_MESSAGE)
    return f"::error {head}::{message}\n"
