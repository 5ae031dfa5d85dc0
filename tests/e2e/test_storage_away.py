"""Storage that cannot be written or read: whoever asks is told so, and nothing that was asked for piles up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from beskar_jobs import EmbeddedBroker, RawRequest, SchedulerUnavailable
from beskar_jobs.model.errors import InvalidValue, StorageError
from beskar_jobs.model.job import Job
from beskar_jobs.ports.storage import Commit, CommitOutcome, JobFilter
from beskar_jobs.storage.memory import MemoryStorage
from tests.e2e.cluster import Cluster, eventually, within


class FaultyStorage(MemoryStorage):
    """Fails while it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.full = False
        self.misread = False

    async def commit(self, commit: Commit) -> CommitOutcome:
        if self.full:
            raise StorageError("the disk is full")
        return await super().commit(commit)

    async def find(self, wanted: JobFilter, *, limit: int, before_sequence: int | None = None) -> Sequence[Job]:
        if self.misread:
            raise InvalidValue("a stored name is no name")
        return await super().find(wanted, limit=limit, before_sequence=before_sequence)


@pytest.fixture
def storage() -> FaultyStorage:
    return FaultyStorage()


@pytest.fixture
async def cluster(storage: FaultyStorage, topic_prefix: str) -> AsyncIterator[Cluster]:
    async with EmbeddedBroker() as broker:
        cluster = Cluster(broker.url, topic_prefix, lambda: storage)
        try:
            yield cluster
        finally:
            storage.full = False
            await cluster.close()


REQUEST = RawRequest("t", {}, queue="q")


async def test_a_client_learns_that_storage_is_away_and_its_jobs_are_there_once_it_is_back(
    cluster: Cluster, storage: FaultyStorage
) -> None:
    scheduler = await cluster.scheduler()
    client = await cluster.new_client(request_timeout=2.5)
    storage.full = True
    # The first is what the fault is found with: it stays, is repeated, and its repeat is answered.
    for job_id in ("first", "second"):
        with pytest.raises(SchedulerUnavailable, match="storage is away: the disk is full"):
            await within(client.enqueue(REQUEST, job_id=job_id))
    assert scheduler.counters["enqueues turned away"]
    storage.full = False
    patient = await cluster.new_client()
    await within(patient.enqueue(REQUEST, job_id="second"))
    found = await eventually(patient.find, lambda found: len(found) == 2)
    assert {details.job_id for details in found} == {"first", "second"}


async def test_an_enqueue_waits_for_storage_that_is_back_in_time(cluster: Cluster, storage: FaultyStorage) -> None:
    scheduler = await cluster.scheduler()
    impatient = await cluster.new_client(request_timeout=2.5)
    storage.full = True
    with pytest.raises(SchedulerUnavailable):
        await within(impatient.enqueue(REQUEST, job_id="first"))
    turned_away = scheduler.counters["enqueues turned away"]

    async def counted() -> int:
        return scheduler.counters["enqueues turned away"]

    async def come_back() -> None:
        await eventually(counted, lambda count: count > turned_away)
        storage.full = False

    client = await cluster.new_client(request_timeout=20.0)
    async with asyncio.TaskGroup() as group:
        group.create_task(come_back())
        handle = group.create_task(client.enqueue(REQUEST))
    assert await client.get(handle.result().job_id)


async def test_a_query_that_goes_wrong_is_answered_with_the_reason(cluster: Cluster, storage: FaultyStorage) -> None:
    await cluster.start()
    storage.misread = True
    with pytest.raises(SchedulerUnavailable, match="a stored name is no name"):
        await within(cluster.client.find())
