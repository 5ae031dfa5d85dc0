"""Recurring entries in one scheduler: CPU of the process while it waits and fires, lag of firing, memory of an entry.

    python benchmarks/recurring.py [--entries 10000] [--seconds 20]

The periods are spread evenly from a second to an hour. "idle" is the same with every entry far from due. Lag is from
the instant to the decision, on the clock of the scheduler; the storage is the one in memory, and no worker runs.
"""

from __future__ import annotations

import argparse
import asyncio
import time
import tracemalloc
from datetime import UTC, datetime, timedelta

from beskar_jobs import JobScheduler
from beskar_jobs.cron.timetable import every_text
from beskar_jobs.model.recurring import RecurringDefinition, RecurringJob
from beskar_jobs.ports.storage import Commit, RecurringChange
from beskar_jobs.storage.memory import MemoryStorage
from beskar_jobs.transport.memory_broker import MemoryBroker


def entries(count: int, *, idle: bool) -> list[RecurringJob]:
    now = datetime.now(UTC)
    made = []
    for number in range(count):
        period = timedelta(seconds=1 + number * 3599 // max(1, count - 1))
        definition = RecurringDefinition(f"entry-{number}", "bench.job", "bench", b"{}", every_text(period))
        # Phases spread as they would be after a while.
        next_at = now + timedelta(days=1) if idle else now + timedelta(seconds=2) + period * ((number * 37 % 100) / 100)
        made.append(RecurringJob(definition, now, now, next_at=next_at))
    return made


async def run(count: int, seconds: float, *, idle: bool) -> None:
    storage = MemoryStorage()
    await storage.open()
    await storage.commit(
        Commit(recurring=[RecurringChange(entry.name, 0, entry) for entry in entries(count, idle=idle)])
    )
    async with MemoryBroker() as broker:
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        async with JobScheduler(broker, storage=storage):
            per_entry = (tracemalloc.get_traced_memory()[0] - before) / count
            tracemalloc.stop()
            started = time.process_time()
            await asyncio.sleep(seconds)
            cpu = (time.process_time() - started) / seconds
        await storage.open()
        lags: list[float] = []
        for entry in await storage.recurring():
            found = await storage.occurrences(entry.name, 100)
            lags.extend((item.decided_at - item.instant).total_seconds() * 1000 for item in found)
    lags.sort()
    lag = f", lag p50 {lags[len(lags) // 2]:.1f} ms, p99 {lags[len(lags) * 99 // 100]:.1f} ms" if lags else ""
    kind = "idle" if idle else "firing"
    print(
        f"{kind}: {count} entries, {len(lags) / seconds:.1f} firings a second, CPU {cpu:.2%} of a core{lag}, "
        f"{per_entry:.0f} bytes an entry in the scheduler beside the entry itself"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    for idle in (True, False):
        asyncio.run(run(given.entries, given.seconds, idle=idle))


if __name__ == "__main__":
    main()
