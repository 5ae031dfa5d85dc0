"""What a run leaves for the next one, in ``.beskar_cache`` at the project's root. It may be deleted at any time.

A cache file is one line with a digest of the rest, then JSON. It is good only for the same generator, Python and
settings, which are all in its key; whatever else it holds is checked by the digests of the sources that it was made
from. A file that is damaged, of another version, or somebody else's is ignored and written anew, and a cache that
cannot be written costs time and nothing else. There is a ``.gitignore`` inside, so that nobody commits it.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
from pathlib import Path
from typing import Any, Final

import orjson

from beskar_codegen.files import write_atomically

FOLDER: Final = ".beskar_cache"
_FORMAT: Final = "beskar-codegen-cache 1"


class Cache:
    """The cache of one project, for one set of settings.

    Args:
        root: the project's folder; ``None`` for a cache that keeps nothing.
        key: all that has a say in the results besides the sources: settings, version of the generator.
        name: of the file; what most runs do not need is in another file than what they do.
    """

    def __init__(self, root: Path | None, key: str, name: str = "outcome") -> None:
        self._file = None if root is None else root / FOLDER / f"codegen-{name}.json"
        self._key = digest("\0".join((_FORMAT, sys.version, key)).encode())

    def load(self) -> dict[str, Any]:
        """What the last run has kept; empty if there is nothing that can be used."""
        if self._file is None:
            return {}
        try:
            head, _, body = self._file.read_bytes().partition(b"\n")
        except OSError:
            return {}
        if head.decode("ascii", "replace") != f"{_FORMAT} {digest(body)}":
            return {}
        try:
            document: Any = orjson.loads(body)
        except (ValueError, RecursionError):
            return {}
        if not isinstance(document, dict) or document.get("key") != self._key:
            return {}
        kept = document.get("kept")
        return kept if isinstance(kept, dict) else {}

    def store(self, kept: dict[str, Any]) -> None:
        """Keep *kept*, plain JSON data, for the next run."""
        if self._file is None:
            return
        try:
            body = orjson.dumps({"key": self._key, "kept": kept})
        except orjson.JSONEncodeError:
            return  # half of a surrogate pair, in a file name or a literal: such a project is read each time
        with contextlib.suppress(OSError):
            ignore = self._file.parent / ".gitignore"
            if not ignore.exists():
                write_atomically(ignore, b"*\n")
            write_atomically(self._file, f"{_FORMAT} {digest(body)}\n".encode() + body)


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
