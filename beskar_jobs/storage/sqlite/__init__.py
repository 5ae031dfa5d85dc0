"""The storage in one SQLite file, on the standard library alone."""

from beskar_jobs.storage.sqlite.storage import SqliteStorage

__all__ = ["SqliteStorage"]
