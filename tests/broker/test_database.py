"""The file of a durable broker: what it refuses, how it grows, and what it does when it cannot be written."""

from __future__ import annotations

import asyncio
import logging
import resource
import sqlite3
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from beskar_jobs.broker.database import FLUSH_INTERVAL, MIGRATIONS, BrokerDatabase, DatabaseFault

BOUND = 30.0


async def reopened(path: Path, table: str = "retained") -> list[tuple[object, ...]]:
    database = BrokerDatabase(path)
    rows = database.rows(table)
    await database.close()
    return rows


async def test_what_was_put_last_is_there_after_the_close(tmp_path: Path) -> None:
    database = BrokerDatabase(tmp_path / "b.db")
    for value in (b"1", b"2"):
        database.put("retained", ("a",), ("a", value, 1.5))
    database.put("retained", ("b",), lambda: ("b", b"late", 2.5))
    database.put("retained", ("c",), ("c", b"", 0.0))
    database.remove("retained", ("c",))
    await database.close()
    assert await reopened(tmp_path / "b.db") == [("a", b"2", 1.5), ("b", b"late", 2.5)]


async def test_changes_reach_the_file_without_a_close(tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    database = BrokerDatabase(path)
    database.put("retained", ("a",), ("a", b"1", 1.5))
    deadline = time.monotonic() + BOUND
    while b"a" + b"1" not in (tmp_path / "b.db-wal").read_bytes():
        assert time.monotonic() < deadline
        await asyncio.sleep(FLUSH_INTERVAL / 10)
    await database.close()


async def test_a_close_waits_for_the_write_that_is_going_on(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    writing, go_on = asyncio.Event(), threading.Event()

    def slow() -> tuple[str, bytes, float]:
        loop.call_soon_threadsafe(writing.set)
        assert go_on.wait(BOUND)
        return "a", b"1", 0.0

    database = BrokerDatabase(tmp_path / "b.db")
    database.put("retained", ("a",), slow)
    await asyncio.wait_for(writing.wait(), BOUND)
    database.put("retained", ("b",), ("b", b"2", 0.0))
    closing = asyncio.create_task(database.close())
    await asyncio.sleep(0)
    assert not closing.done()
    go_on.set()
    await closing
    assert await reopened(tmp_path / "b.db") == [("a", b"1", 0.0), ("b", b"2", 0.0)]


async def test_what_came_and_went_is_never_encoded(tmp_path: Path) -> None:
    encoded: list[int] = []

    def row(number: int) -> tuple[int, bytes, float]:
        encoded.append(number)
        return number, b"", 0.0

    database = BrokerDatabase(tmp_path / "b.db")
    for number in range(10):
        database.put("message", (number,), partial(row, number))
        if number != 5:
            database.remove("message", (number,))
    await database.close()
    assert encoded == [5]
    assert await reopened(tmp_path / "b.db", "message") == [(5, b"", 0.0)]


async def test_a_row_that_cannot_be_made_costs_itself_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    database = BrokerDatabase(tmp_path / "b.db")
    database.put("message", (1,), lambda: (1 // 0, b"", 0.0))
    database.put("message", (2,), (2, b"", 0.0))
    await database.close()
    assert "ZeroDivisionError" in caplog.text
    assert await reopened(tmp_path / "b.db", "message") == [(2, b"", 0.0)]


def make_foreign(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE jobs (id)")
    other.commit()
    other.close()


def make_text(path: Path) -> None:
    path.write_text("no database at all\n" * 100)


async def test_a_file_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    for make, told in ((make_foreign, "not of this broker"), (make_text, "is no database, or is damaged")):
        path = tmp_path / make.__name__
        make(path)
        before = path.read_bytes()
        with pytest.raises(DatabaseFault, match=told) as error:
            BrokerDatabase(path)
        assert str(path) in str(error.value)
        assert path.read_bytes() == before


async def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    database = BrokerDatabase(path)
    for number in range(100):
        database.put("retained", (f"t{number}",), (f"t{number}", b"x" * 1000, 0.0))
    await database.close()
    data = bytearray(path.read_bytes())
    data[8192:16_384] = b"\xff" * 8192
    path.write_bytes(data)
    with pytest.raises(DatabaseFault, match="damaged"):
        BrokerDatabase(path)


async def test_a_file_in_use_is_refused_until_it_is_free(tmp_path: Path) -> None:
    first = BrokerDatabase(tmp_path / "b.db")
    with pytest.raises(DatabaseFault, match="in use by another process"):
        BrokerDatabase(tmp_path / "b.db")
    await first.close()
    await BrokerDatabase(tmp_path / "b.db").close()


@pytest.mark.parametrize("name", ["no/such/folder/b.db", "."])
def test_a_place_that_cannot_hold_a_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(DatabaseFault, match="cannot be used"):
        BrokerDatabase(tmp_path / name)


async def test_an_older_file_is_migrated_and_a_newer_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    database = BrokerDatabase(path)
    database.put("retained", ("a",), ("a", b"1", 1.5))
    await database.close()
    longer = [*MIGRATIONS, "ALTER TABLE retained ADD COLUMN colour TEXT DEFAULT 'red'; CREATE TABLE more (x)"]
    newer = BrokerDatabase(path, longer)
    assert newer.rows("retained") == [("a", b"1", 1.5, "red")]
    await newer.close()
    with pytest.raises(DatabaseFault, match=r"newer broker \(version 2, this one knows 1\)"):
        BrokerDatabase(path)


async def test_a_migration_that_fails_leaves_the_older_version(tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    await BrokerDatabase(path).close()
    with pytest.raises(DatabaseFault):
        BrokerDatabase(path, [*MIGRATIONS, "CREATE TABLE more (x); CREATE TABLE retained (x)"])
    assert await reopened(path) == []


async def test_a_failed_write_is_told_once_and_made_up_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "b.db"
    database = BrokerDatabase(path)
    database.put("retained", ("before",), ("before", b"", 0.0))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    caplog.set_level(logging.WARNING, "beskar_jobs.broker")
    tries = 0

    def large() -> tuple[str, bytes, float]:
        nonlocal tries
        tries += 1
        return "a", bytes(2_000_000), 0.0

    # The disk is full, as far as this process is concerned.
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        database.put("retained", ("a",), ("a", bytes(1_000_000), 0.0))
        await until(lambda: database.failure is not None)
        database.put("retained", ("a",), large)
        database.put("retained", ("b",), ("b", b"", 0.0))
        await until(lambda: tries >= 2)  # so another one has failed
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    await until(lambda: database.failure is None)
    await database.close()
    rows = await reopened(path)
    assert rows == [("a", bytes(2_000_000), 0.0), ("b", b"", 0.0), ("before", b"", 0.0)]
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]


async def test_a_close_that_cannot_write_says_so(tmp_path: Path) -> None:
    database = BrokerDatabase(tmp_path / "b.db")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        database.put("retained", ("a",), ("a", bytes(1_000_000), 0.0))
        with pytest.raises(DatabaseFault, match="last changes"):
            await database.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(BOUND):
        while not condition():  # noqa: ASYNC110  # it is another thread's doing
            await asyncio.sleep(0.01)
