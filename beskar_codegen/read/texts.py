"""A source file's bytes as text: its digest, its coding line, its line ends. Nothing here raises for what is in a file.

Authority for the coding line is PEP 263, as :func:`tokenize.detect_encoding` applies it. Lines count as Python counts
them: CR, LF and CRLF each end one.
"""

from __future__ import annotations

import hashlib
import io
import tokenize
from pathlib import Path

import attrs

from beskar_codegen.breaches import breach
from beskar_codegen.model import Diagnostic, Place
from beskar_jobs.handlers import rules


@attrs.frozen
class SourceText:
    """One file. *problem* says why *text* is empty although the file may not be."""

    path: str
    digest: str
    text: str
    problem: Diagnostic | None = None


def read_bytes(file: Path, path: str) -> bytes | Diagnostic:
    """What is in *file*, or the diagnostic that says why nobody knows."""
    try:
        return file.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return breach(rules.JOBGEN019, Place(path), path=path, problem=f"cannot be opened: {reason}")


def decoded(path: str, data: bytes) -> SourceText:
    """*data* as text, with LF as the only line end."""
    digest = hashlib.sha256(data).hexdigest()

    def failed(line: int, problem: str) -> SourceText:
        return SourceText(path, digest, "", breach(rules.JOBGEN019, Place(path, line), path=path, problem=problem))

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except (SyntaxError, UnicodeDecodeError) as error:
        return failed(1, f"cannot be decoded: {str(error).splitlines()[0]}")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return failed(line, f"cannot be decoded as {encoding}: {error.reason}")
    except (LookupError, ValueError) as error:
        return failed(1, f"cannot be decoded as {encoding}: {error}")
    if "\0" in text:
        return failed(text.count("\n", 0, text.index("\0")) + 1, "contains a NUL character")
    return SourceText(path, digest, text.replace("\r\n", "\n").replace("\r", "\n"))
