"""Whatever comes in on any topic, jobs of others go on, and nothing is believed that is not well-formed."""

from __future__ import annotations

import json

from beskar_jobs import JobStatus
from beskar_jobs.wire.messages import MAX_ITEMS
from beskar_jobs.wire.topics import TopicKind, Topics
from tests.e2e.cluster import PATIENCE, Cluster, play, results
from tests.e2e.jobs import Gate, Number, Play, Product, SquareHandler, StepsHandler

DEEP = 100_000
PAYLOADS: dict[str, bytes] = {
    "empty": b"",
    "cut short": b'{"v":1,"items":[{"id":"a"',
    "not UTF-8": b'{"v":1,"reason":"\xff\xfe"}',
    "another shape": b"[1,2,3]",
    "null": b"null",
    "of tomorrow": b'{"v":2}',
    "huge version": b'{"v":' + b"9" * 400 + b"}",
    "no version at all": b"{}",
    "nested without end": b"[" * DEEP + b"]" * DEEP,
    "nested arguments": b'{"v":1,"items":[{"id":"d","job_type":"t","queue":"q","arguments":'
    + b"[" * DEEP
    + b"]" * DEEP
    + b"}]}",
    "a pickle": b"\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
    "a megabyte of text": b'{"v":1,"reason":"' + b"x" * 1_000_000 + b'"}',
    "numbers out of range": b'{"v":1,"what":"find","limit":1e308}',
    "not a number": b'{"v":1,"items":[{"id":"n","job_type":"t","queue":"q","arguments":1,"priority":NaN}]}',
    "too many items": b'{"v":1,"items":['
    + b",".join(b'{"id":"m%d","job_type":"t","queue":"q","arguments":1}' % number for number in range(MAX_ITEMS + 1))
    + b"]}",
    "no items": b'{"v":1,"items":[]}',
    "names that are no names": b'{"v":1,"items":[{"id":"../#","job_type":"+","queue":"\\u0000","arguments":1}]}',
}


async def test_broken_payloads_on_every_topic_stop_nobody(cluster: Cluster) -> None:
    gate = Gate()
    await cluster.start(SquareHandler, StepsHandler, Play(gate), worker_id="w", max_concurrency=20)
    client = cluster.client
    wire = await cluster.wire()
    answer_to = f"{cluster.prefix}/clients/wire/replies"
    held = await client.enqueue(play(Play))
    await gate.until_entered(1)
    topics = Topics(cluster.prefix)
    named = {
        TopicKind.CANCEL: ("no-such-job",),
        TopicKind.CLIENT_REPLIES: (client.client_id,),
        TopicKind.CLIENT_UPDATES: (client.client_id,),
        TopicKind.DISPATCH: ("math", "w"),
        TopicKind.SCHEDULER_REPLIES: ("nobody",),
        TopicKind.EVENTS: ("w",),
        TopicKind.CONTROL: ("w",),
        TopicKind.HEARTBEAT: ("w",),
        TopicKind.SCHEDULER: ("nobody",),
        TopicKind.STATUS: (held.job_id,),
    }
    bystanders = []
    for kind in TopicKind:
        topic = topics.build(kind, *named.get(kind, ())).removeprefix(f"{cluster.prefix}/")
        for payload in PAYLOADS.values():
            for retain in (False, True):
                await wire.publish(topic, payload, retain=retain, response_topic=answer_to)
        bystanders.append(await client.enqueue(SquareHandler.request(Number(3))))
    for unknown in ("dispatch", "events/w/x/y", "status/", "nonsense/a", "workers/w/control/more", "commands"):
        await wire.publish(unknown, b"{}")
    steps = await client.enqueue(StepsHandler.request(Number(3)))
    assert await results(bystanders) == [Product(9)] * len(TopicKind)
    await steps.result(PATIENCE)
    assert (await held.get()).status is JobStatus.RUNNING
    gate.opened.set()
    assert await held.result(PATIENCE) == held.job_id
    assert len(await client.find()) == len(bystanders) + 2
    # Also those who come later, to what is retained.
    late = await cluster.new_client()
    assert await late.handle(held.job_id, str).result(PATIENCE) == held.job_id
    await cluster.worker(SquareHandler, worker_id="w2")
    await cluster.works()


async def test_lies_about_an_attempt_are_not_believed(cluster: Cluster) -> None:
    gate = Gate()
    await cluster.start(Play(gate), worker_id="w")
    (worker,) = await cluster.client.workers()
    handle = await cluster.client.enqueue(play(Play))
    await gate.until_entered(1)
    wire = await cluster.wire("liar")

    def batch(worker_id: str, incarnation: str, fence: int) -> bytes:
        event = {"kind": "succeeded", "job_id": handle.job_id, "fence": fence, "result": "a lie"}
        return json.dumps({"v": 1, "worker_id": worker_id, "incarnation": incarnation, "events": [event]}).encode()

    await wire.publish("events/liar/batch", batch("w", worker.incarnation, 1))  # in another's name
    await wire.publish("events/liar/batch", batch("liar", worker.incarnation, 1))  # who does not hold it
    await wire.publish("events/w/batch", batch("w", "older", 1))  # of an earlier process
    await wire.publish("events/w/batch", batch("w", worker.incarnation, 7))  # of an attempt that there is not
    await wire.publish("events/w/batch", batch("w", worker.incarnation, -1))
    assert (await handle.get()).status in (JobStatus.DISPATCHED, JobStatus.RUNNING)
    gate.opened.set()
    assert await handle.result(PATIENCE) == handle.job_id


async def test_a_request_cannot_make_the_scheduler_speak_elsewhere_than_to_clients(cluster: Cluster) -> None:
    await cluster.start(SquareHandler, worker_id="w")
    wire = await cluster.wire()
    await wire.subscribe("workers/#", "status/#", "schedulers/#", "clients/wire/replies")
    for topic in ("workers/w/control", "status/x", "schedulers/s/replies", "clients/wire/updates"):
        await wire.publish(
            "commands/query",
            b'{"v":1,"what":"queues"}',
            response_topic=f"{cluster.prefix}/{topic}",
            correlation=b"evil",
        )
    await wire.publish(
        "commands/query",
        b'{"v":1,"what":"queues"}',
        response_topic=f"{cluster.prefix}/clients/wire/replies",
        correlation=b"good",
    )
    await wire.until(lambda message: message.correlation == b"good")
    assert not [message for message in wire.heard if message.correlation == b"evil"]
    await cluster.works()
