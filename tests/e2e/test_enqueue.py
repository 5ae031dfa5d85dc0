"""Jobs from enqueue to result, over every broker and storage."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest

from beskar_jobs import EnqueueRejected, JobStatus, RawRequest, SyncJobClient, WaitingFor
from beskar_jobs.testing.clock import ManualClock
from tests.e2e.cluster import PATIENCE, Cluster, play, reaches, results
from tests.e2e.jobs import (
    REQUEST_ID,
    Colour,
    CubeHandler,
    LargeHandler,
    NothingHandler,
    Number,
    Parcel,
    ParcelHandler,
    Play,
    PlayInThread,
    Product,
    SquareHandler,
    StepsHandler,
)


async def test_a_job_runs_at_once_and_its_result_comes_back_typed(cluster: Cluster) -> None:
    await cluster.start(SquareHandler, CubeHandler, NothingHandler)
    square = await cluster.client.enqueue(SquareHandler.request(Number(7)))
    cube = await cluster.client.enqueue(CubeHandler.request(Number(7)))
    nothing = await cluster.client.enqueue(NothingHandler.request(Number(7)))
    assert await square.result(PATIENCE) == Product(49)
    assert await cube.result(PATIENCE) == Product(343)
    await nothing.result(PATIENCE)
    details = await square.get()
    assert (details.status, details.update.attempt, details.failures) == (JobStatus.SUCCEEDED, 1, 0)
    assert details.created_at <= details.started_at <= details.finished_at  # type: ignore[operator]  # none is None


async def test_arguments_of_every_kind_make_the_round_trip(cluster: Cluster) -> None:
    await cluster.start(ParcelHandler)
    sent = Parcel(
        Colour.BLUE,
        UUID(int=7),
        Decimal("12.50"),
        datetime(2026, 3, 29, 2, 30, tzinfo=UTC),
        b"\x00\xff",
        frozenset({"a", "é"}),
        Number(1),
    )
    handle = await cluster.client.enqueue(ParcelHandler.request(sent), metadata={"who": "me"})
    assert await handle.result(PATIENCE) == sent
    assert (await handle.get()).metadata == {"who": "me"}


async def test_a_request_by_name_gets_plain_data_back(cluster: Cluster) -> None:
    await cluster.start(SquareHandler)
    handle = await cluster.client.enqueue(RawRequest("e2e.square", {"n": 3}, queue="math"))
    assert await handle.result(PATIENCE) == {"value": 9}


async def test_a_delayed_job_waits_visibly_and_then_runs(cluster: Cluster) -> None:
    await cluster.start(SquareHandler)
    handle = await cluster.client.enqueue(SquareHandler.request(Number(2)), delay=timedelta(seconds=0.4))
    waiting = await handle.get()
    assert (waiting.status, waiting.waiting_for) == (JobStatus.SCHEDULED, WaitingFor.TIME)
    assert await handle.result(PATIENCE) == Product(4)
    details = await handle.get()
    assert details.started_at is not None
    assert details.started_at - details.created_at >= timedelta(seconds=0.4)


async def test_run_at_names_the_instant(cluster: Cluster) -> None:
    await cluster.start(SquareHandler)
    instant = datetime.now(UTC) + timedelta(seconds=0.3)
    later = await cluster.client.enqueue(SquareHandler.request(Number(2)), run_at=instant)
    past = await cluster.client.enqueue(SquareHandler.request(Number(3)), run_at=instant - timedelta(days=1))
    assert await past.result(PATIENCE) == Product(9)
    assert await later.result(PATIENCE) == Product(4)
    started = (await later.get()).started_at
    assert started is not None
    assert started >= instant


async def test_a_job_delayed_by_hours_runs_when_the_hours_have_passed(cluster: Cluster) -> None:
    clock = ManualClock()
    await cluster.scheduler(clock=clock)
    client = await cluster.new_client()
    await cluster.worker(SquareHandler)
    handle = await client.enqueue(SquareHandler.request(Number(2)), delay=timedelta(hours=6))
    clock.advance(6 * 3600 - 1)
    assert (await handle.get()).status is JobStatus.SCHEDULED
    clock.advance(1)
    assert await handle.result(PATIENCE) == Product(4)


async def test_many_jobs_are_one_command_and_keep_their_order(cluster: Cluster) -> None:
    await cluster.start(SquareHandler, max_concurrency=50)
    handles = await cluster.client.enqueue_many([SquareHandler.request(Number(n)) for n in range(500)])
    assert await results(handles) == [Product(n**2) for n in range(500)]
    newest = await cluster.client.find(limit=500)
    assert [details.job_id for details in newest] == [handle.job_id for handle in reversed(handles)]
    assert len({details.created_at for details in newest}) == 1


async def test_one_bad_job_in_a_list_refuses_the_list(cluster: Cluster) -> None:
    await cluster.start()
    wire = await cluster.wire()
    good, bad = RawRequest("e2e.square", {"n": 1}), RawRequest("e2e.square", {"n": 1})
    bad.priority = 10**9
    with pytest.raises(EnqueueRejected, match="priority"):
        await cluster.client.enqueue_many([good, bad])
    # The same from a client that does not check: the scheduler does.
    await wire.subscribe("clients/wire/replies")
    items = (
        b'[{"id":"a1","job_type":"t","queue":"q","arguments":1},{"id":"a/2","job_type":"t","queue":"q","arguments":1}]'
    )
    await wire.publish(
        "commands/enqueue",
        b'{"v":1,"items":' + items + b"}",
        response_topic=f"{cluster.prefix}/clients/wire/replies",
        correlation=b"c",
    )
    reply = await wire.until(lambda message: message.correlation == b"c")
    assert b"a/2" in reply.payload
    assert await cluster.client.find() == []


async def test_the_same_id_twice_is_one_job(cluster: Cluster) -> None:
    ran: list[int] = []

    async def count(context: object) -> int:
        ran.append(1)
        return len(ran)

    await cluster.start(Play(count))
    first = await cluster.client.enqueue(play(Play), job_id="order-7")
    again = await cluster.client.enqueue(play(Play), job_id="order-7")
    other = await cluster.new_client()
    elsewhere = await other.enqueue(play(Play), job_id="order-7")
    assert await results([first, again, elsewhere]) == [1, 1, 1]
    after_its_end = await other.enqueue(play(Play), job_id="order-7")
    assert await after_its_end.result(PATIENCE) == 1
    assert ran == [1]
    with pytest.raises(EnqueueRejected, match="order-7"):
        await cluster.client.enqueue(play(Play, "other arguments"), job_id="order-7")


async def test_progress_comes_in_order_and_ends_with_the_result(cluster: Cluster) -> None:
    await cluster.start(StepsHandler)
    handle = await cluster.client.enqueue(StepsHandler.request(Number(20)))
    seen = [update async for update in handle.watch()]
    assert [update.sequence for update in seen] == sorted({update.sequence for update in seen})
    percents = [update.percent for update in seen if update.percent is not None and not update.status.is_terminal]
    assert percents == sorted(percents)
    assert seen[-1].status is JobStatus.SUCCEEDED


async def test_every_progress_report_that_the_handler_waits_for_is_seen(cluster: Cluster) -> None:
    seen: asyncio.Queue[float] = asyncio.Queue()

    async def in_step(context: object) -> None:
        for percent in (10, 20, 30):
            await context.report_progress(percent, f"{percent}")  # type: ignore[attr-defined]
            assert await seen.get() == percent

    await cluster.start(Play(in_step))
    handle = await cluster.client.enqueue(play(Play))
    async with asyncio.timeout(PATIENCE):
        async for update in handle.watch():
            if update.percent is not None and update.status is JobStatus.RUNNING:
                assert update.message == f"{update.percent:.0f}"
                seen.put_nowait(update.percent)
    await handle.result(PATIENCE)


async def test_async_and_sync_handlers_keep_the_context_of_the_workers_start(cluster: Cluster) -> None:
    REQUEST_ID.set("start of the worker")

    async def on_loop(context: object) -> str:
        seen = REQUEST_ID.get()
        REQUEST_ID.set("spoilt by a job")
        return seen

    def in_thread(context: object) -> str:
        seen = REQUEST_ID.get()
        REQUEST_ID.set("spoilt by a job")
        return seen

    await cluster.start(Play(on_loop), PlayInThread(in_thread))
    REQUEST_ID.set("later")
    handles = await cluster.client.enqueue_many([play(kind) for kind in (Play, PlayInThread) * 4])
    assert set(await results(handles)) == {"start of the worker"}
    assert REQUEST_ID.get() == "later"


async def test_a_result_too_large_for_a_status_comes_by_query(cluster: Cluster) -> None:
    await cluster.start(LargeHandler)
    handle = await cluster.client.enqueue(LargeHandler.request(Number(1_000_000)))
    end = await reaches(handle, JobStatus.SUCCEEDED)
    assert end.result is None
    assert end.result_omitted
    assert len(await handle.result(PATIENCE)) == 1_000_000


async def test_the_blocking_client_does_the_same(cluster: Cluster) -> None:
    await cluster.start(SquareHandler, StepsHandler)

    def blocking() -> list[int]:
        with SyncJobClient(cluster.url, settings=cluster.settings) as client:
            one = client.enqueue(SquareHandler.request(Number(5)))
            many = client.enqueue_many([SquareHandler.request(Number(n)) for n in range(3)])
            steps = client.enqueue(StepsHandler.request(Number(3)))
            assert list(steps.watch())[-1].status is JobStatus.SUCCEEDED
            assert client.get(one.job_id).job_type == "e2e.square"
            assert client.handle(one.job_id, Product).result(PATIENCE) == Product(25)
            assert client.cancel(one.job_id) == "finished"
            assert len(client.find(queue="math")) == 5
            assert len(client.workers()) == 1
            return [handle.result(PATIENCE).value for handle in (one, *many)]

    assert await asyncio.to_thread(blocking) == [25, 0, 1, 4]
