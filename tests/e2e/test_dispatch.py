"""Who gets which job, in which order, and what a job that nobody can take looks like."""

from __future__ import annotations

import asyncio
import collections

import msgspec

from beskar_jobs import JobContext, JobStatus, RawRequest, WaitingFor
from beskar_jobs.wire.messages import Attempt, Claim, ClaimReply, ClaimRequest
from beskar_jobs.wire.serializer import JsonSerializer
from tests.e2e.cluster import PATIENCE, Cluster, play, reaches, results
from tests.e2e.jobs import CubeHandler, Gate, Number, Play, PlayInThread, Product, Scene, SquareHandler

JSON = JsonSerializer()


async def test_without_a_worker_a_job_waits_for_one_and_starts_when_it_comes(cluster: Cluster) -> None:
    await cluster.start()
    handle = await cluster.client.enqueue(SquareHandler.request(Number(3)))
    details = await handle.get()
    assert (details.status, details.waiting_for, details.capable_workers) == (
        JobStatus.ENQUEUED,
        WaitingFor.WORKER,
        0,
    )
    await cluster.worker(SquareHandler)
    assert await handle.result(PATIENCE) == Product(9)


async def test_a_type_that_nobody_knows_waits_and_holds_up_nobody(cluster: Cluster) -> None:
    await cluster.start(SquareHandler)
    unknown = await cluster.client.enqueue(RawRequest("e2e.of-tomorrow", {}, queue="math"), priority=10)
    await cluster.works()
    details = await unknown.get()
    assert (details.status, details.waiting_for) == (JobStatus.ENQUEUED, WaitingFor.WORKER)
    assert await unknown.cancel() == "cancelled"


async def test_a_worker_serves_only_its_queues(cluster: Cluster) -> None:
    await cluster.start(SquareHandler, queues=["left"])
    right = await cluster.client.enqueue(SquareHandler.request(Number(1)), queue="right")
    left = await cluster.client.enqueue(SquareHandler.request(Number(2)), queue="left")
    assert await left.result(PATIENCE) == Product(4)
    assert (await right.get()).waiting_for is WaitingFor.WORKER
    await cluster.worker(SquareHandler, queues=["right"])
    assert await right.result(PATIENCE) == Product(1)
    queues = {queue.queue: (dict(queue.counts), queue.workers) for queue in await cluster.client.queues()}
    assert queues == {"left": ({JobStatus.SUCCEEDED: 1}, 1), "right": ({JobStatus.SUCCEEDED: 1}, 1)}


async def test_queues_go_by_name_and_jobs_by_priority_then_by_their_place(cluster: Cluster) -> None:
    order: list[str] = []
    gate = Gate()

    def note(context: JobContext[Scene]) -> None:
        order.append(context.arguments.name)

    await cluster.start(Play(gate), PlayInThread(note), max_concurrency=1)
    holder = await cluster.client.enqueue(play(Play))
    await gate.until_entered(1)
    enqueue = cluster.client.enqueue
    handles = [
        await enqueue(play(PlayInThread, "4"), queue="b-default"),
        await enqueue(play(PlayInThread, "3"), queue="b-default", priority=5),
        await enqueue(play(PlayInThread, "5"), queue="b-default"),
        await enqueue(play(PlayInThread, "6"), queue="b-default", priority=-1),
        await enqueue(play(PlayInThread, "2"), queue="a-critical"),
        await enqueue(play(PlayInThread, "1"), queue="a-critical", priority=1),
    ]
    assert (await handles[0].get()).waiting_for is WaitingFor.SLOT
    gate.opened.set()
    await results([*handles, holder])
    assert order == ["1", "2", "3", "4", "5", "6"]


async def test_priority_counts_across_the_types_of_a_queue(cluster: Cluster) -> None:
    order: list[str] = []
    gate = Gate()

    def note(context: JobContext[Scene]) -> None:
        order.append("thread")

    async def note_on_loop(context: JobContext[Scene]) -> str:
        if context.arguments.name == "gate":
            return await gate(context)
        order.append("loop")
        return ""

    await cluster.start(Play(note_on_loop), PlayInThread(note), max_concurrency=1)
    holder = await cluster.client.enqueue(play(Play, "gate"))
    await gate.until_entered(1)
    handles = [
        await cluster.client.enqueue(play(kind), priority=priority)
        for kind, priority in ((Play, 1), (PlayInThread, 2), (Play, 3), (PlayInThread, 4))
    ]
    gate.opened.set()
    await results([*handles, holder])
    assert order == ["thread", "loop", "thread", "loop"]


async def test_twenty_jobs_on_four_idle_workers_are_five_each(cluster: Cluster) -> None:
    gate = Gate()
    await cluster.start(Play(gate), worker_id="w1")
    for number in (2, 3, 4):
        await cluster.worker(Play(gate), worker_id=f"w{number}")
    await cluster.until_workers(4)
    handles = await cluster.client.enqueue_many([play(Play) for _ in range(20)])
    await gate.until_entered(20)
    running = [await reaches(handle, JobStatus.RUNNING) for handle in handles]
    assert collections.Counter(update.worker_id for update in running) == {"w1": 5, "w2": 5, "w3": 5, "w4": 5}
    gate.opened.set()
    await results(handles)


async def test_no_worker_gets_more_jobs_than_it_has_slots(cluster: Cluster) -> None:
    """What waits, waits with the scheduler: a worker that comes later takes it at once."""
    gate = Gate()
    await cluster.start(Play(gate), max_concurrency=2, worker_id="first")
    handles = await cluster.client.enqueue_many([play(Play) for _ in range(6)])
    await gate.until_entered(2)
    statuses = collections.Counter(details.status for details in await cluster.client.find())
    assert statuses[JobStatus.ENQUEUED] == 4
    await cluster.worker(Play(gate), max_concurrency=4, worker_id="second")
    await gate.until_entered(6)
    gate.opened.set()
    await results(handles)


async def test_a_full_worker_rejects_the_claim_and_the_job_goes_to_the_next(cluster: Cluster) -> None:
    """The slot is taken by a claim that this scheduler does not know of, as from another scheduler."""
    gate = Gate()
    # Its next heartbeat would bring the foreign attempt to light, and the scheduler would have it abandoned.
    await cluster.start(Play(gate), max_concurrency=1, worker_id="full", heartbeat_interval=60)
    (worker,) = await cluster.client.workers()
    wire = await cluster.wire()
    await wire.subscribe("schedulers/other/replies")
    claim = Claim("foreign", 1, "e2e.play", 1, msgspec.Raw(b"{}"))
    request = ClaimRequest(incarnation=worker.incarnation, claims=[claim])
    topic = f"{cluster.prefix}/schedulers/other/replies"
    await wire.publish("dispatch/stage/full", JSON.encode(request), response_topic=topic, correlation=b"1")
    reply = JSON.decode((await wire.until(lambda message: message.correlation == b"1")).payload, ClaimReply)
    assert reply.accepted == [Attempt("foreign", 1)]
    await gate.until_entered(1)
    # Offered again, it gets the same answer and starts nothing.
    await wire.publish("dispatch/stage/full", JSON.encode(request), response_topic=topic, correlation=b"2")
    again = JSON.decode((await wire.until(lambda message: message.correlation == b"2")).payload, ClaimReply)
    assert again.accepted == reply.accepted

    handle = await cluster.client.enqueue(play(Play))
    await cluster.until_job(handle.job_id, lambda details: "full" in details.update.reason)
    await cluster.worker(Play(gate), worker_id="next")
    running = await reaches(handle, JobStatus.RUNNING)
    assert (running.worker_id, running.attempt) == ("next", 1)
    assert len(gate.entered) == 2
    gate.opened.set()
    assert await handle.result(PATIENCE) == handle.job_id


async def test_a_claim_that_names_no_scheduler_to_answer_to_starts_nothing(cluster: Cluster) -> None:
    await cluster.start(SquareHandler, CubeHandler, worker_id="w")
    (worker,) = await cluster.client.workers()
    wire = await cluster.wire()
    await wire.subscribe("workers/w/control", "events/w/batch")
    claim = Claim("foreign", 1, "e2e.square", 1, msgspec.Raw(b'{"n":1}'))
    request = JSON.encode(ClaimRequest(incarnation=worker.incarnation, claims=[claim]))
    await wire.publish("dispatch/math/w", request)
    await wire.publish("dispatch/math/w", request, response_topic=f"{cluster.prefix}/workers/w/control")
    await cluster.works()
    await asyncio.wait_for(wire.until(lambda message: message.topic.endswith("batch")), PATIENCE)
    assert not any(b"foreign" in message.payload for message in wire.heard)
