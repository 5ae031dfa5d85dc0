"""Storage that is away, rows that nobody can read, a process that dies half-way, and a delay of six hours."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import attrs
import pytest

from beskar_jobs import HandlerRegistry, JobContext, JobHandler, JobScheduler, JobStatus, JobWorker, job_handler
from beskar_jobs.model.errors import StorageError
from beskar_jobs.ports.storage import Commit, CommitOutcome, JobFilter, RecurringChange
from beskar_jobs.storage.sqlite import SqliteStorage
from beskar_jobs.testing.storage_recurring import make_entry
from beskar_jobs.transport.memory_broker import MemoryBroker
from tests.recurring.bed import PATIENCE, REQUEST, Bed, minute, open_bed
from tests.recurring.conftest import KeptOpen

DYING = """
import asyncio, os, signal, sys
from beskar_jobs import JobScheduler
from beskar_jobs.storage.sqlite import SqliteStorage, database
from beskar_jobs.transport.memory_broker import MemoryBroker

write = database.write_change

def die(connection, change, insert):
    # The occurrence is marked, and the job is about to be inserted.
    return write(connection, change, lambda job: os.kill(os.getpid(), signal.SIGKILL))

database.write_change = die

async def main():
    async with MemoryBroker() as broker, JobScheduler(broker, storage=SqliteStorage(sys.argv[1])):
        await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_a_scheduler_killed_between_mark_and_insert_leaves_neither(tmp_path: Path) -> None:
    place = tmp_path / "jobs.db"
    due = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=5)
    storage = SqliteStorage(place)
    await storage.open()
    entry = make_entry("r", next_at=due)
    entry = attrs.evolve(entry, definition=attrs.evolve(entry.definition, schedule="0 0 1 1 *"))
    await storage.commit(Commit(recurring=[RecurringChange("r", 0, entry)]))
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", DYING, str(place))
    async with asyncio.timeout(60):
        assert await process.wait() == -signal.SIGKILL
    assert list(await storage.recurring()) == [entry]
    assert (list(await storage.occurrences("r", 10)), list(await storage.find(JobFilter(), limit=10))) == ([], [])
    async with MemoryBroker() as broker, JobScheduler(broker, storage=SqliteStorage(place)):
        async with asyncio.timeout(60):
            while not (found := await storage.occurrences("r", 10)):  # noqa: ASYNC110 - another connection writes it
                await asyncio.sleep(0.02)
        (job,) = await storage.find(JobFilter(), limit=10)
        assert [(item.instant, item.job_id) for item in found] == [(due, job.id)]
    await storage.close()


async def test_while_storage_is_away_nothing_fires_and_nothing_is_lost(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = 0
    commit = bed.storage.commit

    async def away(_: Commit) -> CommitOutcome:
        nonlocal refused
        refused += 1
        raise StorageError("the disk is gone")

    async with bed.scheduler():
        await bed.client.add_or_update_recurring("r", REQUEST, cron="* * * * *", misfire="fire_all")
        await bed.pass_time(60)
        monkeypatch.setattr(bed.storage, "commit", away)
        async with asyncio.timeout(PATIENCE):
            while refused < 3:
                bed.clock.advance(10)
                await asyncio.sleep(0.001)
        for _ in range(20):
            bed.clock.advance(10)
            await asyncio.sleep(0)
        passed = bed.clock.now().wall
        monkeypatch.setattr(bed.storage, "commit", commit)
        await bed.pass_time(60)
        fired = await bed.fired()
        assert fired == [minute(number) for number in range(1, len(fired) + 1)]
        assert fired[-1] >= passed.replace(second=0)


async def test_a_row_that_cannot_be_decoded_is_shown_and_stops_no_other(tmp_path: Path) -> None:
    place = tmp_path / "jobs.db"
    storage = SqliteStorage(place)
    async with open_bed(KeptOpen(storage)) as bed:  # type: ignore[arg-type]  # passes everything on
        entries = [make_entry(name, next_at=minute(1)) for name in ("bad", "worse")]
        await storage.commit(Commit(recurring=[RecurringChange(entry.name, 0, entry) for entry in entries]))
        with sqlite3.connect(place) as connection:
            connection.execute("UPDATE beskar_recurring SET entry = '{\"definition\": 5}' WHERE name = 'bad'")
            connection.execute("UPDATE beskar_recurring SET entry = 'no json' WHERE name = 'worse'")
        connection.close()
        async with bed.scheduler():
            await bed.client.add_or_update_recurring("good", REQUEST, cron="* * * * *")
            await bed.pass_time(120)
            assert await bed.fired() == [minute(1), minute(2)]
            problems = {entry.name: entry.problem for entry in await bed.client.recurring()}
            assert problems["bad"].startswith("it cannot be read from storage")
            assert problems["worse"].startswith("it cannot be read from storage")
            # Whoever knows what it should be puts it right, or removes it.
            await bed.client.add_or_update_recurring("bad", REQUEST, cron="* * * * *")
            assert await bed.client.remove_recurring("worse")
            await bed.pass_time(60)
            assert await bed.fired() == [minute(1), minute(2), minute(3), minute(3)]


ran: list[datetime] = []
delays = HandlerRegistry()


@job_handler("recurring.job", registry=delays)
class DelayedHandler(JobHandler[dict[str, int]]):
    def __init__(self, bed: Bed) -> None:
        self._bed = bed

    async def execute(self, context: JobContext[dict[str, int]]) -> None:
        ran.append(self._bed.clock.now().wall)


async def test_a_delay_of_six_hours_outlives_all_workers_and_runs_once(bed: Bed) -> None:
    def worker() -> JobWorker:
        return JobWorker(bed.broker, handlers=[(DelayedHandler, lambda: DelayedHandler(bed))], clock=bed.clock)

    ran.clear()
    async with bed.scheduler():
        handle = await bed.client.enqueue(REQUEST, delay=timedelta(hours=6))
        due = bed.clock.now().wall + timedelta(hours=6)
        for _ in range(3):
            async with worker(), worker():
                await bed.pass_time(2 * 3600 - 60, step=900)
    async with bed.scheduler(), worker(), worker():
        await bed.pass_time(170, step=30)
        assert (ran, (await bed.client.get(handle.job_id)).status) == ([], JobStatus.SCHEDULED)
        await bed.pass_time(60, step=10)
        await handle.result(timeout=PATIENCE)
        await bed.pass_time(7 * 3600, step=900)
    assert len(ran) == 1
    assert timedelta() <= ran[0] - due <= timedelta(minutes=1)  # the clock goes on while the job is on its way
