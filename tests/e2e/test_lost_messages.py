"""MQTT only signals: messages are lost, late and doubled here, on demand, over the in-memory broker."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import Counter
from collections.abc import Sequence

import pytest

from beskar_jobs import JobContext, JobStatus
from beskar_jobs.core.working import TELL_AGAIN_AFTER
from beskar_jobs.ports.transport import InboundMessage, OutboundMessage
from beskar_jobs.transport.memory_broker import MemoryBroker
from tests.e2e.cluster import PATIENCE, Cluster, eventually, play, reaches, results, within
from tests.e2e.jobs import Gate, Number, Play, PlayInThread, Product, Scene, SquareHandler


@pytest.fixture(params=["in-memory"])
def broker_kind(request: pytest.FixtureRequest) -> str:
    """Only this broker takes faults on demand."""
    return str(request.param)


def broker_of(cluster: Cluster) -> MemoryBroker:
    assert cluster.memory is not None
    return cluster.memory


def client_id_of(cluster: Cluster, role: str) -> str:
    (client_id,) = [name for name in broker_of(cluster).connected_clients if name.startswith(role)]
    return client_id


class LoseFirst:
    """Loses the first *count* messages whose topic holds *part*, and tells when it did."""

    def __init__(self, part: str, count: int = 1) -> None:
        self.lost = 0
        self._part = part
        self._count = count
        self._lock = threading.Lock()  # clients of several threads publish

    def __call__(self, client_id: str, message: OutboundMessage) -> Sequence[OutboundMessage]:
        with self._lock:
            if self._part in message.topic and self.lost < self._count:
                self.lost += 1
                return []
        return [message]


async def test_an_attempt_whose_acceptance_was_lost_is_offered_again_and_to_nobody_else(cluster: Cluster) -> None:
    gate = Gate()
    scheduler = await cluster.scheduler()
    await cluster.new_client()
    # Far apart heartbeats, which would tell of the attempt as well.
    for name in ("w1", "w2"):
        await cluster.worker(Play(gate), worker_id=name, heartbeat_interval=30)
    await cluster.until_workers(2)
    broker_of(cluster).intercept = fault = LoseFirst("/schedulers/")
    handle = await cluster.client.enqueue(play(Play))
    await gate.until_entered(1)
    await reaches(handle, JobStatus.RUNNING)
    assert fault.lost == 1
    assert scheduler.counters["claims repeated"] == 1
    gate.opened.set()
    assert await handle.result(PATIENCE) == handle.job_id
    assert (len(gate.entered), (await handle.get()).update.attempt) == (1, 1)


async def test_a_lost_claim_is_offered_again(cluster: Cluster) -> None:
    await cluster.start(SquareHandler)
    broker_of(cluster).intercept = fault = LoseFirst("/dispatch/")
    handle = await cluster.client.enqueue(SquareHandler.request(Number(3)))
    assert await handle.result(PATIENCE) == Product(9)
    assert (fault.lost, (await handle.get()).update.attempt) == (1, 1)


@pytest.mark.parametrize("lost", ["/commands/enqueue", "/replies"])
async def test_a_lost_command_or_reply_costs_a_repeat_and_never_a_second_job(cluster: Cluster, lost: str) -> None:
    await cluster.start(SquareHandler)
    broker_of(cluster).intercept = fault = LoseFirst(lost)
    handles = await cluster.client.enqueue_many([SquareHandler.request(Number(n)) for n in range(3)])
    assert await results(handles) == [Product(0), Product(1), Product(4)]
    assert fault.lost == 1
    assert len(await cluster.client.find()) == 3


@pytest.mark.parametrize("lost", ["/events/", "/control"])
async def test_a_lost_end_or_acknowledgement_is_told_again_and_counts_once(cluster: Cluster, lost: str) -> None:
    worker = await cluster.start(SquareHandler, max_concurrency=2, heartbeat_interval=0.5)
    assert worker is not None
    await cluster.works()
    await eventually(cluster.client.workers, lambda beats: [len(beat.held) for beat in beats] == [0])
    broker_of(cluster).intercept = fault = LoseFirst(lost)
    handle = await cluster.client.enqueue(SquareHandler.request(Number(3)))
    assert await handle.result(PATIENCE) == Product(9)
    assert (fault.lost, (await handle.get()).update.attempt) == (1, 1)
    await eventually(cluster.client.workers, lambda beats: [len(beat.held) for beat in beats] == [0])
    await cluster.works()


async def test_every_message_twice_makes_no_job_run_twice(cluster: Cluster) -> None:
    ran: Counter[str] = Counter()

    def note(context: JobContext[Scene]) -> str:
        ran[context.job_id] += 1
        context.report_progress(50)
        return context.job_id

    broker_of(cluster).intercept = lambda client_id, message: [message, message]
    await cluster.start(PlayInThread(note), max_concurrency=5)
    handles = await cluster.client.enqueue_many([play(PlayInThread) for _ in range(100)])
    assert await results(handles) == [handle.job_id for handle in handles]
    assert set(ran.values()) == {1}
    assert len(ran) == 100


async def test_every_seventh_message_lost_loses_no_job(cluster: Cluster) -> None:
    ran: Counter[str] = Counter()
    numbers = itertools.count(1)

    def note(context: JobContext[Scene]) -> str:
        ran[context.job_id] += 1
        return context.job_id

    def lose(client_id: str, message: OutboundMessage) -> Sequence[OutboundMessage]:
        return [] if next(numbers) % 7 == 0 else [message]

    await cluster.start(PlayInThread(note), max_concurrency=5)
    broker_of(cluster).intercept = lose
    for _ in range(2):
        await cluster.client.enqueue_many([play(PlayInThread) for _ in range(10)])
    await eventually(
        lambda: cluster.client.find(status=JobStatus.SUCCEEDED), lambda found: len(found) == 20, patience=40
    )
    assert len(ran) == 20
    assert set(ran.values()) == {1}


async def test_a_worker_that_was_cut_off_comes_back_and_its_late_end_is_refused(cluster: Cluster) -> None:
    """Its Will has told the world that it is dead; its job runs elsewhere by then."""
    deaf, let_go = threading.Event(), threading.Event()

    def slow(context: JobContext[Scene]) -> str:
        deaf.set()
        let_go.wait(PATIENCE)
        return "too late"

    scheduler = await cluster.scheduler()
    await cluster.new_client()
    await cluster.worker(PlayInThread(slow), worker_id="cut-off", queues=["left"])
    handle = await cluster.client.enqueue(play(PlayInThread), queue="left")
    assert await asyncio.to_thread(deaf.wait, PATIENCE)
    await cluster.worker(PlayInThread(lambda context: "in time"), worker_id="other", queues=["left"])
    await cluster.until_workers(2)
    try:
        assert broker_of(cluster).drop_connection(client_id_of(cluster, "worker-cut-off"))
        assert await handle.result(PATIENCE) == "in time"
        await cluster.until_workers(2)
    finally:
        let_go.set()
    details = await handle.get()
    assert (details.status, details.crashes, details.update.result) == (JobStatus.SUCCEEDED, 1, b'"in time"')
    assert scheduler.counters["attempts lost"] == 1
    # And it is of use again.
    await eventually(cluster.client.workers, lambda beats: {beat.active for beat in beats} == {0})


@pytest.mark.parametrize("role", ["scheduler-", "client-"])
async def test_a_scheduler_or_client_that_was_cut_off_goes_on_where_it_was(cluster: Cluster, role: str) -> None:
    gate = Gate()
    await cluster.start(Play(gate), max_concurrency=3)
    handles = await cluster.client.enqueue_many([play(Play) for _ in range(5)])
    await gate.until_entered(3)
    assert broker_of(cluster).drop_connection(client_id_of(cluster, role))
    gate.opened.set()
    more = await cluster.client.enqueue(play(Play))
    # Not by repeating what nobody answers, which comes later: the reconnect itself makes everybody tell again.
    assert await results([*handles, more], patience=TELL_AGAIN_AFTER - 1) == [
        handle.job_id for handle in [*handles, more]
    ]
    assert sorted(gate.entered) == sorted(handle.job_id for handle in [*handles, more])


async def test_everything_goes_on_after_an_outage_of_the_broker_that_lost_all_it_kept(cluster: Cluster) -> None:
    gate = Gate()
    await cluster.start(Play(gate), max_concurrency=3)
    handles = await cluster.client.enqueue_many([play(Play) for _ in range(5)])
    await gate.until_entered(3)
    broker = broker_of(cluster)
    broker.stop()
    gate.opened.set()
    during = asyncio.create_task(cluster.client.enqueue(play(Play)))
    await gate.until_left(3)
    broker.restart()
    handles.append(await within(during))
    assert await results(handles) == [handle.job_id for handle in handles]
    assert sorted(gate.entered) == sorted(handle.job_id for handle in handles)
    late = await cluster.new_client()
    assert await late.handle(handles[0].job_id, str).result(PATIENCE) == handles[0].job_id


async def test_progress_out_of_order_is_not_shown(cluster: Cluster) -> None:
    """The client gets its updates late and doubled; what it shows only ever goes forward."""
    held: list[InboundMessage] = []

    def late(client_id: str, message: InboundMessage) -> Sequence[InboundMessage]:
        if "/updates" not in message.topic:
            return [message]
        held.append(message)
        return [message, *held[-3:]]

    async def steps(context: JobContext[Scene]) -> None:
        for percent in range(0, 101, 5):
            await context.report_progress(percent)
            await asyncio.sleep(0.002)

    await cluster.start(Play(steps))
    broker_of(cluster).intercept_delivery = late
    handle = await cluster.client.enqueue(play(Play))
    seen = [update async for update in handle.watch()]
    assert [update.sequence for update in seen] == sorted({update.sequence for update in seen})
    assert seen[-1].status is JobStatus.SUCCEEDED


async def test_an_outage_longer_than_the_heartbeat_deadline_makes_nobody_lost(cluster: Cluster) -> None:
    """While the scheduler is cut off itself, silence says nothing about the workers."""
    gate = Gate()
    scheduler = await cluster.scheduler()
    await cluster.new_client()
    for name in ("w1", "w2"):
        await cluster.worker(Play(gate), worker_id=name, heartbeat_interval=0.1, max_concurrency=2)
    await cluster.until_workers(2)
    handles = await cluster.client.enqueue_many([play(Play) for _ in range(4)])
    for handle in handles:
        await reaches(handle, JobStatus.RUNNING)
    broker_of(cluster).stop()
    await asyncio.sleep(1.0)  # the length of the outage is the fault itself
    broker_of(cluster).restart()
    await cluster.until_workers(2)
    gate.opened.set()
    assert await results(handles) == [handle.job_id for handle in handles]
    assert sorted(gate.entered) == sorted(handle.job_id for handle in handles)
    assert scheduler.counters.get("attempts lost", 0) == 0


async def test_a_client_cut_off_while_it_enqueues_asks_about_the_job_only_when_it_is_there(cluster: Cluster) -> None:
    """A question that overtakes the commit would be answered with: unknown, and not to be watched."""
    await cluster.start(SquareHandler)
    lose_reply = LoseFirst("/replies")
    asked: list[bytes] = []

    def watch_queries(client_id: str, message: OutboundMessage) -> Sequence[OutboundMessage]:
        if message.topic.endswith("commands/query"):
            asked.append(message.payload)
        return lose_reply(client_id, message)

    broker_of(cluster).intercept = watch_queries
    enqueueing = asyncio.create_task(cluster.client.enqueue(SquareHandler.request(Number(3)), job_id="j1"))

    async def lost() -> int:
        return lose_reply.lost

    await eventually(lost, lambda count: count == 1)
    assert broker_of(cluster).drop_connection(client_id_of(cluster, "client-"))
    handle = await within(enqueueing)
    assert not [payload for payload in asked if b"j1" in payload]
    assert await handle.result(PATIENCE) == Product(9)
