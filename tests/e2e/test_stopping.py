"""Stopping and starting parts in good order: nothing is lost, nothing is done twice, no attempt is used up."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from beskar_jobs import (
    BeskarError,
    BrokerUnreachable,
    ConnectionSettings,
    JobClient,
    JobContext,
    JobScheduler,
    JobStatus,
    JobWorker,
    Retry,
    SyncJobClient,
)
from beskar_jobs.ports.clock import Timer
from beskar_jobs.runtime.clock import SystemClock
from beskar_jobs.testing.services import free_port
from beskar_jobs.wire.messages import WorkerPresenceMessage
from beskar_jobs.wire.serializer import JsonSerializer
from tests.e2e.cluster import PATIENCE, Cluster, eventually, play, reaches, results, within
from tests.e2e.jobs import Gate, Number, Play, PlayInThread, Product, Scene, SquareHandler


async def test_a_job_that_ends_during_a_graceful_stop_is_done_once(cluster: Cluster) -> None:
    gate, elsewhere = Gate(), Gate()
    elsewhere.opened.set()
    worker = await cluster.start(Play(gate), stop_grace=PATIENCE, max_concurrency=3)
    assert worker is not None
    handles = await cluster.client.enqueue_many([play(Play) for _ in range(5)])
    await gate.until_entered(3)
    stopping = asyncio.create_task(worker.stop())
    await eventually(cluster.client.workers, lambda workers: [beat.draining for beat in workers] == [True])
    await cluster.worker(Play(elsewhere), worker_id="next")
    await results(handles[3:])
    assert not stopping.done()
    gate.opened.set()
    await within(stopping)
    assert await results(handles) == [handle.job_id for handle in handles]
    assert sorted(gate.entered + elsewhere.entered) == sorted(handle.job_id for handle in handles)
    assert {details.update.attempt for details in await cluster.client.find()} == {1}


async def test_what_does_not_end_within_the_grace_is_released_without_using_up_an_attempt(cluster: Cluster) -> None:
    gate, elsewhere = Gate(), Gate()
    elsewhere.opened.set()
    worker = await cluster.start(Play(gate), stop_grace=0.1)
    assert worker is not None
    handles = await cluster.client.enqueue_many([play(Play) for _ in range(3)], retry=Retry(0))
    await gate.until_entered(3)
    await within(worker.stop())
    assert gate.left == []
    for handle in handles:
        details = await handle.get()
        assert (details.status, details.update.attempt) == (JobStatus.ENQUEUED, 0)
        assert (details.failures, details.crashes) == (0, 0)
        assert "released" in details.update.reason
    await cluster.worker(Play(elsewhere))
    assert await results(handles) == [handle.job_id for handle in handles]
    assert {details.update.attempt for details in await cluster.client.find()} == {1}


async def test_a_handler_that_cannot_be_stopped_loses_its_job_at_the_stop_and_its_late_end_is_not_accepted(
    cluster: Cluster,
) -> None:
    entered, let_go = threading.Event(), threading.Event()

    def deaf(context: JobContext[Scene]) -> str:
        entered.set()
        let_go.wait(PATIENCE)
        return "too late"

    worker = await cluster.start(PlayInThread(deaf), stop_grace=0.05)
    assert worker is not None
    handle = await cluster.client.enqueue(play(PlayInThread))
    assert await asyncio.to_thread(entered.wait, PATIENCE)
    try:
        await within(worker.stop())
        await cluster.worker(PlayInThread(lambda context: "in time"))
        assert await handle.result(PATIENCE) == "in time"
    finally:
        let_go.set()
    details = await handle.get()
    assert (details.status, details.update.result) == (JobStatus.SUCCEEDED, b'"in time"')


async def test_a_worker_that_stops_in_order_leaves_an_offline_notice_and_no_ghost(cluster: Cluster) -> None:
    """The notice is retained: a scheduler that starts later knows that nobody is there."""
    worker = await cluster.start(SquareHandler, worker_id="leaver")
    assert worker is not None
    await within(worker.stop())
    await cluster.until_workers(0)
    wire = await cluster.wire()
    await wire.subscribe("workers/leaver/heartbeat")
    notice = await wire.until(lambda message: message.retain)
    assert not JsonSerializer().decode(notice.payload, WorkerPresenceMessage).worker.is_online
    handle = await cluster.client.enqueue(SquareHandler.request(Number(2)))
    assert (await handle.get()).capable_workers == 0
    await cluster.worker(SquareHandler, worker_id="leaver")
    assert await handle.result(PATIENCE) == Product(4)


async def test_a_scheduler_that_starts_late_sees_exactly_the_workers_that_are_there(cluster: Cluster) -> None:
    gone = await cluster.worker(SquareHandler, worker_id="gone")
    dead = await cluster.worker(SquareHandler, worker_id="dead")
    await cluster.worker(SquareHandler, worker_id="here", queues=["math"])
    await gone.stop()
    dead.simulate_crash()
    wire = await cluster.wire()
    await wire.subscribe("workers/dead/heartbeat")
    serializer = JsonSerializer()
    await wire.until(lambda message: not serializer.decode(message.payload, WorkerPresenceMessage).worker.is_online)
    await cluster.start()
    (worker,) = await cluster.until_workers(1)
    assert (worker.worker_id, worker.queues) == ("here", ("math",))
    await cluster.works()


async def test_a_scheduler_that_starts_anew_takes_up_jobs_that_wait_are_delayed_or_run(cluster: Cluster) -> None:
    gate = Gate()
    scheduler = await cluster.scheduler()
    client = await cluster.new_client()
    await cluster.worker(Play(gate), max_concurrency=2)
    running = await client.enqueue_many([play(Play) for _ in range(2)])
    await gate.until_entered(2)
    waiting = await client.enqueue_many([play(Play) for _ in range(3)])
    delayed = await client.enqueue(play(Play), delay=0.3)
    never = await client.enqueue(play(Play), delay=3600)
    await within(scheduler.stop())
    gate.opened.set()  # the running ones end while no scheduler is there
    await asyncio.sleep(0)
    await cluster.scheduler()
    handles = [*running, *waiting, delayed]
    assert await results(handles) == [handle.job_id for handle in handles]
    assert (await never.get()).status is JobStatus.SCHEDULED
    assert sorted(gate.entered) == sorted(handle.job_id for handle in handles)
    assert {details.update.attempt for details in await client.find(status=JobStatus.SUCCEEDED)} == {1}


async def test_a_job_goes_on_over_a_restart_of_the_scheduler(cluster: Cluster) -> None:
    """The worker shows that it holds the job, so nobody takes it for lost."""
    gate = Gate()
    scheduler = await cluster.scheduler()
    client = await cluster.new_client()
    await cluster.worker(Play(gate))
    handle = await client.enqueue(play(Play))
    await reaches(handle, JobStatus.RUNNING)
    await within(scheduler.stop())
    await cluster.scheduler()
    await eventually(client.workers, lambda workers: [beat.active for beat in workers] == [1])
    assert (await handle.get()).status is JobStatus.RUNNING
    assert await handle.cancel() == "requested"
    details = await cluster.until_job(handle.job_id, lambda details: details.status.is_terminal)
    assert (details.status, details.crashes) == (JobStatus.CANCELLED, 0)
    assert len(gate.entered) == 1


@pytest.mark.parametrize("url", ["mqtt://user:hunter2@127.0.0.1:{port}", "memory://user:hunter2@nobody"])
async def test_an_unreachable_broker_is_a_clear_error_in_time_and_shows_no_password(url: str, tmp_path: Path) -> None:
    url = url.format(port=free_port())
    settings = ConnectionSettings(connect_timeout=0.3)
    threads = set(threading.enumerate())
    parts: list[JobClient | JobWorker | JobScheduler] = [
        JobClient(url, settings=settings),
        JobWorker(url, handlers=[SquareHandler], settings=settings),
        JobScheduler(url, storage=f"sqlite:///{tmp_path}/jobs.db", settings=settings),
    ]
    for part in parts:
        began = time.monotonic()
        with pytest.raises(BrokerUnreachable) as error:
            await part.start()
        assert time.monotonic() - began < 5
        assert "hunter2" not in str(error.value)
        assert ("127.0.0.1" if "127" in url else "nobody") in str(error.value)
    blocking = SyncJobClient(url, settings=settings)
    with pytest.raises(BrokerUnreachable):
        await asyncio.to_thread(blocking.start)
    # Nothing is left behind: the same may be tried again.

    async def left() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread not in threads and "beskar" in thread.name]

    await eventually(left, lambda names: not names)


class _FatalClock(SystemClock):
    """From a moment on, to look for a time is the end of the loop that does."""

    fatal = False

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        if self.fatal:
            raise SystemExit("the clock stopped")
        return super().call_later(delay, callback)


async def test_a_worker_whose_engine_dies_says_so_and_its_jobs_go_elsewhere(cluster: Cluster) -> None:
    gate, elsewhere, clock = Gate(), Gate(), _FatalClock()
    elsewhere.opened.set()
    worker = await cluster.start(Play(gate), clock=clock, heartbeat_interval=0.2)
    assert worker is not None
    handle = await cluster.client.enqueue(play(Play))
    await gate.until_entered(1)
    clock.fatal = True
    with pytest.raises(BeskarError, match=r"the event loop of .* died of SystemExit: the clock stopped"):
        await within(worker.wait())
    assert not worker.connected
    await within(worker.stop())
    await cluster.worker(Play(elsewhere))
    assert await handle.result(PATIENCE) == handle.job_id
    assert gate.left == []
    assert (await handle.get()).crashes == 1


async def test_a_worker_whose_engine_dies_while_it_stops_ends_all_the_same(cluster: Cluster) -> None:
    gate, clock = Gate(), _FatalClock()
    worker = await cluster.start(Play(gate), clock=clock, heartbeat_interval=0.2, stop_grace=10 * PATIENCE)
    assert worker is not None
    await cluster.client.enqueue(play(Play))
    await gate.until_entered(1)
    stopping = asyncio.create_task(worker.stop())
    await eventually(cluster.client.workers, lambda workers: [beat.draining for beat in workers] == [True])
    clock.fatal = True
    await within(stopping)
