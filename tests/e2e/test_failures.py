"""Handlers that fail in every way: the attempt is recorded, the policy decides, and the worker goes on."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from beskar_jobs import JobContext, JobFailed, JobStatus, JobWorker, RawRequest, Retry, ValueNotSerializable, WaitingFor
from beskar_jobs.handlers.registry import HandlerItem
from beskar_jobs.model.job import FailureKind
from beskar_jobs.worker import execution
from tests.e2e.cluster import PATIENCE, Cluster, eventually, play, reaches, results
from tests.e2e.jobs import Number, Parcel, Play, PlayAgain, PlayInThread, Scene, SquareHandler, WrongResultHandler


class OddError(BaseException):
    """Not an Exception, and cannot be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


RAISED: dict[str, Callable[[], BaseException]] = {
    "ValueError": lambda: ValueError("no such file"),
    "SystemExit": lambda: SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt,
    "CancelledError": asyncio.CancelledError,
    "TimeoutError": lambda: TimeoutError("of its own"),
    "StopIteration": lambda: StopIteration(1),
    "GeneratorExit": GeneratorExit,
    "OddError": OddError,
    "ExceptionGroup": lambda: ExceptionGroup("several", [ValueError("one"), KeyError("two")]),
    "surrogates": lambda: RuntimeError("\udcff lone"),
    "endless": lambda: RuntimeError("x" * 5_000_000),
}


@pytest.mark.parametrize("handler", [Play, PlayInThread])
async def test_whatever_a_handler_raises_is_its_attempts_failure_and_the_worker_lives(
    cluster: Cluster, handler: type[Play] | type[PlayInThread]
) -> None:
    def in_thread(context: JobContext[Scene]) -> None:
        raise RAISED[context.arguments.name]()

    async def on_loop(context: JobContext[Scene]) -> None:
        in_thread(context)

    await cluster.start(Play(on_loop), PlayInThread(in_thread), SquareHandler)
    handles = {name: await cluster.client.enqueue(play(handler, name)) for name in RAISED}
    for name, handle in handles.items():
        with pytest.raises(JobFailed) as failed:
            await handle.result(PATIENCE)
        failure = failed.value.failure
        kind = RAISED[name]
        # A coroutine cannot raise StopIteration: Python makes it a RuntimeError.
        expected = RuntimeError if name == "StopIteration" and handler is Play else type(kind())
        assert (failure.kind, failure.error_type.rpartition(".")[2]) == (FailureKind.EXCEPTION, expected.__name__)
        assert "in_thread" in failure.traceback or name in ("OddError", "endless")
        assert len(failure.message) < 5_000
        assert (await handle.get()).status is JobStatus.DEAD_LETTERED
    await cluster.works()


async def test_a_result_that_does_not_fit_fails_the_attempt_for_that_reason(cluster: Cluster) -> None:
    await cluster.start(WrongResultHandler)
    handle = await cluster.client.enqueue(WrongResultHandler.request(Number(1)))
    job_type = WrongResultHandler.job_type
    with pytest.raises(JobFailed, match=f"the result of {job_type}: .*value") as failed:
        await handle.result(PATIENCE)
    assert failed.value.failure.kind is FailureKind.RESULT


async def test_arguments_that_do_not_fit_are_dead_lettered_without_retry(cluster: Cluster) -> None:
    await cluster.start(SquareHandler)
    handle = await cluster.client.enqueue(
        RawRequest("e2e.square", {"n": "seven"}, queue="math"), retry=Retry(5, delays=[60])
    )
    with pytest.raises(JobFailed, match=r"the arguments of e2e\.square: .*n") as failed:
        await handle.result(PATIENCE)
    assert failed.value.failure.kind is FailureKind.ARGUMENTS
    details = await handle.get()
    assert (details.update.attempt, details.failures) == (1, 1)


async def test_a_result_that_the_client_cannot_read_is_an_error_of_the_client(cluster: Cluster) -> None:
    await cluster.start(SquareHandler)
    handle = await cluster.client.enqueue(SquareHandler.request(Number(2)))
    await handle.result(PATIENCE)
    with pytest.raises(ValueNotSerializable):
        await cluster.client.handle(handle.job_id, Parcel).result(PATIENCE)


async def test_a_failed_attempt_is_tried_again_after_its_delay_and_the_wait_goes_on(cluster: Cluster) -> None:
    began: list[float] = []

    async def third_time_lucky(context: JobContext[Scene]) -> int:
        began.append(time.monotonic())
        if context.attempt < 3:
            raise OSError(f"attempt {context.attempt}")
        return context.attempt

    await cluster.start(Play(third_time_lucky))
    handle = await cluster.client.enqueue(play(Play), retry=Retry(3, delays=[0.1, 0.3]))
    waiting = await reaches(handle, JobStatus.SCHEDULED)
    assert waiting.waiting_for is WaitingFor.RETRY
    assert waiting.failure is not None
    assert waiting.failure.message == "attempt 1"
    assert await handle.result(PATIENCE) == 3
    assert began[1] - began[0] >= 0.1
    assert began[2] - began[1] >= 0.3
    details = await handle.get()
    assert (details.update.attempt, details.failures, details.update.failure) == (3, 2, None)


async def test_the_policy_of_the_handler_counts_where_the_enqueue_names_none(cluster: Cluster) -> None:
    attempts: list[tuple[str, int]] = []

    async def fail(context: JobContext[Scene]) -> None:
        attempts.append((context.arguments.name, context.attempt))
        raise LookupError("gone")

    await cluster.start(PlayAgain(fail))
    handlers_own = await cluster.client.enqueue(play(PlayAgain, "handler"))
    enqueued = await cluster.client.enqueue(play(PlayAgain, "enqueue"), retry=Retry(1))
    given_up = await cluster.client.enqueue(play(PlayAgain, "give up"), retry=Retry(5, give_up_on=[LookupError]))
    for handle in (handlers_own, enqueued, given_up):
        with pytest.raises(JobFailed, match="gone"):
            await handle.result(PATIENCE)
    assert sorted(attempts) == [
        ("enqueue", 1),
        ("enqueue", 2),
        ("give up", 1),
        ("handler", 1),
        ("handler", 2),
        ("handler", 3),
    ]
    assert "no retry left" in (await handlers_own.get()).update.reason
    assert "not to be retried" in (await given_up.get()).update.reason


async def test_an_async_attempt_is_stopped_when_its_time_is_up(cluster: Cluster) -> None:
    stopped = asyncio.Event()

    async def for_ever(context: JobContext[Scene]) -> None:
        assert context.deadline is not None
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    await cluster.start(Play(for_ever))
    handle = await cluster.client.enqueue(play(Play), timeout=0.2, retry=Retry(1))
    with pytest.raises(JobFailed, match=r"longer than 0\.2 s") as failed:
        await handle.result(PATIENCE)
    assert failed.value.failure.kind is FailureKind.TIMEOUT
    assert (await handle.get()).update.attempt == 2
    assert stopped.is_set()


async def test_a_handler_in_a_thread_sees_that_its_time_is_up(cluster: Cluster) -> None:
    def until_told(context: JobContext[Scene]) -> None:
        while not context.cancelled:
            time.sleep(0.005)
        context.raise_if_cancelled()

    await cluster.start(PlayInThread(until_told))
    handle = await cluster.client.enqueue(play(PlayInThread), timeout=timedelta(seconds=0.2))
    with pytest.raises(JobFailed) as failed:
        await handle.result(PATIENCE)
    assert failed.value.failure.kind is FailureKind.TIMEOUT


async def test_a_handler_that_ends_well_after_its_time_has_succeeded(cluster: Cluster) -> None:
    def late(context: JobContext[Scene]) -> str:
        while not context.cancelled:
            time.sleep(0.005)
        return "done all the same"

    await cluster.start(PlayInThread(late))
    handle = await cluster.client.enqueue(play(PlayInThread), timeout=0.1)
    assert await handle.result(PATIENCE) == "done all the same"


async def test_an_async_handler_that_swallows_its_cancellation_counts_as_timed_out_and_keeps_its_slot(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "TIMEOUT_GRACE", 0.1)
    let_go = asyncio.Event()

    async def stubborn(context: JobContext[Scene]) -> str:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        return "too late"

    await cluster.start(Play(stubborn), SquareHandler, max_concurrency=1, heartbeat_interval=0.1)
    handle = await cluster.client.enqueue(play(Play), timeout=0.1)
    try:
        with pytest.raises(JobFailed) as failed:
            await handle.result(PATIENCE)
        assert failed.value.failure.kind is FailureKind.TIMEOUT
        await eventually(cluster.client.workers, lambda workers: [beat.active for beat in workers] == [1])
    finally:
        let_go.set()
    await cluster.works()  # the late end has freed the only slot
    assert (await handle.get()).status is JobStatus.DEAD_LETTERED


async def test_an_async_handler_that_blocks_its_loop_counts_as_timed_out(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "TIMEOUT_GRACE", 0.1)
    let_go, stop = threading.Event(), threading.Event()

    async def blocking(context: JobContext[Scene]) -> str:
        let_go.wait(PATIENCE)
        return "too late"

    async def elsewhere() -> None:
        handlers: list[HandlerItem] = [Play(blocking), SquareHandler]
        async with JobWorker(cluster.url, handlers=handlers, settings=cluster.settings, max_concurrency=1):
            await asyncio.to_thread(stop.wait, 3 * PATIENCE)

    await cluster.start()
    worker = asyncio.create_task(asyncio.to_thread(asyncio.run, elsewhere()))
    try:
        await cluster.until_workers(1)
        handle = await cluster.client.enqueue(play(Play), timeout=0.1)
        with pytest.raises(JobFailed) as failed:
            await handle.result(PATIENCE)
        assert failed.value.failure.kind is FailureKind.TIMEOUT
        let_go.set()
        await cluster.works()
        assert (await handle.get()).status is JobStatus.DEAD_LETTERED
    finally:
        let_go.set()
        stop.set()
        await worker


@pytest.mark.parametrize("handler", [Play, PlayInThread])
async def test_nothing_of_an_attempt_that_ended_in_time_is_kept_until_its_time_would_be_up(
    cluster: Cluster, handler: type[Play] | type[PlayInThread]
) -> None:
    async def on_loop(context: JobContext[Scene]) -> str:
        return context.job_id

    def far_timers() -> list[asyncio.TimerHandle]:
        return [
            thing
            for thing in gc.get_objects()
            if isinstance(thing, asyncio.TimerHandle)
            and not thing.cancelled()
            and thing.when() > time.monotonic() + 600
        ]

    before = far_timers()  # of other tests' making
    await cluster.start(Play(on_loop), PlayInThread(lambda context: context.job_id))
    handles = await cluster.client.enqueue_many([play(handler) for _ in range(20)], timeout=3600)
    await results(handles)
    ids = {str(handle.job_id) for handle in handles}

    async def kept() -> list[object]:
        attempts = [
            thing
            for thing in gc.get_objects()
            if isinstance(thing, execution.RunningAttempt) and thing.claim.job_id in ids
        ]
        return [*attempts, *(timer for timer in far_timers() if not any(timer is old for old in before))]

    await eventually(kept, lambda things: not things)
