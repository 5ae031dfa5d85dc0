"""What is particular to the SQLite storage: its queries, its patience, its errors."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import pytest

from beskar_jobs.model.errors import InvalidValue, StorageError
from beskar_jobs.model.job import JobId
from beskar_jobs.ports.storage import Change, Commit
from beskar_jobs.storage.sqlite import SqliteStorage
from beskar_jobs.storage.sqlite.database import Database
from beskar_jobs.storage.sqlite.sql import QUERIES, load_queries
from beskar_jobs.testing.storage_bed import changed, make_job, put, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
async def storage(path: Path) -> AsyncIterator[SqliteStorage]:
    storage = SqliteStorage(path, patience=0.2)
    await storage.open()
    yield storage
    await storage.close()


@pytest.fixture
def locked(storage: SqliteStorage, path: Path) -> Iterator[sqlite3.Connection]:
    """Another program's connection, which has the file's write lock."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


# -- queries


def plan(path: Path, query: str) -> str:
    statement = QUERIES[query].replace("{rows}", "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)")
    parameters: dict[str, Any] = dict.fromkeys(
        (
            *("ids", "queue", "job_type", "limit", "now", "after", "before", "status", "version", "name"),
            *("next_at", "entry", "expected", "instant", "job_id", "occurrence", "kept", "names"),
        ),
        "1",
    )
    with closing(sqlite3.connect(path)) as connection:
        return "; ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))


@pytest.mark.parametrize("query", sorted(set(QUERIES) - {"insert_jobs"}))
async def test_every_query_fits_the_schema(query: str, storage: SqliteStorage, path: Path) -> None:
    plan(path, query)


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("ready", "beskar_jobs_ready (queue=? AND job_type=?)"),
        ("lanes", "beskar_jobs_ready"),
        ("due", "beskar_jobs_due (due_at<?)"),
        ("next_due", "beskar_jobs_due (due_at>?)"),
        ("active", "beskar_jobs_active"),
        ("find_any", "beskar_jobs_sequence (sequence<?)"),
        ("find_scheduled", "beskar_jobs_scheduled (sequence<?)"),
        ("find_active", "beskar_jobs_active (sequence<?)"),
        ("find_ended", "beskar_jobs_ended (status=? AND sequence<?)"),
        ("last_sequence", "beskar_jobs_sequence"),
        ("change_jobs", "sqlite_autoindex_beskar_jobs_1 (id=?)"),
        ("get", "sqlite_autoindex_beskar_jobs_1 (id=?)"),
    ],
)
async def test_every_frequent_query_reads_its_index_in_order(
    query: str, index: str, storage: SqliteStorage, path: Path
) -> None:
    found = plan(path, query)
    assert f"INDEX {index}" in found
    assert "TEMP B-TREE" not in found


def test_a_broken_file_of_queries_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        load_queries("-- name: a\nSELECT 1\n-- name: a\nSELECT 2\n")
    with pytest.raises(ValueError, match="unknown"):
        load_queries("-- name: a\nSELECT {nothing}\n")


# -- patience


async def test_a_commit_waits_for_the_lock_and_the_loop_goes_on(path: Path) -> None:
    storage = SqliteStorage(path, patience=60)
    await storage.open()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        commit = asyncio.ensure_future(put(storage, make_job("a")))
        # The loop must run for this to come back, and reading must not need the lock.
        assert await storage.get([JobId("a")]) == [None]
        assert not commit.done()
        other.execute("COMMIT")
        await asyncio.wait_for(commit, 60)
    assert [job and job.id for job in await storage.get([JobId("a")])] == ["a"]
    await storage.close()


async def test_open_waits_where_sqlite_itself_would_not(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE theirs (a)")
        other.execute("BEGIN IMMEDIATE")
        with (
            closing(sqlite3.connect(path, timeout=3600)) as third,
            pytest.raises(sqlite3.OperationalError, match="locked"),
        ):
            third.execute("PRAGMA journal_mode = WAL")  # refused at once, for all its time-out
        storage = SqliteStorage(path, patience=60)
        opening = asyncio.ensure_future(storage.open())
        done, _ = await asyncio.wait([opening], timeout=0.2)
        assert not done
        other.execute("COMMIT")
        await asyncio.wait_for(opening, 60)
    await storage.close()


async def test_a_lock_held_for_too_long_names_the_file_and_the_way_out(
    storage: SqliteStorage, path: Path, locked: sqlite3.Connection
) -> None:
    commit = Commit([make_job("a")])
    with pytest.raises(StorageError, match=rf"kept {path} locked for 0.2 s; nothing was written"):
        await storage.commit(commit)
    locked.execute("ROLLBACK")
    assert list((await storage.commit(commit)).existing) == [None]


async def test_a_change_refused_in_a_commit_of_hundreds_costs_no_other(storage: SqliteStorage) -> None:
    jobs = [make_job(f"job-{number}", sequence=number) for number in range(333)]
    await put(storage, *jobs)
    await write(storage, changed(jobs[100]), changed(jobs[332]))
    outcome = await storage.commit(
        Commit([jobs[5], make_job("new")], [Change(1, changed(job, reason="second")) for job in jobs])
    )
    assert [job and job.id for job in outcome.existing] == ["job-5", None]
    assert [number for number, applied in enumerate(outcome.applied) if not applied] == [100, 332]


# -- errors


@pytest.mark.parametrize(
    ("target", "says"),
    [("nowhere/jobs.db", "its folder must exist"), ("folder", "cannot be opened"), ("text", "no SQLite")],
)
async def test_what_cannot_be_opened_is_named(target: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("this is no database, " * 100)
    storage = SqliteStorage(tmp_path / target)
    with pytest.raises(StorageError, match=says) as caught:
        await storage.open()
    assert str(tmp_path / target) in str(caught.value)
    with pytest.raises(StorageError, match="not open"):
        await storage.counts()


def test_no_room_and_no_permission_are_storage_errors(path: Path) -> None:
    database = Database(path, synchronous="NORMAL", patience=1)
    database.migrate()
    large = make_job("a")
    large = attrs.evolve(large, spec=attrs.evolve(large.spec, arguments=b"x" * 1_000_000))
    (pages,) = database._connection.execute("PRAGMA max_page_count = 20").fetchone()  # what a full disk does, sooner
    with pytest.raises(StorageError, match=rf"no room to write {path}; nothing was written"):
        database.commit(Commit([make_job("b"), large]))
    database._connection.execute(f"PRAGMA max_page_count = {pages + 10_000}")
    assert database.commit(Commit([make_job("b"), large])).existing == [None, None]
    database.only_read()
    with pytest.raises(StorageError, match=rf"{path} cannot be written"):
        database.commit(Commit([make_job("c")]))
    database.close()


@pytest.mark.parametrize(
    "unfit",
    [{"reason": "\ud800"}, {"version": 2**63}, {"started_at": make_job("x").due_at.replace(tzinfo=None)}],
    ids=["half a character", "too large a number", "no time zone"],
)
async def test_a_job_that_cannot_be_stored_is_refused_by_name(storage: SqliteStorage, unfit: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match=r"in a job|of a job"):
        await storage.commit(Commit([make_job("fit"), make_job("unfit", **unfit)]))
    assert await storage.counts() == []


@pytest.mark.parametrize("options", [{"synchronous": "OFF"}, {"patience": 0}, {"patience": float("nan")}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match=next(iter(options))):
        SqliteStorage("jobs.db", **options)


@pytest.mark.parametrize(("option", "level"), [("NORMAL", 1), ("FULL", 2)])
def test_synchronous_is_what_was_asked_for(path: Path, option: Any, level: int) -> None:
    database = Database(path, synchronous=option, patience=1)
    assert database._connection.execute("PRAGMA synchronous").fetchone() == (level,)
    assert database._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    database.close()
