"""Storages: siblings behind one port, chosen by a URL.

Each driver is imported only when its URL is given, so that this package costs nothing that is not used.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.ports.storage import JobStorage

__all__ = ["create_storage"]

_FORMS: Final = "memory://, sqlite:///relative.db or sqlite:////absolute.db"
_TO_COME: Final = {"postgresql": "PostgreSQL", "postgres": "PostgreSQL", "redis": "Redis", "rediss": "Redis"}


def create_storage(url: str) -> JobStorage:
    """The storage that *url* names, not opened yet.

    Args:
        url: ``memory://``; ``sqlite:///jobs.db`` (relative to the working directory); ``sqlite:////var/lib/jobs.db``
            (absolute). Characters that a URL cannot hold are written as ``%XX``.

    Raises:
        InvalidValue: the URL names no storage of this version; the message says which there are, and never shows the
            user or password of the URL.
    """
    scheme, separator, _ = url.partition("://")
    if not separator:
        raise InvalidValue(f"a storage URL starts with a scheme, as in {_FORMS}; this one has none")
    if scheme in _TO_COME:
        raise InvalidValue(f"this version has no {_TO_COME[scheme]} storage yet; use {_FORMS}")
    if scheme == "memory":
        return _memory(url)
    if scheme == "sqlite":
        return _sqlite(url)
    raise InvalidValue(f"no storage has the URL scheme {scheme!r}; use {_FORMS}")


def _memory(url: str) -> JobStorage:
    if url != "memory://":
        raise InvalidValue(f"the URL of the memory storage is memory:// and nothing after it, not {url!r}")
    from beskar_jobs.storage.memory import MemoryStorage  # noqa: PLC0415 - drivers load when they are named

    return MemoryStorage()


def _sqlite(url: str) -> JobStorage:
    parts = urlsplit(url)
    if parts.netloc:
        raise InvalidValue(
            "a sqlite URL has no host: three slashes before a relative path (sqlite:///jobs.db), "
            "four before an absolute one (sqlite:////var/lib/jobs.db)"
        )
    if parts.query or parts.fragment:
        raise InvalidValue("a sqlite URL takes no '?' or '#' part; write %3F or %23 if the file name has one")
    path = unquote(parts.path.removeprefix("/"))
    if path in ("", ":memory:"):
        raise InvalidValue(
            "sqlite needs a file, as in sqlite:///jobs.db; for jobs that live in this process only use memory://"
        )
    from beskar_jobs.storage.sqlite import SqliteStorage  # noqa: PLC0415 - drivers load when they are named

    return SqliteStorage(Path(path))
