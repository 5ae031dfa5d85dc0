"""The file in which a durable broker keeps its state: SQLite, written behind, in batches.

Changes are collected on the event loop and written in a thread, a transaction at a time, within ``FLUSH_INTERVAL``
seconds after they were made as far as the disk keeps up, and all of them at the end. What one turn of the loop has
changed is in one transaction, so a message that goes from one session to another is always with one of the two.

A change is a key and what is to be there, and a later one replaces an earlier one that is not written yet. So what
waits is never more than what there is to keep, and a message that came and went in the meantime never touches the disk.

The journal is write-ahead with ``synchronous=NORMAL``: a killed process loses what it did not write yet, a power cut
can cost the last transactions too, and the file is whole in either case.

A transaction that fails (a full disk) is logged once, and tried again every second with what has come since; the
broker goes on. The first that succeeds is logged as well.

A file is known by SQLite's ``application_id`` and versioned by ``user_version``. A file of an older version is migrated
forward when it is opened, script by script, in one transaction; one of a newer version is refused, since nobody knows
what is in it. A second broker on the same file is refused by SQLite's lock, which is held as long as the file is open.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from beskar_jobs.model.errors import BeskarError

logger = logging.getLogger("beskar_jobs.broker")

FLUSH_INTERVAL: Final = 0.1
"""Seconds from a change until it is written, as far as the disk keeps up."""

_RETRY_INTERVAL: Final = 1.0
_BUSY_TIMEOUT: Final = 1.0  # a broker that is just stopping lets go of the file
_APPLICATION_ID: Final = 0x42534B42

MIGRATIONS: Final = (
    """
    CREATE TABLE retained (
        topic TEXT PRIMARY KEY,
        packet BLOB NOT NULL,
        received REAL NOT NULL
    );
    CREATE TABLE session (
        client_id TEXT PRIMARY KEY,
        owner TEXT,
        expiry_interval INTEGER NOT NULL,
        expires_at REAL
    );
    CREATE TABLE subscription (
        client_id TEXT NOT NULL,
        filter TEXT NOT NULL,
        qos INTEGER NOT NULL,
        no_local INTEGER NOT NULL,
        retain_as_published INTEGER NOT NULL,
        identifier INTEGER,
        PRIMARY KEY (client_id, filter)
    );
    CREATE TABLE message (
        number INTEGER PRIMARY KEY,
        packet BLOB NOT NULL,
        received REAL NOT NULL
    );
    CREATE TABLE delivery (
        number INTEGER PRIMARY KEY,
        client_id TEXT NOT NULL,
        message INTEGER NOT NULL,
        qos INTEGER NOT NULL,
        retain INTEGER NOT NULL,
        identifiers TEXT NOT NULL,
        share TEXT
    );
    """,
)
"""A script for each version. One that was released is never changed; what is new comes in a further one."""

TABLES: Final = {
    "retained": ("topic",),
    "session": ("client_id",),
    "subscription": ("client_id", "filter"),
    "message": ("number",),
    "delivery": ("number",),
}
"""The tables and their keys; the key's columns stand first."""

_NEVER_USED_AGAIN: Final = frozenset({"message", "delivery"})
"""Tables whose keys come once: what is gone before it was written need not be removed."""

Row = tuple[Any, ...]
Key = tuple[str | int, ...]
_Batch = dict[tuple[str, Key], Row | Callable[[], Row] | None]


class DatabaseFault(BeskarError):
    """The file cannot be used; says why, and what to do."""


class BrokerDatabase:
    """The file and its writing thread. Opening it and :meth:`rows` block; the rest belongs to one event loop.

    Args:
        path: made if it is not there.
        migrations: a script for each version.

    Attributes:
        failure: why the last transaction was not written; ``None``: all is well.

    Raises:
        DatabaseFault: it is no database, not of this broker, of a newer one, damaged, in use, or cannot be written.
    """

    def __init__(self, path: Path, migrations: Sequence[str] = MIGRATIONS) -> None:
        self._path = path
        self._migrations = migrations
        self._pending: _Batch = {}
        self._batch: _Batch = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Future[str | None] | None = None
        self.failure: str | None = None
        self._connection = self._open()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="beskar-broker-database")

    def put(self, table: str, key: Key, row: Row | Callable[[], Row]) -> None:
        """Have *row* in *table*, soon; the row starts with *key*. A callable is called in the writing thread."""
        self._pending[table, key] = row
        if self._timer is None:
            self._schedule()

    def remove(self, table: str, key: Key) -> None:
        """Have nothing in *table* under *key*, soon."""
        change = (table, key)
        if table not in _NEVER_USED_AGAIN or self._pending.pop(change, None) is None:
            self._pending[change] = None
            if self._timer is None:
                self._schedule()

    def rows(self, table: str) -> list[Row]:
        """What is stored, in order of the key. To be called before anything is put.

        Raises:
            DatabaseFault: the file is damaged.
        """
        try:
            return self._connection.execute(f"SELECT * FROM {table} ORDER BY {', '.join(TABLES[table])}").fetchall()
        except sqlite3.Error as error:
            raise self._fault(error) from None

    async def close(self) -> None:
        """Write what is left, and close; takes as long as the disk needs.

        Raises:
            DatabaseFault: it could not be written.
        """
        writing = self._writing
        if writing is not None:
            await asyncio.wait({writing})
            self._written(writing)
        if self._timer is not None:
            self._timer.cancel()
        batch, self._pending = self._pending, {}
        loop = asyncio.get_running_loop()
        failure = await loop.run_in_executor(self._thread, self._write, batch) if batch else None
        await loop.run_in_executor(self._thread, self._connection.close)  # moves the journal into the file
        self._thread.shutdown(wait=False)
        if failure is not None:
            raise DatabaseFault(
                f"the last changes of retained messages and sessions could not be written to {self._path}: {failure}"
            )

    def abandon(self) -> None:
        """Close without writing anything more."""
        self._thread.shutdown(wait=False)
        self._connection.close()

    def _open(self) -> sqlite3.Connection:
        connection = None
        try:
            connection = sqlite3.connect(
                self._path, timeout=_BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
            )
            self._prepare(connection)
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
            raise self._fault(error) from None
        except BaseException:
            if connection is not None:
                connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != _APPLICATION_ID and (application or version or tables):
            raise DatabaseFault(f"{self._path} is a database, but not of this broker; name another file")
        newest = len(self._migrations)
        if version > newest:
            raise DatabaseFault(
                f"{self._path} was written by a newer broker (version {version}, this one knows {newest}); "
                "run that one, or name another file"
            )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        try:
            for script in self._migrations[version:]:
                for statement in filter(str.strip, script.split(";")):
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {newest}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise self._damaged(verdict)

    def _fault(self, error: sqlite3.Error) -> DatabaseFault:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return DatabaseFault(f"{self._path} is in use by another process; stop that one, or name another file")
        if code in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR}:
            return self._damaged(str(error))
        return DatabaseFault(
            f"{self._path} cannot be used ({error}); it and its folder must be there to be read and written"
        )

    def _damaged(self, why: str) -> DatabaseFault:
        return DatabaseFault(
            f"{self._path} is no database, or is damaged ({why}); put it aside to start empty, or name another file"
        )

    def _schedule(self) -> None:
        """Write when what belongs together has come; half of the interval is left for the writing itself."""
        if self._writing is None:
            delay = FLUSH_INTERVAL / 2 if self.failure is None else _RETRY_INTERVAL
            self._timer = asyncio.get_running_loop().call_later(delay, self._flush)

    def _flush(self) -> None:
        self._timer = None
        self._batch, self._pending = self._pending, {}
        self._writing = asyncio.get_running_loop().run_in_executor(self._thread, self._write, self._batch)
        self._writing.add_done_callback(self._written)

    def _written(self, writing: asyncio.Future[str | None]) -> None:
        if writing is not self._writing:
            return  # it was looked at before, here or by close()
        self._writing = None
        failure = writing.result()
        if failure is not None:
            self._pending = {**self._batch, **self._pending}  # what has come since counts for more
            if self.failure is None:
                logger.error(
                    "%s cannot be written (%s): a restart now would lose what has changed; tried again every %g s",
                    self._path,
                    failure,
                    _RETRY_INTERVAL,
                )
        elif self.failure is not None:
            logger.warning("%s is written again; nothing is missing", self._path)
        self.failure = failure
        self._batch = {}
        if self._pending:
            self._schedule()

    def _write(self, batch: _Batch) -> str | None:
        """Why the batch could not be written; ``None``: it is. In the writing thread."""
        try:
            self._write_batch(batch)
        except sqlite3.Error as error:
            return str(error)
        return None

    def _write_batch(self, batch: _Batch) -> None:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            for (table, key), row in batch.items():
                try:
                    self._apply(table, key, row)
                except sqlite3.Error:
                    raise
                except Exception:
                    # A fault of ours, but it must not keep all the others from being written.
                    logger.exception("%r of %s cannot be written to %s and is left out", key, table, self._path)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _apply(self, table: str, key: Key, row: Row | Callable[[], Row] | None) -> None:
        if row is None:
            condition = " AND ".join(f"{name} = ?" for name in TABLES[table])
            self._connection.execute(f"DELETE FROM {table} WHERE {condition}", key)
        else:
            values = row() if callable(row) else row
            self._connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(values))})", values)
