"""What the scheduler session tells its shell for the log, and when."""

from __future__ import annotations

import logging

import pytest

from beskar_jobs.core.scheduling import WorkerCame, WorkerGone
from beskar_jobs.model.job import FailureKind, Job, JobFailure, WorkerId, WorkerRef
from beskar_jobs.model.retry import Retry
from beskar_jobs.scheduler.news import tell
from beskar_jobs.wire.messages import Attempt, AttemptEvent
from tests.core.harness import Bench, beat

W1 = WorkerRef(WorkerId("w1"), "i1")
LOGGER = logging.getLogger("beskar_jobs.scheduler")


@pytest.fixture
def bench() -> Bench:
    return Bench(default_retry=Retry(1, delays=[5.0], jitter=0))


def failed(attempt: Attempt) -> AttemptEvent:
    failure = JobFailure(FailureKind.EXCEPTION, "boom\nand more", "builtins.ValueError")
    return AttemptEvent("failed", attempt.job_id, attempt.fence, failure=failure)


def test_a_worker_that_comes_is_told_once_and_its_heartbeats_are_not(bench: Bench) -> None:
    bench.beat(beat())
    bench.beat(beat())
    bench.beat(beat(connection=2))
    (came,) = bench.session.take_notable()
    assert isinstance(came, WorkerCame)
    assert bench.session.take_notable() == []


def test_a_worker_that_drained_and_has_no_job_left(bench: Bench) -> None:
    bench.beat(beat())
    bench.beat(beat(draining=True))
    bench.beat(beat(online=False))
    assert bench.session.take_notable()[1:] == [WorkerGone(W1, "its worker went offline", in_order=True)]


def test_a_lost_worker_is_told_with_the_jobs_that_go_back(bench: Bench) -> None:
    bench.running()
    bench.beat(beat(online=False))
    assert bench.session.take_notable()[1:] == [WorkerGone(W1, "its worker went offline", jobs=1, restarted=1)]


def test_an_old_notice_of_a_worker_without_jobs_is_no_news(bench: Bench) -> None:
    bench.beat(beat(online=False))
    assert bench.session.take_notable() == []


def test_a_retry_and_a_dead_letter_are_told_once_they_are_stored(bench: Bench) -> None:
    attempt = bench.running()
    bench.session.take_notable()
    bench.tell(failed(attempt))
    bench.advance()
    assert bench.session.take_notable() == []
    bench.settle()
    assert bench.session.take_notable() == [bench.job("j1")]
    bench.beat(beat())
    bench.run(6.0, beats=lambda: bench.beat(beat()))
    assert bench.session.take_notable() == []
    bench.tell(failed(Attempt("j1", 2)))
    bench.settle()
    (dead,) = bench.session.take_notable()
    assert isinstance(dead, Job)
    assert dead.status == "dead_lettered"


def test_the_log_has_a_line_for_each_at_its_level(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER.name)
    attempt = bench.running()
    bench.tell(failed(attempt))
    bench.settle()
    bench.run(6.0, beats=lambda: bench.beat(beat()))
    bench.tell(failed(Attempt("j1", 2)))
    bench.settle()
    bench.running("j2")
    bench.beat(beat(online=False))
    tell(bench.session.take_notable(), LOGGER)
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert told[0] == ("INFO", "worker w1 came: 4 slots, all queues, 0 job types")
    assert told[1][0] == "INFO"
    assert told[1][1].startswith("job j1 (t): attempt 1 failed, retry 1 of 1 at ")
    assert told[1][1].endswith(" (in 5.0 s): ValueError: boom")
    assert told[2:] == [
        ("WARNING", "job j1 (t) is dead-lettered: no retry left, after 2 attempts: ValueError: boom"),
        ("WARNING", "worker w1 is lost (its worker went offline); 1 job goes back to the queue"),
    ]
    caplog.clear()
    caplog.set_level(logging.ERROR, LOGGER.name)
    tell([WorkerGone(W1, "its worker went offline")], LOGGER)
    assert caplog.records == []
