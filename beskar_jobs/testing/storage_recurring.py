"""Claims of the storage suite about recurring entries: an entry, its occurrences and their jobs are written as one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import attrs

from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.model.job import Job, JobId
from beskar_jobs.model.recurring import (
    OCCURRENCES_KEPT,
    Misfire,
    Occurrence,
    OccurrenceOutcome,
    Overlap,
    RecurringDefinition,
    RecurringJob,
    RecurringSource,
)
from beskar_jobs.model.retry import Retry
from beskar_jobs.ports.storage import Commit, Firing, JobFilter, JobStorage, RecurringChange
from beskar_jobs.testing.storage_bed import (
    START,
    Claim,
    DurableClaim,
    StorageFactory,
    at,
    check_same,
    ids,
    make_job,
    put,
)

__all__ = ["CLAIMS", "DURABLE_CLAIMS", "firing", "full_entry", "make_entry", "write_entry"]

CLAIMS: Final[list[Claim]] = []
DURABLE_CLAIMS: Final[list[DurableClaim]] = []


def claim(function: Claim) -> Claim:
    CLAIMS.append(function)
    return function


def durable_claim(function: DurableClaim) -> DurableClaim:
    DURABLE_CLAIMS.append(function)
    return function


def make_entry(name: str = "nightly", *, version: int = 1, next_at: datetime | None = START) -> RecurringJob:
    definition = RecurringDefinition(name, "suite.job", "default", b"{}", "0 3 * * *")
    return RecurringJob(definition, START, START, version=version, next_at=next_at)


def full_entry(name: str = "full") -> RecurringJob:
    """An entry in which every field, at every depth, differs from its default."""
    return RecurringJob(
        RecurringDefinition(
            name,
            "suite.full",
            "médias",
            b'{"source":"\xc3\xa9.mov"}',
            "0 3 * * MON",
            "Europe/Berlin",
            priority=-3,
            retry=Retry(7, delays=(0.1, 15.0), jitter=0.3, retry_on=("app.Overload",), give_up_on=("app.Never",)),
            timeout=0.1,
            metadata={"tenant": "größe"},
            overlap=Overlap.QUEUE_NEXT,
            misfire=Misfire.FIRE_ALL,
            misfire_limit=7,
            start=at(0.000001),
            end=at(10**8),
            jitter=2.5,
        ),
        at(1.000001),
        at(2),
        source=RecurringSource.DECLARED,
        paused=True,
        next_at=at(3),
        last_instant=at(4),
        last=Occurrence(name, at(4), OccurrenceOutcome.MISSED, at(5), JobId("job"), 3),
        queued=at(6),
        runs=(JobId("a"), JobId("b")),
        withdrawn_at=at(7),
        problem="a problem",
    )


def firing(name: str, instant: datetime, job: Job | None = None) -> Firing:
    return Firing(Occurrence(name, instant, OccurrenceOutcome.ENQUEUED, instant, None if job is None else job.id), job)


async def write_entry(
    storage: JobStorage, entry: RecurringJob, *firings: Firing, expected: int | None = None
) -> Sequence[bool] | None:
    """Write *entry* over the version before its own; which firings were written."""
    version = entry.version - 1 if expected is None else expected
    outcome = await storage.commit(Commit(recurring=[RecurringChange(entry.name, version, entry, firings)]))
    written = outcome.recurring[0]
    return None if written is None else list(written)


@claim
async def recurring_entries_come_back_equal_by_name(storage: JobStorage) -> None:
    entries = [full_entry(), make_entry("a"), make_entry("z", next_at=None)]
    for entry in entries:
        check_same(await write_entry(storage, entry), [], "a new entry")
    ordered = [entries[1], entries[0], entries[2]]
    check_same(list(await storage.recurring()), ordered, "all entries")
    check_same(list(await storage.recurring(["z", "none", "a"])), [ordered[0], ordered[2]], "the entries named")
    check_same(list(await storage.recurring([])), [], "no entries named")


@claim
async def an_entry_is_written_over_the_expected_version_only(storage: JobStorage) -> None:
    check_same(await write_entry(storage, make_entry(version=2)), None, "a change of an entry that is not there")
    await write_entry(storage, make_entry())
    check_same(await write_entry(storage, make_entry()), None, "a second entry of one name")
    check_same(await write_entry(storage, make_entry(version=3)), None, "a change over a version to come")
    second = make_entry(version=2, next_at=at(60))
    check_same(await write_entry(storage, second), [], "a change over the stored version")
    check_same(list(await storage.recurring()), [second], "the entry")


@claim
async def changes_of_one_entry_in_one_commit_chain(storage: JobStorage) -> None:
    entries = [make_entry(version=version, next_at=at(version)) for version in (1, 2, 3)]
    changes = [RecurringChange(entry.name, entry.version - 1, entry) for entry in entries]
    outcome = await storage.commit(Commit(recurring=changes))
    check_same([written is not None for written in outcome.recurring], [True] * 3, "a chain of changes")
    check_same(list(await storage.recurring()), [entries[-1]], "the entry after the chain")


@claim
async def a_refused_entry_leaves_neither_occurrence_nor_job(storage: JobStorage) -> None:
    await write_entry(storage, make_entry())
    job = make_job("run")
    check_same(await write_entry(storage, make_entry(version=9), firing("nightly", START, job)), None, "a stale firing")
    check_same(ids(await storage.get([job.id])), [None], "its job")
    check_same(list(await storage.occurrences("nightly", 9)), [], "its occurrence")
    check_same(list(await storage.recurring()), [make_entry()], "the entry")


@claim
async def a_firing_writes_entry_occurrence_and_job(storage: JobStorage) -> None:
    await write_entry(storage, make_entry())
    job = make_job("run", sequence=77)
    fired = firing("nightly", START, job)
    skipped = Firing(Occurrence("nightly", at(60), OccurrenceOutcome.SKIPPED_RUNNING, at(61)))
    entry = make_entry(version=2, next_at=at(120))
    check_same(await write_entry(storage, entry, fired, skipped), [True, True], "two firings")
    check_same(list(await storage.get([job.id])), [job], "the job")
    check_same(await storage.last_sequence(), 77, "the last sequence")
    check_same(len(await storage.find(JobFilter(), limit=9)), 1, "how many jobs are found")
    check_same(list(await storage.occurrences("nightly", 9)), [skipped.occurrence, fired.occurrence], "the occurrences")
    check_same(list(await storage.occurrences("nightly", 1)), [skipped.occurrence], "the latest occurrence")


@claim
async def an_instant_is_written_once(storage: JobStorage) -> None:
    await write_entry(storage, make_entry())
    first, second = make_job("first"), make_job("second")
    await write_entry(storage, make_entry(version=2), firing("nightly", START, first))
    again = [firing("nightly", START, second), firing("nightly", at(60), make_job("third"))]
    check_same(await write_entry(storage, make_entry(version=3), *again), [False, True], "an instant written twice")
    check_same(ids(await storage.get([first.id, second.id, JobId("third")])), ["first", None, "third"], "the jobs")
    check_same([entry.version for entry in await storage.recurring()], [3], "the entry's version")


@claim
async def a_firing_whose_job_is_there_leaves_no_occurrence(storage: JobStorage) -> None:
    job = make_job("run")
    await put(storage, job)
    await write_entry(storage, make_entry())
    check_same(await write_entry(storage, make_entry(version=2), firing("nightly", START, job)), [False], "a known job")
    check_same(list(await storage.occurrences("nightly", 9)), [], "the occurrences")


@claim
async def names_have_their_own_instants(storage: JobStorage) -> None:
    for name in ("a", "b"):
        await write_entry(storage, make_entry(name))
        job = make_job(f"of-{name}")
        check_same(await write_entry(storage, make_entry(name, version=2), firing(name, START, job)), [True], name)


@claim
async def a_removed_entry_takes_its_occurrences_and_leaves_its_jobs(storage: JobStorage) -> None:
    await write_entry(storage, make_entry())
    job = make_job("run")
    await write_entry(storage, make_entry(version=2), firing("nightly", START, job))
    stale = await storage.commit(Commit(recurring=[RecurringChange("nightly", 1, None)]))
    check_same(list(stale.recurring), [None], "a removal over an old version")
    gone = await storage.commit(Commit(recurring=[RecurringChange("nightly", 2, None)]))
    check_same([list(written or ()) for written in gone.recurring], [[]], "a removal")
    check_same(list(await storage.recurring()), [], "the entries")
    check_same(list(await storage.occurrences("nightly", 9)), [], "the occurrences")
    check_same(ids(await storage.get([job.id])), ["run"], "the job")
    check_same(await write_entry(storage, make_entry()), [], "a new entry of that name")


@claim
async def only_the_latest_occurrences_are_kept(storage: JobStorage) -> None:
    await write_entry(storage, make_entry())
    count = OCCURRENCES_KEPT + 20
    fired = [firing("nightly", at(second)) for second in range(count)]
    check_same(await write_entry(storage, make_entry(version=2), *fired), [True] * count, "many firings")
    kept = list(await storage.occurrences("nightly", 10 * count))
    check_same(kept, [item.occurrence for item in reversed(fired[20:])], "the occurrences that are kept")


@claim
async def a_firing_without_zone_is_refused_before_anything_is_written(storage: JobStorage) -> None:
    await write_entry(storage, make_entry())
    naive = firing("nightly", START.replace(tzinfo=None), make_job("run"))
    try:
        await write_entry(storage, make_entry(version=2), firing("nightly", START), naive)
    except InvalidValue:
        check_same(list(await storage.recurring()), [make_entry()], "the entry")
        check_same(list(await storage.occurrences("nightly", 9)), [], "the occurrences")
    else:
        raise AssertionError("an instant without a zone was taken")


@durable_claim
async def of_many_objects_that_fire_one_instant_one_does(make: StorageFactory) -> None:
    storages = [make() for _ in range(4)]
    await asyncio.gather(*(storage.open() for storage in storages))
    try:
        entry = make_entry()
        await write_entry(storages[0], entry)
        for turn in range(10):
            following = attrs.evolve(entry, version=entry.version + 1, next_at=at(60 * (turn + 1)))
            outcomes = await asyncio.gather(
                *(
                    write_entry(storage, following, firing("nightly", at(60 * turn), make_job(f"run-{turn}-{number}")))
                    for number, storage in enumerate(storages)
                )
            )
            check_same([outcome for outcome in outcomes if outcome is not None], [[True]], "who fired")
            entry = following
        for storage in storages:
            check_same(len(await storage.find(JobFilter(), limit=99)), 10, "how many jobs each object sees")
            check_same(list(await storage.recurring()), [entry], "the entry as each object sees it")
    finally:
        await asyncio.gather(*(storage.close() for storage in storages))


@durable_claim
async def a_new_object_sees_the_entries_and_occurrences_of_an_old_one(make: StorageFactory) -> None:
    old, new = make(), make()
    await old.open()
    await write_entry(old, full_entry())
    fired = firing("full", START, make_job("run"))
    await write_entry(old, attrs.evolve(full_entry(), version=2), fired)
    await old.close()
    await new.open()
    try:
        check_same(list(await new.recurring()), [attrs.evolve(full_entry(), version=2)], "the entries")
        check_same(list(await new.occurrences("full", 9)), [fired.occurrence], "the occurrences")
    finally:
        await new.close()
