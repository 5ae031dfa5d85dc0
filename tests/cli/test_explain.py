"""One sentence on why a job is where it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest

from beskar_jobs.cli.explain import explain
from beskar_jobs.model.details import JobDetails
from beskar_jobs.model.job import FailureKind, JobFailure, JobId, JobStatus, WaitingFor
from beskar_jobs.model.updates import JobStatusUpdate

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def job(status: JobStatus, waiting_for: WaitingFor | None = None, **changes: Any) -> JobDetails:
    update_fields = {field.name for field in attrs.fields(JobStatusUpdate)}
    update = JobStatusUpdate(
        job_id=JobId("j"),
        job_type="mail.send",
        queue="mail",
        status=status,
        sequence=1,
        updated_at=NOW,
        waiting_for=waiting_for,
        **{"attempt": 1, **{name: value for name, value in changes.items() if name in update_fields}},
    )
    details = JobDetails(
        update=update,
        sequence=1,
        arguments=b"{}",
        priority=0,
        failures=0,
        crashes=0,
        cancel_requested=False,
        created_at=NOW,
        due_at=NOW,
        started_at=None,
        finished_at=None,
        metadata={},
        capable_workers=1,
    )
    return attrs.evolve(details, **{name: value for name, value in changes.items() if name not in update_fields})


FAILURE = JobFailure(FailureKind.EXCEPTION, "no route\nto host", "builtins.OSError")
AGO = NOW - timedelta(hours=1, seconds=5)
SOON = NOW + timedelta(minutes=2, seconds=3)


@pytest.mark.parametrize(
    ("shown", "parts"),
    [
        (job(JobStatus.SCHEDULED, WaitingFor.TIME, due_at=SOON), ["waits for its time", "(in 2 min 3 s)"]),
        (job(JobStatus.SCHEDULED, WaitingFor.TIME, due_at=AGO), ["(due now)"]),
        (job(JobStatus.SCHEDULED, WaitingFor.PARENT), ["waits for the jobs that it continues"]),
        (
            job(JobStatus.SCHEDULED, WaitingFor.RETRY, due_at=SOON, attempt=2, failure=FAILURE),
            ["Attempt 2 failed; it is tried again at", "(in 2 min 3 s): OSError: no route"],
        ),
        (
            job(JobStatus.ENQUEUED, WaitingFor.WORKER, capable_workers=0),
            ["none is online that serves queue 'mail' and knows job type 'mail.send'", "beskar worker MODULE"],
        ),
        (job(JobStatus.ENQUEUED, capable_workers=0), ["none is online that serves queue 'mail'"]),
        (job(JobStatus.ENQUEUED, WaitingFor.SLOT), ["free slot: the one worker that can run it is busy"]),
        (job(JobStatus.ENQUEUED, WaitingFor.SLOT, capable_workers=3), ["the 3 workers that can run it are busy"]),
        (job(JobStatus.ENQUEUED, WaitingFor.RATE), ["waits for its rate limit"]),
        (job(JobStatus.ENQUEUED, crashes=1), ["waits for its turn (after 1 lost worker)"]),
        (job(JobStatus.DISPATCHED, worker_id="w7"), ["is being given to worker w7"]),
        (
            job(JobStatus.RUNNING, worker_id="w7", started_at=AGO, attempt=2, percent=50.0, message="half"),
            ["running on worker w7 since", "(1 h)", "in attempt 2", "at 50 % (half)"],
        ),
        (job(JobStatus.RUNNING, worker_id="w7", cancel_requested=True), ["has been asked to stop"]),
        (job(JobStatus.SUCCEEDED, finished_at=AGO), ["succeeded at", "(1 h ago)"]),
        (
            job(JobStatus.DEAD_LETTERED, failures=3, crashes=2, failure=FAILURE, finished_at=AGO),
            ["dead-lettered since", "after 3 failed attempts and 2 lost workers: OSError: no route"],
        ),
        (job(JobStatus.CANCELLED, reason="by hand", finished_at=AGO), ["cancelled at", "(1 h ago): by hand."]),
    ],
)
def test_the_sentence_says_what_it_waits_for_and_what_to_do(shown: JobDetails, parts: list[str]) -> None:
    sentence = explain(shown, NOW)
    assert "\n" not in sentence
    for part in parts:
        assert part in sentence


@pytest.mark.parametrize("status", list(JobStatus))
@pytest.mark.parametrize("waiting_for", [None, *WaitingFor])
def test_every_state_has_a_sentence(status: JobStatus, waiting_for: WaitingFor | None) -> None:
    assert explain(job(status, waiting_for), NOW).startswith(("It ", "Attempt "))
