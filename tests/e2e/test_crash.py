"""Workers that die, are cut off, replaced, or kept busy: each job is done, and has one accepted result."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import attrs
import pytest

from beskar_jobs import JobContext, JobFailed, JobStatus, JobWorker, WorkerReplaced
from beskar_jobs.model.job import FailureKind, WorkerId
from beskar_jobs.wire.messages import WorkerPresenceMessage
from beskar_jobs.wire.serializer import JsonSerializer
from tests.e2e.cluster import PATIENCE, Cluster, play, reaches, results, within
from tests.e2e.jobs import FragilePlay, Gate, Number, Play, PlayInThread, Product, Scene, SquareHandler

JSON = JsonSerializer()


@contextlib.asynccontextmanager
async def worker_of_its_own_loop(cluster: Cluster, *handlers: Any, **options: Any) -> AsyncIterator[JobWorker]:
    """A worker on another event loop, in another thread: its handlers may block as long as they like."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    worker = JobWorker(cluster.url, handlers=handlers, settings=cluster.settings, **options)
    try:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(worker.start(), loop))
        yield worker
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(worker.stop(), loop))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join, PATIENCE)
        loop.close()


async def test_the_jobs_of_a_dead_worker_run_elsewhere_within_a_second_and_end_once(cluster: Cluster) -> None:
    doomed, elsewhere = Gate(), Gate()
    worker = await cluster.start(Play(doomed), max_concurrency=4)
    assert worker is not None
    handles = await cluster.client.enqueue_many([play(Play) for _ in range(4)])
    await doomed.until_entered(4)
    await cluster.worker(Play(elsewhere))
    await cluster.until_workers(2)
    died = time.monotonic()
    worker.simulate_crash()
    await elsewhere.until_entered(4)
    assert time.monotonic() - died < 1
    elsewhere.opened.set()
    doomed.opened.set()
    assert await results(handles) == [handle.job_id for handle in handles]
    assert doomed.left == []
    for handle in handles:
        details = await handle.get()
        assert (details.status, details.update.attempt) == (JobStatus.SUCCEEDED, 2)
        assert (details.crashes, details.failures) == (1, 0)
    assert [beat.worker_id for beat in await cluster.client.workers()] != [worker.worker_id]


async def test_a_job_that_kills_every_worker_is_dead_lettered_when_its_crash_budget_is_used_up(
    cluster: Cluster,
) -> None:
    gate = Gate()
    await cluster.start()
    handle = await cluster.client.enqueue(play(Play))
    for number in range(1, 7):
        worker = await cluster.worker(Play(gate))
        await gate.until_entered(number)
        worker.simulate_crash()
    with pytest.raises(JobFailed, match="worker went offline") as failed:
        await handle.result(PATIENCE)
    assert failed.value.failure.kind is FailureKind.CRASH
    details = await handle.get()
    assert (details.crashes, details.failures) == (6, 0)
    assert "crashed 6 times" in details.update.reason


async def test_a_job_that_must_not_start_again_is_dead_lettered_with_its_worker(cluster: Cluster) -> None:
    gate = Gate()
    worker = await cluster.start(FragilePlay(gate))
    assert worker is not None
    handle = await cluster.client.enqueue(play(FragilePlay))
    await gate.until_entered(1)
    worker.simulate_crash()
    with pytest.raises(JobFailed):
        await handle.result(PATIENCE)
    assert "restart_on_crash" in (await handle.get()).update.reason


async def test_a_job_whose_cancellation_was_requested_does_not_start_again_after_a_crash(cluster: Cluster) -> None:
    def deaf(context: JobContext[Scene]) -> None:
        entered.set()
        let_go.wait(PATIENCE)

    entered, let_go = threading.Event(), threading.Event()
    worker = await cluster.start(PlayInThread(deaf))
    assert worker is not None
    handle = await cluster.client.enqueue(play(PlayInThread))
    assert await asyncio.to_thread(entered.wait, PATIENCE)
    try:
        assert await handle.cancel() == "requested"
        worker.simulate_crash()
        await reaches(handle, JobStatus.CANCELLED)
    finally:
        let_go.set()


async def test_of_two_processes_with_one_id_the_older_stops_and_its_jobs_go_to_the_newer(cluster: Cluster) -> None:
    old_gate, new_gate = Gate(), Gate()
    older = await cluster.start(Play(old_gate), worker_id="same", heartbeat_interval=0.2)
    assert older is not None
    (old,) = await cluster.client.workers()
    handle = await cluster.client.enqueue(play(Play))
    await old_gate.until_entered(1)
    newer = await cluster.worker(Play(new_gate), worker_id="same", heartbeat_interval=0.2)
    with pytest.raises(WorkerReplaced, match="same"):
        await within(older.wait())
    await new_gate.until_entered(1)
    wire = await cluster.wire()
    await wire.subscribe("workers/same/heartbeat")
    new_gate.opened.set()
    old_gate.opened.set()
    assert await handle.result(PATIENCE) == handle.job_id
    assert old_gate.left == []
    # No ping-pong: from now on one of them speaks, and it is online.
    await wire.until_heard(5)
    beats = [JSON.decode(message.payload, WorkerPresenceMessage).worker for message in wire.heard]
    assert {beat.incarnation for beat in beats}.isdisjoint({old.incarnation})
    assert all(beat.is_online for beat in beats)
    assert newer.connected
    assert (await handle.get()).crashes == 1


async def test_a_worker_started_anew_under_its_id_recovers_the_jobs_of_the_one_before(cluster: Cluster) -> None:
    before, after = Gate(), Gate()
    after.opened.set()
    worker = await cluster.start(Play(before), worker_id="same")
    assert worker is not None
    handle = await cluster.client.enqueue(play(Play))
    await before.until_entered(1)
    worker.simulate_crash()
    await cluster.worker(Play(after), worker_id="same")
    assert await handle.result(PATIENCE) == handle.job_id
    assert after.entered == [handle.job_id]


async def test_the_last_will_of_an_earlier_process_or_connection_takes_nothing_away(cluster: Cluster) -> None:
    gate = Gate()
    await cluster.start(Play(gate), worker_id="w")
    (beat,) = await cluster.client.workers()
    handle = await cluster.client.enqueue(play(Play))
    await reaches(handle, JobStatus.RUNNING)
    wire = await cluster.wire()
    for stale in (
        attrs.evolve(beat, is_online=False, incarnation="000000000001-dead"),
        attrs.evolve(beat, is_online=False, connection=beat.connection - 1),
    ):
        payload = JSON.encode(WorkerPresenceMessage(worker=stale))
        await wire.publish("workers/w/heartbeat", payload, retain=True)
    details = await handle.get()
    assert (details.status, details.crashes, details.update.worker_id) == (JobStatus.RUNNING, 0, "w")
    # The worker puts its retained presence right again, for whoever comes later.
    late = await cluster.wire("late")
    await late.subscribe("workers/w/heartbeat")
    await late.until(lambda message: JSON.decode(message.payload, WorkerPresenceMessage).worker.is_online)
    gate.opened.set()
    assert await handle.result(PATIENCE) == handle.job_id
    assert len(gate.entered) == 1


async def test_a_handler_that_blocks_its_event_loop_beyond_the_deadline_is_not_declared_dead(
    cluster: Cluster,
) -> None:
    interval, began = 0.2, []

    async def block(context: JobContext[Scene]) -> str:
        began.append(context.attempt)
        time.sleep(6 * interval)  # noqa: ASYNC251  # the fault that this test is about
        return "done"

    scheduler = await cluster.scheduler()
    await cluster.new_client()
    async with worker_of_its_own_loop(cluster, Play(block), heartbeat_interval=interval):
        await cluster.worker(Play(block), worker_id="idle", queues=["elsewhere"])
        handle = await cluster.client.enqueue(play(Play))
        assert await handle.result(PATIENCE) == "done"
    assert began == [1]
    assert scheduler.counters.get("attempts lost", 0) == 0


async def test_a_long_job_on_a_healthy_worker_is_never_rescued(cluster: Cluster) -> None:
    interval, gate = 0.1, Gate()
    scheduler = await cluster.scheduler()
    await cluster.new_client()
    await cluster.worker(Play(gate), heartbeat_interval=interval)
    handle = await cluster.client.enqueue(play(Play))
    await gate.until_entered(1)
    wire = await cluster.wire()
    await wire.subscribe("workers/+/heartbeat")
    await wire.until_heard(9)
    gate.opened.set()
    assert await handle.result(PATIENCE) == handle.job_id
    assert (await handle.get()).update.attempt == 1
    assert {name for name in scheduler.counters if "lost" in name} == set()


async def test_a_silent_worker_is_lost_after_three_intervals(cluster: Cluster) -> None:
    """No Will says so here: the worker is one that only ever said that it is there."""
    await cluster.start(SquareHandler)
    (beat,) = await cluster.client.workers()
    ghost = attrs.evolve(beat, worker_id=WorkerId("ghost"), interval=0.2, max_concurrency=1000)
    wire = await cluster.wire()
    await wire.publish("workers/ghost/heartbeat", JSON.encode(WorkerPresenceMessage(worker=ghost)))
    await cluster.until_workers(2)
    handle = await cluster.client.enqueue(SquareHandler.request(Number(5)))
    other = await cluster.client.enqueue(SquareHandler.request(Number(6)))
    assert await results([handle, other]) == [Product(25), Product(36)]
    await cluster.until_workers(1)


async def test_a_killed_clients_job_is_there_once_and_may_be_asked_for_again(cluster: Cluster) -> None:
    """It died between its command and the reply; whoever repeats the command, under the same id, gets the one job."""
    ran: list[str] = []

    async def note(context: JobContext[Scene]) -> str:
        ran.append(context.job_id)
        return "once"

    await cluster.start(Play(note))
    killed = await cluster.wire("killed")
    await killed.publish(
        "commands/enqueue",
        b'{"v":1,"items":[{"id":"j1","job_type":"e2e.play","queue":"stage","arguments":{"name":"x"}}]}',
        response_topic=f"{cluster.prefix}/clients/killed/replies",
        correlation=b"1",
    )
    killed.transport.abort()
    again = await cluster.client.enqueue(play(Play, "x"), job_id="j1")
    assert await again.result(PATIENCE) == "once"
    assert ran == ["j1"]
