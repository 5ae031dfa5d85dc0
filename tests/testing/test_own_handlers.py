"""The tools for tests of one's own handlers: an attempt by hand, and a whole system in memory."""

from __future__ import annotations

import threading

import attrs
import pytest

from beskar_jobs import (
    HandlerRegistry,
    InvalidValue,
    JobCancelled,
    JobContext,
    JobFailed,
    JobHandlerWithResult,
    JobStatus,
    Retry,
    UnknownJob,
    job_handler,
)
from beskar_jobs.testing import RecordingLink, cluster

own = HandlerRegistry()


@attrs.frozen
class CountArgs:
    upto: int


@job_handler("own.count", queue="own", registry=own)
class CountJobHandler(JobHandlerWithResult[CountArgs, int]):
    def __init__(self, step: int = 1) -> None:
        self.step = step
        self.threads: set[int] = set()

    def execute(self, context: JobContext[CountArgs]) -> int:
        self.threads.add(threading.get_ident())
        total = 0
        for number in range(context.arguments.upto):
            context.raise_if_cancelled()
            context.report_progress(100 * number / context.arguments.upto, f"at {number}")
            total += self.step
        return total


@job_handler("own.flaky", retry=Retry(1), registry=own)
class FlakyJobHandler(JobHandlerWithResult[CountArgs, int]):
    async def execute(self, context: JobContext[CountArgs]) -> int:
        if context.attempt <= context.arguments.upto:
            raise ConnectionError("not yet")
        return context.attempt


def test_progress_of_an_attempt_by_hand_can_be_asserted() -> None:
    link = RecordingLink()
    assert CountJobHandler().execute(JobContext(arguments=CountArgs(2), link=link)) == 2
    assert link.reports == [(0.0, "at 0"), (50.0, "at 1")]


def test_an_attempt_by_hand_can_be_cancelled() -> None:
    link = RecordingLink()
    context = JobContext(arguments=CountArgs(2), link=link)
    assert not context.cancelled
    link.cancel("enough")
    with pytest.raises(JobCancelled, match="enough"):
        CountJobHandler().execute(context)
    assert link.reports == []


async def test_a_cluster_runs_instances_of_handlers_as_a_worker_does() -> None:
    handler = CountJobHandler(step=3)
    async with cluster(handlers=[handler]) as client:
        handle = await client.enqueue(CountJobHandler.request(CountArgs(5)))
        assert await handle.result(timeout=20) == 15
        assert (await handle.get()).update.status is JobStatus.SUCCEEDED
    assert handler.threads
    assert threading.get_ident() not in handler.threads


async def test_a_cluster_retries_as_the_handler_says() -> None:
    async with cluster(handlers=own) as client:
        once = await client.enqueue(FlakyJobHandler.request(CountArgs(1)))
        always = await client.enqueue(FlakyJobHandler.request(CountArgs(9)))
        assert await once.result(timeout=20) == 2
        with pytest.raises(JobFailed, match="not yet"):
            await always.result(timeout=20)


async def test_two_clusters_know_nothing_of_one_another() -> None:
    async with cluster(handlers=[CountJobHandler]) as one, cluster(handlers=[FlakyJobHandler]) as other:
        handle = await one.enqueue(CountJobHandler.request(CountArgs(1)))
        assert await handle.result(timeout=20) == 1
        with pytest.raises(UnknownJob):
            await other.get(handle.job_id)


async def test_a_cluster_with_something_that_is_no_handler_says_so_at_once() -> None:
    with pytest.raises(InvalidValue, match="not as 'digests'"):
        async with cluster(handlers=["digests"]):  # type: ignore[list-item]  # what a newcomer writes
            raise AssertionError("it started")
