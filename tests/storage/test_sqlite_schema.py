"""The schema moves forward only, from every version there has been; what was stored under an older one stays as it was.

``databases/NNNN.sql`` is what a file of schema version NNNN holds, once jobs were stored in it. The file for a new
version is written by ``python tests/storage/test_sqlite_schema.py``, once its step stands in ``schema/``; older ones
are never written again.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from beskar_jobs.model.errors import StorageError
from beskar_jobs.model.job import Job, JobStatus
from beskar_jobs.ports.storage import JobFilter
from beskar_jobs.storage.sqlite import SqliteStorage
from beskar_jobs.storage.sqlite.database import Database
from beskar_jobs.storage.sqlite.sql import STEPS, SchemaStep, load_steps
from beskar_jobs.testing.storage_bed import full_job, make_job, put

DATABASES = Path(__file__).parent / "databases"
VERSIONS = [step.version for step in STEPS]


def stored_jobs() -> list[Job]:
    return [full_job(), *(make_job(f"{status}", sequence=n, status=status) for n, status in enumerate(JobStatus, 100))]


def dump(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE beskar_schema SET applied_at = '2026-01-01 00:00:00'")
        return "\n".join(connection.iterdump()) + "\n"


def restore(version: int, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((DATABASES / f"{version:04}.sql").read_text(encoding="utf-8"))


@pytest.mark.parametrize("version", VERSIONS)
async def test_jobs_of_every_version_are_read_as_they_were(version: int, tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    restore(version, path)
    storage = SqliteStorage(path)
    await storage.open()
    jobs = stored_jobs()
    assert list(await storage.get([job.id for job in jobs])) == jobs
    assert len(await storage.find(JobFilter(), limit=99)) == len(jobs)
    await put(storage, make_job("new", sequence=200))
    await storage.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_ends_in_the_same_schema(version: int, tmp_path: Path) -> None:
    def schema(path: Path) -> list[tuple[str, str]]:
        database = Database(path, synchronous="NORMAL", patience=5)
        database.migrate()
        database.close()
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE name LIKE 'beskar%' ORDER BY 1"
            ).fetchall()

    restore(version, tmp_path / "old.db")
    assert schema(tmp_path / "old.db") == schema(tmp_path / "new.db")


def test_a_step_is_taken_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    database = Database(path, synchronous="NORMAL", patience=5)
    database.migrate()
    next_step = SchemaStep(len(STEPS) + 1, "more", ("CREATE TABLE more (a)", "CREATE TABLE broken ("))
    with pytest.raises(StorageError, match=str(path)):
        database.migrate([*STEPS, next_step])
    assert database._connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'more'").fetchone() == (0,)
    database.migrate([*STEPS, SchemaStep(len(STEPS) + 1, "more", ("CREATE TABLE more (a)",))])
    assert database.read("schema_version", {}) == len(STEPS) + 1
    database.close()


async def test_a_file_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    restore(VERSIONS[-1], path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO beskar_schema (version, name) VALUES (999, 'from the future')")
    storage = SqliteStorage(path)
    with pytest.raises(StorageError, match=rf"{path} has schema version 999, .* only up to {VERSIONS[-1]}"):
        await storage.open()


async def test_jobs_live_beside_the_tables_of_an_application(tmp_path: Path) -> None:
    path = tmp_path / "application.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "CREATE TABLE jobs (mine TEXT); INSERT INTO jobs VALUES ('kept'); PRAGMA user_version = 77"
        )
    storage = SqliteStorage(path)
    await storage.open()
    await put(storage, make_job("a"))
    await storage.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT mine FROM jobs").fetchall() == [("kept",)]
        assert connection.execute("PRAGMA user_version").fetchone() == (77,)


def test_steps_that_do_not_count_are_refused(tmp_path: Path) -> None:
    (tmp_path / "0002_second.sql").write_text("CREATE TABLE a (b);\n")
    with pytest.raises(ValueError, match="without a gap"):
        load_steps(tmp_path)
    (tmp_path / "0001_first.sql").write_text("CREATE TABLE a (b)\n")
    with pytest.raises(ValueError, match="has no end"):
        load_steps(tmp_path)
    (tmp_path / "0001_first.sql").write_text("-- first\nCREATE TABLE a (b);\nCREATE TABLE c (\n  d\n);\n")
    assert [len(step.statements) for step in load_steps(tmp_path)] == [2, 1]
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(ValueError, match="NNNN_name"):
        load_steps(tmp_path)


async def _write_newest() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "jobs.db")
        storage = SqliteStorage(path)
        await storage.open()
        await put(storage, *stored_jobs())
        await storage.close()
        (DATABASES / f"{VERSIONS[-1]:04}.sql").write_text(dump(path), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(_write_newest())
