"""What somebody sees who only watches the logs of a worker and a scheduler."""

from __future__ import annotations

import logging

import pytest

from beskar_jobs import JobContext, JobFailed
from beskar_jobs.worker import engine
from tests.e2e.cluster import PATIENCE, Cluster, eventually, play, within
from tests.e2e.jobs import Gate, Number, Play, Scene, SquareHandler

pytestmark = [
    pytest.mark.parametrize("broker_kind", ["in-memory"], indirect=True),
    pytest.mark.parametrize("storage_kind", ["memory"], indirect=True),
]


class Lines:
    """The log so far, as ``LEVEL message`` of one of our loggers."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog

    def of(self, role: str) -> list[str]:
        return [
            f"{record.levelname} {record.getMessage()}"
            for record in self._caplog.records
            if record.name == f"beskar_jobs.{role}"
        ]

    async def until(self, role: str, text: str) -> list[str]:
        async def look() -> list[str]:
            return [line for line in self.of(role) if text in line]

        return await eventually(look, bool)


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Lines:
    caplog.set_level(logging.INFO, "beskar_jobs")
    return Lines(caplog)


async def fail(context: JobContext[Scene]) -> None:
    raise ValueError("no such file")


async def test_a_worker_tells_the_start_and_the_end_of_every_attempt(cluster: Cluster, lines: Lines) -> None:
    await cluster.start(SquareHandler, Play(fail), worker_id="w")
    square = await cluster.client.enqueue(SquareHandler.request(Number(3)), job_id="good")
    await square.result(PATIENCE)
    bad = await cluster.client.enqueue(play(Play), job_id="bad")
    with pytest.raises(JobFailed, match="failed: ValueError: no such file"):
        await bad.result(PATIENCE)
    told = lines.of("worker")
    assert told[0].startswith(
        f"INFO worker w is ready: 2 job types, all queues, 10 slots, broker {cluster.url}, prefix "
    )
    assert told[1] == "INFO job good (e2e.square): attempt 1 starts"
    assert told[2].startswith("INFO job good (e2e.square): attempt 1 succeeded after 0.")
    assert told[3] == "INFO job bad (e2e.play): attempt 1 starts"
    assert told[4].startswith("WARNING job bad (e2e.play): attempt 1 failed after 0.")
    assert " s: ValueError: no such file\nTraceback (most recent call last):\n" in told[4]
    assert len(told) == 5
    (dead,) = await lines.until("scheduler", "dead-lettered")
    assert dead == "WARNING job bad (e2e.play) is dead-lettered: failed, after 1 attempt: ValueError: no such file"


async def test_a_worker_with_its_log_at_warning_tells_failures_only(
    cluster: Cluster, lines: Lines, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "beskar_jobs")
    await cluster.start(SquareHandler, Play(fail))
    await (await cluster.client.enqueue(SquareHandler.request(Number(3)))).result(PATIENCE)
    with pytest.raises(JobFailed):
        await (await cluster.client.enqueue(play(Play))).result(PATIENCE)
    (told,) = lines.of("worker")
    assert "attempt 1 failed" in told


async def test_a_worker_without_a_scheduler_says_so_once_and_that_one_came(
    cluster: Cluster, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "SCHEDULER_EXPECTED", 0.05)
    await cluster.worker(SquareHandler)
    (told,) = await lines.until("worker", "no scheduler")
    assert told == (
        f"WARNING no scheduler on prefix {cluster.prefix!r} of {cluster.url} yet, so no jobs come; "
        f"'beskar scheduler --prefix {cluster.prefix}' starts one"
    )
    await cluster.scheduler(scheduler_id="late")
    assert await lines.until("worker", "is there") == ["INFO scheduler late is there"]


async def test_a_stop_says_what_it_waits_for_and_what_becomes_of_the_rest(
    cluster: Cluster, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "ACKNOWLEDGE_TIMEOUT", 0.05)
    gate = Gate()
    scheduler = await cluster.scheduler()
    await cluster.new_client()
    worker = await cluster.worker(Play(gate), stop_grace=0.05)
    await cluster.client.enqueue(play(Play))
    await gate.until_entered(1)
    await within(scheduler.stop())
    await within(worker.stop())
    told = "\n".join(lines.of("worker"))
    assert "INFO waiting for 1 running job, up to 0.05 s\n" in told
    assert "WARNING 1 job did not end within 0.05 s: back to the queue, no attempt counted\n" in told
    assert "WARNING no scheduler has acknowledged the ends of 1 attempt; what none has heard runs again" in told


async def test_a_scheduler_tells_of_workers_that_come_leave_or_are_lost(cluster: Cluster, lines: Lines) -> None:
    gate = Gate()
    unlucky = await cluster.start(Play(gate), worker_id="unlucky")
    assert unlucky is not None
    await cluster.client.enqueue(play(Play))
    await gate.until_entered(1)
    other = await cluster.worker(SquareHandler, worker_id="other", queues=["math"], max_concurrency=3)
    assert await lines.until("scheduler", "other came") == ["INFO worker other came: 3 slots, queues math, 1 job type"]
    await within(other.stop())
    assert await lines.until("scheduler", "other left") == ["INFO worker other left"]
    unlucky.simulate_crash()
    (lost,) = await lines.until("scheduler", "is lost")
    assert lost == "WARNING worker unlucky is lost (its worker went offline); 1 job goes back to the queue"
