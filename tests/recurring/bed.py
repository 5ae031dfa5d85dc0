"""A scheduler on a broker in memory, in time that a test moves; what it made of instants is read from storage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import attrs

from beskar_jobs import JobClient, JobScheduler, RawRequest
from beskar_jobs.model.job import Job
from beskar_jobs.model.recurring import Occurrence, OccurrenceOutcome
from beskar_jobs.ports.storage import JobFilter, JobStorage
from beskar_jobs.testing.clock import ManualClock
from beskar_jobs.transport.memory_broker import MemoryBroker

T0 = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)
REQUEST = RawRequest("recurring.job", {"a": 1})
PATIENCE = 20.0


def minute(number: float) -> datetime:
    """Minutes after 12:00."""
    return T0.replace(second=0) + timedelta(minutes=number)


@attrs.frozen
class Bed:
    clock: ManualClock
    broker: MemoryBroker
    storage: JobStorage
    client: JobClient
    schedulers: list[JobScheduler] = attrs.field(factory=list)

    async def settle(self) -> None:
        """Let everything that is ready happen, to the last commit."""
        async with asyncio.timeout(PATIENCE):
            for _ in range(2):
                await self.client.recurring()
                quiet = 0
                while quiet < 3:
                    await asyncio.sleep(0)
                    quiet = 0 if any(map(_is_at_work, self.schedulers)) else quiet + 1

    async def pass_time(self, seconds: float, step: float = 10.0) -> None:
        """Let time pass in steps, and all that is due in each of them happen."""
        while seconds > 0:
            self.clock.advance(min(step, seconds))
            seconds -= step
            await self.settle()

    async def jobs(self) -> list[Job]:
        return sorted(await self.storage.find(JobFilter(), limit=10_000), key=lambda job: job.spec.sequence)

    async def fired(self) -> list[datetime]:
        """The instants that jobs were made of, in order."""
        return [datetime.fromisoformat(job.spec.metadata["instant"]) for job in await self.jobs()]

    async def outcomes(self, name: str = "r") -> list[tuple[datetime, OccurrenceOutcome]]:
        found: list[Occurrence] = list(await self.storage.occurrences(name, 100))
        return [(item.instant, item.outcome) for item in reversed(found)]

    @asynccontextmanager
    async def scheduler(self, name: str = "s") -> AsyncIterator[JobScheduler]:
        async with JobScheduler(self.broker, storage=self.storage, scheduler_id=name, clock=self.clock) as scheduler:
            self.schedulers.append(scheduler)
            try:
                yield scheduler
            finally:
                self.schedulers.remove(scheduler)


def _is_at_work(scheduler: JobScheduler) -> bool:
    return bool(scheduler._commits.busy or scheduler._tasks or scheduler._step_scheduled)


@asynccontextmanager
async def open_bed(storage: JobStorage, start: datetime = T0) -> AsyncIterator[Bed]:
    async with MemoryBroker() as broker, JobClient(broker) as client:
        await storage.open()
        try:
            yield Bed(ManualClock(start), broker, storage, client)
        finally:
            await storage.close()
