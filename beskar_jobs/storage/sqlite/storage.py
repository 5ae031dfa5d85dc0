"""The SQLite storage as the event loop sees it: a thread that writes and two that read, each with its connection.

What an engine asks for all the time is read apart from what people look at, which may walk over a whole history of
jobs. No connection is ever touched by another thread, and the loop only waits. A call that is cancelled while it waits
may still take place; a commit can be given again with the same content, so nothing is lost by that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from beskar_jobs.model.errors import InvalidValue, StorageError
from beskar_jobs.model.job import ACTIVE, TERMINAL, Job, JobId, JobStatus
from beskar_jobs.model.recurring import Occurrence, RecurringJob
from beskar_jobs.ports.storage import Commit, CommitOutcome, JobFilter, Lane
from beskar_jobs.storage.sqlite import rows
from beskar_jobs.storage.sqlite.database import Database, Synchronous
from beskar_jobs.storage.sqlite.recurring import read_entries, read_occurrences
from beskar_jobs.storage.times import from_microseconds, to_microseconds

T = TypeVar("T")

DEFAULT_PATIENCE: Final = 30.0
_BEYOND_ANY_SEQUENCE: Final = 2**63 - 1
_BEFORE_ANY_TIME: Final = -(2**63)


class _Session:
    """A thread and the connection that lives on it."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._database: Database | None = None

    async def open(self, connect: Callable[[], Database]) -> None:
        self._database = await asyncio.get_running_loop().run_in_executor(self._thread, connect)

    async def run(self, work: Callable[[Database], T]) -> T:
        if (database := self._database) is None:
            raise StorageError("this storage is closed; open it again first")
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, database)

    async def close(self) -> None:
        database, self._database = self._database, None
        try:
            if database is not None:
                await asyncio.get_running_loop().run_in_executor(self._thread, database.close)
        finally:
            self._thread.shutdown(wait=False)


class _Sessions:
    """The three sessions of an open storage."""

    def __init__(self) -> None:
        self.writer = _Session("beskar-sqlite-write")
        self.reader = _Session("beskar-sqlite-read")
        self.browser = _Session("beskar-sqlite-browse")

    async def close(self) -> None:
        # The writer goes last: the last connection to go folds the log back into the file, and only it may write.
        try:
            await self.browser.close()
            await self.reader.close()
        finally:
            await self.writer.close()


class SqliteStorage:
    """Jobs in a SQLite file, which several processes may use at once on one machine (not over a network file system).

    Args:
        path: the file; made when it is not there, its folder is not.
        synchronous: ``"NORMAL"`` survives the death of processes; ``"FULL"`` a power failure too, at a disk flush per
            commit.
        patience: seconds to wait for other processes' locks before a call fails with ``StorageError``.

    Raises:
        InvalidValue: an option is not one of these.
    """

    def __init__(
        self, path: str | Path, *, synchronous: Synchronous = "NORMAL", patience: float = DEFAULT_PATIENCE
    ) -> None:
        if synchronous not in ("NORMAL", "FULL"):
            raise InvalidValue(f'synchronous is "NORMAL" or "FULL", not {synchronous!r}')
        if not 0 < patience <= 3600:
            raise InvalidValue(f"patience is above 0 and up to 3600 seconds, not {patience!r}")
        self._path = Path(path).absolute()
        self._synchronous: Synchronous = synchronous
        self._patience = patience
        self._sessions: _Sessions | None = None

    def __repr__(self) -> str:
        return f"SqliteStorage({str(self._path)!r})"

    async def open(self) -> None:
        if self._sessions is not None:
            return
        sessions = _Sessions()
        try:
            await sessions.writer.open(self._connect_to_write)
            await sessions.reader.open(self._connect_to_read)
            await sessions.browser.open(self._connect_to_read)
        except BaseException:
            await sessions.close()
            raise
        self._sessions = sessions

    async def close(self) -> None:
        if self._sessions is None:
            return
        sessions, self._sessions = self._sessions, None
        await sessions.close()

    async def commit(self, commit: Commit) -> CommitOutcome:
        return await self._opened().writer.run(lambda database: database.commit(commit))

    async def get(self, ids: Sequence[JobId]) -> Sequence[Job | None]:
        jobs = await self._opened().reader.run(_jobs("get", ids=rows.ids_text(ids)))
        found = {job.spec.id: job for job in jobs}
        return [found.get(job_id) for job_id in ids]

    async def ready(self, lane: Lane, limit: int) -> Sequence[Job]:
        query = _jobs("ready", queue=lane.queue, job_type=lane.job_type, limit=max(0, limit))
        return await self._opened().reader.run(query)

    async def lanes(self) -> Sequence[tuple[Lane, int]]:
        lanes = msgspec.json.decode(await self._opened().reader.run(_value("lanes")))
        return [(Lane(queue, job_type), count) for queue, job_type, count in lanes]

    async def due(self, now: datetime, limit: int) -> Sequence[Job]:
        return await self._opened().reader.run(_jobs("due", now=to_microseconds(now), limit=max(0, limit)))

    async def next_due(self, after: datetime | None = None) -> datetime | None:
        query = _value("next_due", after=_BEFORE_ANY_TIME if after is None else to_microseconds(after))
        value = await self._opened().reader.run(query)
        return None if value is None else from_microseconds(value)

    async def active(self) -> Sequence[Job]:
        return await self._opened().reader.run(_jobs("active"))

    async def find(self, wanted: JobFilter, *, limit: int, before_sequence: int | None = None) -> Sequence[Job]:
        parameters = {
            "queue": wanted.queue,
            "job_type": wanted.job_type,
            "before": _BEYOND_ANY_SEQUENCE if before_sequence is None else before_sequence,
            "limit": max(0, limit),
        }
        if not wanted.statuses:
            return await self._opened().browser.run(_jobs("find_any", **parameters))
        # One index per status, so one query per status; the latest of all of them are what is wanted.
        questions = [(_finder(status), {"status": status.value, **parameters}) for status in frozenset(wanted.statuses)]
        found = await self._opened().browser.run(
            lambda database: [job for text in database.read_together(questions) for job in rows.read_jobs(text)]
        )
        found.sort(key=lambda job: job.spec.sequence, reverse=True)
        return found[: max(0, limit)]

    async def counts(self) -> Sequence[tuple[str, JobStatus, int]]:
        counts = msgspec.json.decode(await self._opened().browser.run(_value("counts")))
        return sorted((queue, JobStatus(status), count) for queue, status, count in counts)

    async def last_sequence(self) -> int:
        return int(await self._opened().reader.run(_value("last_sequence")))

    async def recurring(self, names: Sequence[str] | None = None) -> Sequence[RecurringJob]:
        query = _value("recurring_all") if names is None else _value("recurring_named", names=rows.texts(names))
        return read_entries(await self._opened().reader.run(query))

    async def occurrences(self, name: str, limit: int) -> Sequence[Occurrence]:
        return read_occurrences(await self._opened().browser.run(_value("occurrences", name=name, limit=max(0, limit))))

    def _opened(self) -> _Sessions:
        if self._sessions is None:
            raise StorageError(f"the storage in {self._path} is not open; call open() first")
        return self._sessions

    def _connect_to_write(self) -> Database:
        database = Database(self._path, synchronous=self._synchronous, patience=self._patience)
        try:
            database.migrate()
        except BaseException:
            database.close()
            raise
        return database

    def _connect_to_read(self) -> Database:
        database = Database(self._path, synchronous=self._synchronous, patience=self._patience)
        database.only_read()
        return database


def _value(query: str, **parameters: Any) -> Callable[[Database], Any]:
    return lambda database: database.read(query, parameters)


def _jobs(query: str, **parameters: Any) -> Callable[[Database], list[Job]]:
    return lambda database: rows.read_jobs(database.read(query, parameters))


def _finder(status: JobStatus) -> str:
    if status in ACTIVE:
        return "find_active"
    return "find_ended" if status in TERMINAL else f"find_{status.value}"
