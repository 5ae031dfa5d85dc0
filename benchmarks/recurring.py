"""Recurring entries in one scheduler: CPU of the process while it waits and fires, lag of firing, memory of an entry.

    python benchmarks/recurring.py [--entries 10000] [--seconds 20] [--storage memory|sqlite]

The periods are spread evenly from a second to an hour, so that most of the firings are those of the shortest. "idle" is
the same with every entry far from due. Lag is from the instant to the decision, and to the end of the commit that wrote
it, on the clock of the machine. No worker runs, so each job stays where it is. Memory is what Python allocated for all
that the scheduler has of an entry, the entry itself included.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from beskar_jobs import JobScheduler
from beskar_jobs.cron.timetable import every_text
from beskar_jobs.model.recurring import RecurringDefinition, RecurringJob
from beskar_jobs.ports.storage import Commit, CommitOutcome, JobStorage, RecurringChange
from beskar_jobs.storage.memory import MemoryStorage
from beskar_jobs.storage.sqlite import SqliteStorage
from beskar_jobs.transport.memory_broker import MemoryBroker


class Timed:
    """A storage that notes when each commit with a firing has ended, and the instants that it wrote."""

    def __init__(self, storage: JobStorage) -> None:
        self._storage = storage
        self.lags: list[float] = []
        self.decided: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    async def commit(self, commit: Commit) -> CommitOutcome:
        outcome = await self._storage.commit(commit)
        now = datetime.now(UTC)
        for change in commit.recurring:
            for firing in change.firings:
                occurrence = firing.occurrence
                self.decided.append((occurrence.decided_at - occurrence.instant).total_seconds() * 1000)
                self.lags.append((now - occurrence.instant).total_seconds() * 1000)
        return outcome


def entries(count: int, kind: str) -> list[RecurringJob]:
    now = datetime.now(UTC)
    made = []
    for number in range(count):
        period = timedelta(milliseconds=1000 + number * 3_599_000 // max(1, count - 1))
        definition = RecurringDefinition(f"entry-{number}", "bench.job", "bench", b"{}", every_text(period))
        # Phases spread as they would be after a while.
        next_at = (
            now + timedelta(days=1)
            if kind == "idle"
            else now + timedelta(seconds=2) + period * ((number * 37 % 100) / 100)
        )
        made.append(RecurringJob(definition, now, now, next_at=next_at))
    return made


def percentiles(lags: list[float]) -> str:
    ordered = sorted(lags)
    return f"p50 {ordered[len(ordered) // 2]:.1f} ms, p99 {ordered[len(ordered) * 99 // 100]:.1f} ms"


async def run(count: int, seconds: float, kind: str, place: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        storage = SqliteStorage(Path(folder) / "jobs.db") if place == "sqlite" else MemoryStorage()
        await storage.open()
        await storage.commit(Commit(recurring=[RecurringChange(e.name, 0, e) for e in entries(count, kind)]))
        if place == "sqlite":  # the scheduler reads entries of its own; those in memory would be shared
            await storage.close()
        timed = Timed(storage)
        async with MemoryBroker() as broker:
            tracemalloc.start()
            before = tracemalloc.get_traced_memory()[0]
            async with JobScheduler(broker, storage=cast(JobStorage, timed)):  # __getattr__ gives the rest
                per_entry = (tracemalloc.get_traced_memory()[0] - before) / count
                tracemalloc.stop()
                await asyncio.sleep(3)  # what was due while the scheduler started is no measure of it
                timed.lags.clear()
                timed.decided.clear()
                started = time.process_time()
                await asyncio.sleep(seconds)
                cpu = (time.process_time() - started) / seconds
                lags, decided = list(timed.lags), list(timed.decided)
    lag = f", lag to the decision {percentiles(decided)}, to the commit {percentiles(lags)}" if lags else ""
    share = "" if place == "sqlite" else " beside the entry itself, which is the storage's"
    print(
        f"{kind}, {place}: {count} entries, {len(lags) / seconds:.1f} firings a second, CPU {cpu:.2%} of a core{lag}, "
        f"{per_entry:.0f} bytes an entry{share}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--storage", choices=["memory", "sqlite"], action="append")
    given = parser.parse_args()
    for place in given.storage or ["memory", "sqlite"]:
        for kind in ("idle", "firing"):
            asyncio.run(run(given.entries, given.seconds, kind, place))


if __name__ == "__main__":
    main()
