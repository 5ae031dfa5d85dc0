"""One SQLite file, as the threads of the storage use it: connect, bring the schema up, commit, read. All of it blocks.

The file is in write-ahead mode, so that readers never hold up the writer. With ``synchronous=NORMAL`` a commit survives
the death of every process; the last ones may be undone by a power failure, which leaves the file whole. ``FULL`` has
each commit on the disk before it returns.

Every write takes the write lock at its start (``BEGIN IMMEDIATE``): a transaction that starts by reading and then wants
to write is refused at once when another process has written meanwhile, however long it would be ready to wait. What is
still refused as busy (the switch to write-ahead mode, recovery after a crash) is tried again until the bound is over.

A commit writes many rows with each statement. The interpreter's lock is given up and taken again at each step of a
statement, and while the event loop is busy taking it can last 5 ms: row by row, 256 jobs took a quarter of a second.
It is optimistic: it expects every insert to be new and every change to be on the expected version, and counts the rows
written. Where the count says otherwise it rolls back and starts again by reading what is there.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec

from beskar_jobs.model.errors import InvalidValue, StorageError
from beskar_jobs.model.job import Job, JobId
from beskar_jobs.ports.storage import Change, Commit, CommitOutcome
from beskar_jobs.storage.sqlite import rows
from beskar_jobs.storage.sqlite.recurring import write_change
from beskar_jobs.storage.sqlite.sql import QUERIES, STEPS, SchemaStep, with_rows

Synchronous = Literal["NORMAL", "FULL"]
T = TypeVar("T")

_OLDEST_SQLITE: Final = (3, 35, 0)
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_BLOCKS: Final = (64, 16, 4, 1)
"""How many rows one statement writes; few sizes, so that the prepared statements stay in the connection's cache."""

_LONGEST_LOG: Final = 4_000
"""Pages in the log at which a commit folds it back into the file, and waits for the disk. A shorter log makes that more
frequent and each time shorter (1,000: every hundred small commits, 30 ms; 16,000: 350 ms on the same disk). Folding it
meanwhile on another connection slows all commits down, as both wait for the same disk."""

_INSERTS: Final = {count: with_rows(QUERIES["insert_jobs"], rows.INSERT_WIDTH, count) for count in _BLOCKS}
_CHANGES: Final = {count: with_rows(QUERIES["change_jobs"], rows.CHANGE_WIDTH, count) for count in _BLOCKS}


class _NotAsExpected(Exception):
    """A write of the optimistic kind met something else than it expected."""


class Database:
    """A connection, bound to the thread that makes it.

    Args:
        path: the file; made if it is not there.
        patience: seconds to wait for a lock that another process holds.
    """

    def __init__(self, path: Path, *, synchronous: Synchronous, patience: float) -> None:
        self._path = path
        self._patience = patience
        with self._errors_named():
            if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
                oldest = ".".join(map(str, _OLDEST_SQLITE))
                raise StorageError(f"SQLite {sqlite3.sqlite_version} is too old; the library must be {oldest} or later")
            self._connection = sqlite3.connect(path, timeout=patience, isolation_level=None, cached_statements=64)
            try:
                self._patiently(lambda: self._execute("PRAGMA journal_mode = WAL"))
                self._execute(f"PRAGMA synchronous = {synchronous}")
                self._execute("PRAGMA temp_store = MEMORY")
                self._execute("PRAGMA cache_size = -32000")
                self._execute(f"PRAGMA wal_autocheckpoint = {_LONGEST_LOG}")
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        with self._errors_named():
            self._connection.close()

    def only_read(self) -> None:
        """From now on refuse to write."""
        self._execute("PRAGMA query_only = ON")

    def migrate(self, steps: Sequence[SchemaStep] = STEPS) -> None:
        """Take the steps of the schema that are missing, each in a transaction of its own.

        Raises:
            StorageError: the file has steps that this program does not know.
        """
        with self._errors_named():
            newest = steps[-1].version if steps else 0
            while (version := self._patiently(self._schema_version)) < newest:
                self._transaction(lambda: self._step(steps))
            if version > newest:
                raise StorageError(
                    f"{self._path} has schema version {version}, and this program knows only up to {newest}: "
                    "it was opened by a newer version of Beskar Jobs; install that one, or give another file"
                )

    def commit(self, commit: Commit) -> CommitOutcome:
        with self._errors_named():
            inserts, changes = commit.inserts, commit.changes
            ids = {change.job.spec.id for change in changes}
            if len(ids) == len(changes):
                insert_values = rows.insert_parameters(inserts)
                change_values = rows.change_parameters(changes)

                def write() -> list[list[bool] | None]:
                    if self._write(_INSERTS, rows.INSERT_WIDTH, insert_values) != len(inserts):
                        raise _NotAsExpected
                    if self._write(_CHANGES, rows.CHANGE_WIDTH, change_values) != len(changes):
                        raise _NotAsExpected
                    return self._write_recurring(commit)

                try:
                    recurring = self._transaction(write)
                except _NotAsExpected:
                    pass
                else:
                    return CommitOutcome([None] * len(inserts), [True] * len(changes), recurring)
            return self._transaction(lambda: self._commit_reading(commit))

    def _write_recurring(self, commit: Commit) -> list[list[bool] | None]:
        def insert(job: Job) -> None:
            self._write(_INSERTS, rows.INSERT_WIDTH, rows.insert_parameters([job]))

        return [write_change(self._connection, change, insert) for change in commit.recurring]

    def read(self, query: str, parameters: dict[str, Any]) -> Any:
        """The one value that the named *query* gives."""
        with self._errors_named():
            return self._patiently(lambda: self._value(query, parameters))

    def read_together(self, questions: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        """The values of several named queries, all of one moment."""
        with self._errors_named():
            return self._transaction(lambda: [self._value(*question) for question in questions], begin="BEGIN")

    def _commit_reading(self, commit: Commit) -> CommitOutcome:
        """Commit with knowledge of what is there; nobody else can write meanwhile."""
        inserts, changes = commit.inserts, commit.changes
        stored = {job.spec.id: job for job in rows.read_jobs(self._about("get", [job.spec.id for job in inserts]))}
        existing: list[Job | None] = []
        new: list[Job] = []
        for job in inserts:
            existing.append(stored.get(job.spec.id))
            if job.spec.id not in stored:
                stored[job.spec.id] = job
                new.append(job)
        self._write(_INSERTS, rows.INSERT_WIDTH, rows.insert_parameters(new))

        found: dict[JobId, int] = dict(
            msgspec.json.decode(self._about("versions", [change.job.spec.id for change in changes]))
        )
        current = dict(found)
        applied: list[bool] = []
        last: dict[JobId, Job] = {}
        for change in changes:
            job = change.job
            applies = current.get(job.spec.id) == change.expected_version
            applied.append(applies)
            if applies:
                current[job.spec.id] = job.version
                last[job.spec.id] = job
        values = rows.change_parameters(Change(found[job_id], job) for job_id, job in last.items())
        self._write(_CHANGES, rows.CHANGE_WIDTH, values)
        return CommitOutcome(existing, applied, self._write_recurring(commit))

    def _about(self, query: str, ids: Sequence[JobId]) -> str:
        return str(self._value(query, {"ids": rows.ids_text(ids)}))

    def _write(self, statements: dict[int, str], width: int, values: list[Any]) -> int:
        """Write rows in as few statements as there are; how many were written."""
        # Not the cursor's row count: the standard library keeps none for a statement that starts with WITH.
        before = self._connection.total_changes
        start = 0
        for count, statement in statements.items():
            while len(values) - start >= count * width:
                end = start + count * width
                self._connection.execute(statement, values[start:end])
                start = end
        return self._connection.total_changes - before

    def _transaction(self, body: Callable[[], T], *, begin: str = "BEGIN IMMEDIATE") -> T:
        return self._patiently(lambda: self._attempt(body, begin))

    def _attempt(self, body: Callable[[], T], begin: str) -> T:
        try:
            self._execute(begin)
            outcome = body()
            self._execute("COMMIT")
        except BaseException:
            # SQLite has rolled back by itself after some errors (disk full), and not after others.
            if self._connection.in_transaction:
                self._execute("ROLLBACK")
            raise
        return outcome

    def _patiently(self, action: Callable[[], T]) -> T:
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return action()
            except sqlite3.OperationalError as error:
                if _primary_code(error) not in _BUSY or time.monotonic() >= deadline:
                    raise
            time.sleep(0.01)

    def _schema_version(self) -> int:
        return int(self._value("schema_version", {})) if self._value("schema_known", {}) else 0

    def _step(self, steps: Sequence[SchemaStep]) -> None:
        """The next step, if no other process has taken it meanwhile."""
        self._execute(QUERIES["schema_table"])
        version = self._schema_version()
        if version >= len(steps):
            return
        step = steps[version]
        for statement in step.statements:
            self._execute(statement)
        self._connection.execute(QUERIES["schema_step"], {"version": step.version, "name": step.name})

    def _execute(self, statement: str) -> None:
        self._connection.execute(statement).fetchall()

    def _value(self, query: str, parameters: dict[str, Any]) -> Any:
        ((value,),) = self._connection.execute(QUERIES[query], parameters).fetchall()
        return value

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        """Turn what SQLite raises into errors that name the file and the way out."""
        try:
            yield
        except sqlite3.Error as error:
            raise StorageError(self._explain(error)) from error
        except (UnicodeEncodeError, OverflowError) as error:
            raise InvalidValue(f"part of a job cannot be stored in SQLite: {error}") from error

    def _explain(self, error: sqlite3.Error) -> str:
        path, said = self._path, f"(SQLite: {error})"
        match _primary_code(error):
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return (
                    f"another process has kept {path} locked for {self._patience:g} s; nothing was written. End the "
                    f"transaction it has open, or give this storage more patience {said}"
                )
            case sqlite3.SQLITE_FULL:
                return f"no room to write {path}; nothing was written. Free space on its disk, then try again {said}"
            case sqlite3.SQLITE_IOERR:
                return f"the disk under {path} refused; nothing was written. Look at the disk and its quotas {said}"
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
                return f"{path} cannot be written; let this user write the file and its folder {said}"
            case sqlite3.SQLITE_CANTOPEN:
                return f"{path} cannot be opened; its folder must exist, and this user must be able to write it {said}"
            case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
                return f"{path} is no SQLite database, or is damaged; give another file, or restore a copy {said}"
            case _:
                return f"{path} cannot be used {said}"


def _primary_code(error: sqlite3.Error) -> int | None:
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
