"""Cancelling a job wherever it stands."""

from __future__ import annotations

import asyncio

import pytest

from beskar_jobs import JobCancelled, JobContext, JobFailed, JobStatus, Retry, UnknownJob
from tests.e2e.cluster import PATIENCE, Cluster, play, reaches
from tests.e2e.jobs import Gate, Number, Play, PlayInThread, Scene, SquareHandler, ThreadGate


async def test_a_job_that_does_not_run_yet_is_cancelled_at_once_and_never_runs(cluster: Cluster) -> None:
    gate = Gate()
    await cluster.start()
    delayed = await cluster.client.enqueue(play(Play), delay=0.3)
    waiting = await cluster.client.enqueue(play(Play))
    watched = asyncio.create_task(reaches(waiting, JobStatus.CANCELLED))
    assert await delayed.cancel("not needed") == "cancelled"
    assert await waiting.cancel() == "cancelled"
    assert (await watched).reason == "cancelled by a client"
    with pytest.raises(JobCancelled, match="not needed"):
        await delayed.result(PATIENCE)
    gate.opened.set()
    await cluster.worker(Play(gate))
    last = await cluster.client.enqueue(play(Play), delay=0.5)  # due after the cancelled one would have been
    assert await last.result(PATIENCE) == last.job_id
    assert gate.entered == [last.job_id]


async def test_a_job_that_waits_for_its_retry_is_cancelled(cluster: Cluster) -> None:
    async def fail(context: JobContext[Scene]) -> None:
        raise ValueError

    await cluster.start(Play(fail))
    handle = await cluster.client.enqueue(play(Play), retry=Retry(3, delays=[3600]))
    await reaches(handle, JobStatus.SCHEDULED)
    assert await handle.cancel() == "cancelled"
    with pytest.raises(JobCancelled):
        await handle.result(PATIENCE)


async def test_a_running_async_handler_is_interrupted(cluster: Cluster) -> None:
    gate = Gate()
    await cluster.start(Play(gate))
    handle = await cluster.client.enqueue(play(Play), retry=Retry(3))
    await gate.until_entered(1)
    assert await handle.cancel("enough") == "requested"
    with pytest.raises(JobCancelled, match="enough"):
        await handle.result(PATIENCE)
    assert (len(gate.entered), gate.left) == (1, [])
    assert (await handle.get()).failures == 0


async def test_a_running_handler_in_a_thread_sees_the_cancellation(cluster: Cluster) -> None:
    gate = ThreadGate()
    await cluster.start(PlayInThread(gate))
    handle = await cluster.client.enqueue(play(PlayInThread))
    await gate.until_entered()
    assert await handle.cancel() == "requested"
    with pytest.raises(JobCancelled):
        await handle.result(PATIENCE)


async def test_a_handler_that_ends_well_all_the_same_has_succeeded(cluster: Cluster) -> None:
    entered = asyncio.Event()

    async def stubborn(context: JobContext[Scene]) -> str:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            assert context.cancelled
        return "finished"

    await cluster.start(Play(stubborn))
    handle = await cluster.client.enqueue(play(Play))
    await asyncio.wait_for(entered.wait(), PATIENCE)
    assert await handle.cancel() == "requested"
    assert await handle.result(PATIENCE) == "finished"


async def test_a_handler_that_fails_after_the_request_is_not_tried_again(cluster: Cluster) -> None:
    entered = asyncio.Event()

    async def clumsy(context: JobContext[Scene]) -> None:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("while cleaning up") from None

    await cluster.start(Play(clumsy))
    handle = await cluster.client.enqueue(play(Play), retry=Retry(3))
    await asyncio.wait_for(entered.wait(), PATIENCE)
    await handle.cancel()
    with pytest.raises(JobCancelled):
        await handle.result(PATIENCE)
    details = await handle.get()
    assert details.update.failure is not None
    assert details.update.failure.message == "while cleaning up"


async def test_a_handlers_own_cancelled_error_is_a_failure_and_no_cancellation(cluster: Cluster) -> None:
    async def own(context: JobContext[Scene]) -> None:
        sleep = asyncio.create_task(asyncio.sleep(60))
        sleep.cancel()
        await sleep

    await cluster.start(Play(own))
    handle = await cluster.client.enqueue(play(Play))
    with pytest.raises(JobFailed, match="CancelledError"):
        await handle.result(PATIENCE)


async def test_a_finished_job_stays_what_it_is_and_an_unknown_one_is_an_error(cluster: Cluster) -> None:
    await cluster.start(SquareHandler)
    handle = await cluster.client.enqueue(SquareHandler.request(Number(2)))
    await handle.result(PATIENCE)
    assert await handle.cancel() == "finished"
    assert (await handle.get()).status is JobStatus.SUCCEEDED
    with pytest.raises(UnknownJob, match="no-such-job"):
        await cluster.client.cancel("no-such-job")
    with pytest.raises(UnknownJob, match="no-such-job"):
        await cluster.client.get("no-such-job")
    with pytest.raises(UnknownJob, match="no-such-job"):
        await cluster.client.handle("no-such-job").result(PATIENCE)


async def test_two_cancels_at_once_get_an_answer_each(cluster: Cluster) -> None:
    gate = Gate()
    await cluster.start(Play(gate))
    handle = await cluster.client.enqueue(play(Play))
    await gate.until_entered(1)
    assert set(await asyncio.gather(handle.cancel(), handle.cancel())) == {"requested"}
    with pytest.raises(JobCancelled):
        await handle.result(PATIENCE)


async def test_cancel_races_with_everything_else_and_each_job_has_one_end(cluster: Cluster) -> None:
    await cluster.start(SquareHandler, max_concurrency=20)
    handles = await cluster.client.enqueue_many([SquareHandler.request(Number(n)) for n in range(60)])
    outcomes = await asyncio.gather(*[handle.cancel() for handle in handles])
    ends = await asyncio.gather(*[handle.result(PATIENCE) for handle in handles], return_exceptions=True)
    for outcome, end in zip(outcomes, ends, strict=True):
        assert isinstance(end, JobCancelled) or outcome != "cancelled"
        assert not isinstance(end, BaseException) or isinstance(end, JobCancelled)
