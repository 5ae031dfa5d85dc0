"""Questions about jobs that carry much."""

from __future__ import annotations

import pytest

from beskar_jobs import JobStatus, RawRequest, SchedulerUnavailable
from beskar_jobs.testing.services import MosquittoServer
from beskar_jobs.wire.messages import MAX_ARGUMENT_BYTES, REPLY_BYTES
from tests.e2e.cluster import Cluster, reaches, results, within
from tests.e2e.jobs import LargeHandler, Number


async def test_a_list_leaves_large_results_out_and_one_job_has_all(cluster: Cluster) -> None:
    await cluster.start(LargeHandler)
    sizes = [2_000_000, 10, 1_000_000]
    handles = await cluster.client.enqueue_many([LargeHandler.request(Number(size)) for size in sizes])
    for handle in handles:
        await reaches(handle, JobStatus.SUCCEEDED)
    found = {details.job_id: details.update for details in await cluster.client.find()}
    assert [found[handle.job_id].result_omitted for handle in handles] == [True, False, True]
    assert len((await handles[0].get()).update.result or b"") == sizes[0] + 2
    # A client that comes later asks for all three at once, and then for each of the large ones.
    late = await cluster.new_client()
    whole = await results([late.handle(handle.job_id, str) for handle in handles])
    assert [len(result) for result in whole] == sizes


async def test_a_list_of_jobs_with_large_arguments_is_answered(cluster: Cluster) -> None:
    await cluster.start()
    count = 3 * REPLY_BYTES // (MAX_ARGUMENT_BYTES // 8) + 10  # over one reading of storage, too
    requests = [RawRequest("large", "x" * (MAX_ARGUMENT_BYTES // 8 - 2), queue="q") for _ in range(count)]
    handles = await cluster.client.enqueue_many(requests)
    found = await cluster.client.find(limit=1000)
    assert [details.job_id for details in found] == [handle.job_id for handle in reversed(handles)]
    assert not found[0].arguments_omitted
    assert found[-1].arguments_omitted
    assert len((await cluster.client.get(found[-1].job_id)).arguments) == MAX_ARGUMENT_BYTES // 8
    assert len(await cluster.client.find(limit=1)) == 1


async def test_an_answer_that_the_broker_does_not_take_becomes_an_error(topic_prefix: str) -> None:
    with MosquittoServer(settings=("max_packet_size 100000",)) as server:
        cluster = Cluster(server.url, topic_prefix, lambda: "memory://")
        try:
            await cluster.start()
            for _ in range(3):
                await cluster.client.enqueue(RawRequest("t", "x" * 50_000, queue="q"))
            with pytest.raises(SchedulerUnavailable, match=r"the answer cannot be sent: .* 100000"):
                await within(cluster.client.find())
            assert len(await cluster.client.find(limit=1)) == 1
        finally:
            await cluster.close()
