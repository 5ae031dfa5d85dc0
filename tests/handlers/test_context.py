"""What a handler sees of its attempt, and what reaches the worker's end."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from beskar_jobs import InvalidValue, JobCancelled, JobContext, JobId


class Recorder:
    def __init__(self) -> None:
        self.reports: list[tuple[float, str]] = []
        self.cancel_reason: str | None = None

    def report_progress(self, percent: float, message: str) -> None:
        self.reports.append((percent, message))


def context(link: Recorder | None = None) -> JobContext[str]:
    return JobContext(arguments="a", job_id=JobId("j1"), job_type="mail.send", attempt=2, link=link or Recorder())


def test_a_plain_call_reports_at_once() -> None:
    link = Recorder()
    context(link).report_progress(50, "half")
    context(link).report_progress(100)
    assert link.reports == [(50.0, "half"), (100.0, "")]


async def test_an_awaited_call_reports_once_and_lets_the_loop_turn() -> None:
    link = Recorder()
    turned = asyncio.Event()
    asyncio.get_running_loop().call_soon(turned.set)
    await context(link).report_progress(50)
    assert turned.is_set()
    assert link.reports == [(50.0, "")]


@pytest.mark.parametrize("percent", [-0.1, 100.1, float("nan"), float("inf"), "50", None, True])
def test_progress_outside_0_to_100_is_refused(percent: Any) -> None:
    link = Recorder()
    with pytest.raises(InvalidValue, match="progress is"):
        context(link).report_progress(percent)
    assert link.reports == []


def test_cancellation_is_seen_when_it_comes() -> None:
    link = Recorder()
    attempt = context(link)
    assert not attempt.cancelled
    attempt.raise_if_cancelled()
    link.cancel_reason = ""
    assert attempt.cancelled
    link.cancel_reason = "by hand"
    with pytest.raises(JobCancelled, match="job j1 was cancelled: by hand"):
        attempt.raise_if_cancelled()


def test_log_records_carry_the_job_next_to_the_callers_own(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        context().logger.info("sent %d", 3, extra={"mail": "m1"})
    (record,) = caplog.records
    assert record.name == "beskar_jobs.job.mail.send"
    assert record.getMessage() == "sent 3"
    assert {key: vars(record)[key] for key in ("job_id", "job_type", "attempt", "mail")} == {
        "job_id": "j1",
        "job_type": "mail.send",
        "attempt": 2,
        "mail": "m1",
    }


async def test_a_context_made_by_hand_works_without_a_worker() -> None:
    attempt = JobContext(arguments=5)
    await attempt.report_progress(1)
    attempt.raise_if_cancelled()
    assert (attempt.attempt, attempt.deadline, attempt.metadata, attempt.cancelled) == (1, None, {}, False)
