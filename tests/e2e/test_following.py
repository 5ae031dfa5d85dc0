"""Those who come late see the last state at once; those who come in the very moment of the end miss nothing."""

from __future__ import annotations

import asyncio

import pytest

from beskar_jobs import (
    JobCancelled,
    JobContext,
    JobFailed,
    JobStatus,
    ResultTimeout,
    Retry,
    SchedulerUnavailable,
    WaitingFor,
)
from beskar_jobs.wire.messages import StatusMessage
from beskar_jobs.wire.serializer import JsonSerializer
from tests.e2e.cluster import PATIENCE, Cluster, play, reaches, results, within
from tests.e2e.jobs import Gate, Number, Play, Product, Scene, SquareHandler


async def test_a_late_subscriber_gets_the_end_and_the_typed_result_at_once(cluster: Cluster) -> None:
    await cluster.start(SquareHandler)
    handle = await cluster.client.enqueue(SquareHandler.request(Number(8)))
    await handle.result(PATIENCE)
    late = await cluster.new_client()
    again = late.handle(handle.job_id, Product)
    updates = [update async for update in again.watch()]
    assert [update.status for update in updates] == [JobStatus.SUCCEEDED]
    assert await again.result(PATIENCE) == Product(64)


async def test_the_status_topic_keeps_the_end_for_any_mqtt_client(cluster: Cluster) -> None:
    await cluster.start(SquareHandler)
    handle = await cluster.client.enqueue(SquareHandler.request(Number(8)))
    await handle.result(PATIENCE)
    wire = await cluster.wire()
    await wire.subscribe(f"status/{handle.job_id}")
    serializer = JsonSerializer()
    message = await wire.until(lambda message: serializer.decode(message.payload, StatusMessage).job.status.is_terminal)
    item = serializer.decode(message.payload, StatusMessage).job
    assert (item.id, item.job_type, item.status) == (handle.job_id, "e2e.square", JobStatus.SUCCEEDED)
    assert bytes(item.result) == b'{"value":64}'


async def test_a_late_subscriber_sees_how_a_job_runs_fails_or_was_cancelled(cluster: Cluster) -> None:
    gate = Gate()

    async def act(context: JobContext[Scene]) -> str:
        if context.arguments.name == "fail":
            raise ValueError("on purpose")
        await context.report_progress(40, "under way")
        return await gate(context)

    await cluster.start(Play(act))
    running, failed, cancelled = await cluster.client.enqueue_many([play(Play, name) for name in ("run", "fail", "x")])
    await gate.until_entered(2)
    await cancelled.cancel("late for it")
    with pytest.raises(JobFailed):
        await failed.result(PATIENCE)
    with pytest.raises(JobCancelled):
        await cancelled.result(PATIENCE)

    late = await cluster.new_client()
    first = await within(anext(late.handle(running.job_id).watch()))
    assert (first.status, first.percent, first.message) == (JobStatus.RUNNING, 40, "under way")
    with pytest.raises(JobFailed, match="on purpose"):
        await late.handle(failed.job_id).result(PATIENCE)
    with pytest.raises(JobCancelled, match="late for it"):
        await late.handle(cancelled.job_id).result(PATIENCE)
    gate.opened.set()
    assert await late.handle(running.job_id, str).result(PATIENCE) == running.job_id


async def test_many_may_watch_one_job(cluster: Cluster) -> None:
    gate = Gate()
    await cluster.start(Play(gate))
    handle = await cluster.client.enqueue(play(Play))
    clients = [await cluster.new_client() for _ in range(4)]
    waiting = [asyncio.create_task(client.handle(handle.job_id, str).result(PATIENCE)) for client in clients * 2]
    await gate.until_entered(1)
    gate.opened.set()
    assert await asyncio.gather(*waiting) == [handle.job_id] * 8


async def test_waiting_ends_in_time_and_the_job_goes_on(cluster: Cluster) -> None:
    gate = Gate()
    await cluster.start(Play(gate))
    handle = await cluster.client.enqueue(play(Play))
    await reaches(handle, JobStatus.RUNNING)
    with pytest.raises(ResultTimeout, match="running"):
        await handle.result(0.05)
    gate.opened.set()
    assert await handle.result(PATIENCE) == handle.job_id


async def test_a_result_that_is_late_tells_what_went_wrong_last_and_what_the_job_waits_for(cluster: Cluster) -> None:
    async def fails(_: JobContext[Scene]) -> str:
        raise ConnectionError("the lights are out")

    await cluster.start(Play(fails))
    handle = await cluster.client.enqueue(play(Play), retry=Retry(1, delays=[3600]))
    async with asyncio.timeout(PATIENCE):
        async for update in handle.watch():
            if update.waiting_for is WaitingFor.RETRY:
                break
    with pytest.raises(ResultTimeout, match=r"waiting for: retry; .* failed: .*ConnectionError: the lights are out"):
        await handle.result(0.05)


async def test_a_job_that_ends_while_a_client_subscribes_is_never_missed(cluster: Cluster) -> None:
    """2,000 rounds in memory; benchmarks/subscribe_race.py does 10,000 over each broker."""
    rounds, at_once = (2_000 if cluster.memory is not None else 200), 50
    await cluster.start(SquareHandler, max_concurrency=at_once)
    watcher = await cluster.new_client()
    for _ in range(rounds // at_once):
        handles = await cluster.client.enqueue_many([SquareHandler.request(Number(n)) for n in range(at_once)])
        late = [watcher.handle(handle.job_id, Product) for handle in handles]
        assert await results(late) == [Product(n**2) for n in range(at_once)]


async def test_without_a_scheduler_a_request_ends_in_a_clear_error_and_may_be_repeated(cluster: Cluster) -> None:
    client = await cluster.new_client(request_timeout=0.3)
    for _ in range(2):
        with pytest.raises(SchedulerUnavailable, match=cluster.prefix):
            await client.enqueue(SquareHandler.request(Number(4)), job_id="once")
    await cluster.scheduler()
    await cluster.worker(SquareHandler)
    patient = await cluster.new_client()
    handle = await patient.enqueue(SquareHandler.request(Number(4)), job_id="once")
    assert await handle.result(PATIENCE) == Product(16)
    assert [details.job_id for details in await patient.find()] == ["once"]


async def test_a_request_made_before_its_scheduler_is_there_is_answered_when_it_comes(cluster: Cluster) -> None:
    client = await cluster.new_client(request_timeout=PATIENCE)
    asking = asyncio.create_task(client.enqueue(SquareHandler.request(Number(4))))
    await asyncio.sleep(0)
    await cluster.scheduler()
    await cluster.worker(SquareHandler)
    assert await (await asking).result(PATIENCE) == Product(16)
