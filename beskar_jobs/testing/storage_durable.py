"""Claims of the storage suite about storages whose jobs outlive the object, and that several objects use at once."""

from __future__ import annotations

import asyncio
from typing import Final

from beskar_jobs.model.job import JobStatus
from beskar_jobs.ports.storage import JobFilter
from beskar_jobs.testing.storage_bed import (
    DurableClaim,
    StorageFactory,
    changed,
    check_same,
    full_job,
    make_job,
    put,
    write,
)

CLAIMS: Final[list[DurableClaim]] = []


def claim(function: DurableClaim) -> DurableClaim:
    CLAIMS.append(function)
    return function


@claim
async def a_new_object_sees_what_an_old_one_committed(make: StorageFactory) -> None:
    old, new = make(), make()
    await old.open()
    jobs = [full_job(), make_job("b", sequence=50)]
    await put(old, *jobs)
    running = changed(jobs[1], JobStatus.RUNNING)
    await write(old, running)
    await old.close()
    await new.open()
    try:
        check_same(list(await new.get([job.id for job in jobs])), [jobs[0], running], "the jobs in the new object")
        check_same(await new.last_sequence(), 50, "the last sequence in the new object")
    finally:
        await new.close()


@claim
async def several_objects_may_open_a_new_place_at_once(make: StorageFactory) -> None:
    storages = [make() for _ in range(4)]
    await asyncio.gather(*(storage.open() for storage in storages))
    try:
        await asyncio.gather(*(put(storage, make_job(f"job-{n}")) for n, storage in enumerate(storages)))
        for storage in storages:
            check_same(len(await storage.find(JobFilter(), limit=9)), 4, "how many jobs each object sees")
    finally:
        await asyncio.gather(*(storage.close() for storage in storages))


@claim
async def of_many_objects_that_change_one_version_one_wins(make: StorageFactory) -> None:
    storages = [make() for _ in range(4)]
    await asyncio.gather(*(storage.open() for storage in storages))
    try:
        job = make_job("a")
        await put(storages[0], job)
        for _ in range(20):
            rivals = [changed(job, reason=f"rival {number}") for number in range(len(storages))]
            outcomes = await asyncio.gather(*map(write, storages, rivals))
            winners = [rival for rival, outcome in zip(rivals, outcomes, strict=True) if outcome.applied[0]]
            check_same(len(winners), 1, "how many of the rivals won")
            for storage in storages:
                check_same(list(await storage.get([job.id])), winners, "the job as each object sees it")
            job = winners[0]
    finally:
        await asyncio.gather(*(storage.close() for storage in storages))
