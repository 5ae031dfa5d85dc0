"""Cancel at each point of a job's life (C14): it never runs, the answer tells what is committed."""

from __future__ import annotations

import pytest

from beskar_jobs.model.job import FailureKind, JobFailure, JobStatus
from beskar_jobs.model.retry import Retry
from beskar_jobs.wire.messages import Attempt, AttemptEvent, CancelReply, ClaimRequest, ControlMessage, Rejection
from tests.core.harness import Bench, beat, item, succeeded


@pytest.fixture
def bench() -> Bench:
    return Bench()


def answer(bench: Bench) -> tuple[str, JobStatus | None]:
    """The last reply to a cancel."""
    reply = bench.replies()[-1]
    assert isinstance(reply, CancelReply)
    assert not reply.error
    return reply.outcome, reply.status


def test_a_scheduled_job_is_cancelled_and_never_becomes_due(bench: Bench) -> None:
    bench.enqueue(item("j1", delay=10.0))
    bench.settle()
    bench.cancel("j1")
    bench.settle()
    assert answer(bench) == ("cancelled", JobStatus.CANCELLED)
    bench.beat(beat())
    bench.run(12, beats=lambda: bench.beat(beat()))
    assert bench.status("j1") is JobStatus.CANCELLED
    assert bench.claims() == []
    assert bench.session.next_due is None


def test_a_waiting_job_is_cancelled_and_never_claimed(bench: Bench) -> None:
    bench.enqueue(item("j1"), item("j2"))
    bench.settle()
    bench.cancel("j1")
    bench.settle()
    assert answer(bench) == ("cancelled", JobStatus.CANCELLED)
    assert bench.job("j1").reason == "no longer needed"
    bench.beat(beat())
    bench.settle()
    assert [claim.job_id for claim in bench.claims()] == ["j2"]


def test_a_job_whose_claim_is_being_written_is_cancelled_before_anybody_hears_of_it(bench: Bench) -> None:
    bench.enqueue(item("j1"))
    bench.settle()
    bench.beat(beat(slots=1))
    bench.advance()
    claim = bench.take_batch()
    assert claim is not None
    bench.cancel("j1")
    bench.read()
    bench.finish(claim)
    bench.settle()
    assert bench.status("j1") is JobStatus.CANCELLED
    assert bench.claims() == []
    bench.enqueue(item("j2"))
    bench.settle()
    assert [claim.job_id for claim in bench.claims()] == ["j2"], "its slot is free again"


def test_a_job_with_a_running_handler_is_cancelled_when_that_has_stopped(bench: Bench) -> None:
    attempt = bench.running()
    bench.cancel("j1")
    bench.settle()
    assert answer(bench) == ("requested", JobStatus.RUNNING)
    assert bench.told_to_cancel() == [attempt]
    bench.tell(AttemptEvent("cancelled", attempt.job_id, attempt.fence))
    bench.settle()
    assert bench.status("j1") is JobStatus.CANCELLED
    assert bench.acknowledged() == [attempt]


def test_a_handler_that_ends_well_all_the_same_succeeds(bench: Bench) -> None:
    attempt = bench.running()
    bench.cancel("j1")
    bench.settle()
    bench.tell(succeeded(attempt))
    bench.settle()
    assert bench.status("j1") is JobStatus.SUCCEEDED


@pytest.mark.parametrize("kind", ["failed", "released"])
def test_a_cancelled_job_never_starts_again(bench: Bench, kind: str) -> None:
    bench.beat(beat())
    bench.enqueue(item("j1", retry=Retry(5)))
    bench.settle()
    bench.accept(Attempt("j1", 1))
    bench.cancel("j1")
    bench.settle()
    failure = JobFailure(FailureKind.EXCEPTION, "no", "E", ("E",)) if kind == "failed" else None
    bench.tell(AttemptEvent(kind, "j1", 1, failure=failure))  # type: ignore[arg-type]  # parametrize loses the type
    bench.settle()
    assert bench.status("j1") is JobStatus.CANCELLED


def test_a_cancelled_job_whose_worker_is_lost_is_cancelled(bench: Bench) -> None:
    bench.running()
    bench.cancel("j1")
    bench.settle()
    bench.beat(beat(online=False))
    bench.settle()
    assert bench.status("j1") is JobStatus.CANCELLED


def test_cancelled_by_its_own_means_a_handler_has_failed(bench: Bench) -> None:
    """C16: nobody asked for it."""
    attempt = bench.running()
    bench.tell(AttemptEvent("cancelled", attempt.job_id, attempt.fence))
    bench.settle()
    assert bench.status("j1") is JobStatus.DEAD_LETTERED


def test_an_offered_job_is_cancelled_when_its_worker_refuses_it(bench: Bench) -> None:
    bench.beat(beat())
    bench.enqueue(item("j1"))
    bench.settle()
    bench.cancel("j1")
    bench.settle()
    assert answer(bench) == ("requested", JobStatus.DISPATCHED)
    bench.reject(Rejection("j1", 1, "full"))
    bench.settle()
    assert bench.status("j1") is JobStatus.CANCELLED


def test_a_claim_is_offered_again_only_behind_its_cancellation(bench: Bench) -> None:
    """The claim may have been lost; the worker hears that it is cancelled before it hears of it."""
    bench.beat(beat())
    bench.enqueue(item("j1"))
    bench.settle()
    bench.cancel("j1")
    bench.settle()
    bench.take_sent()
    bench.run(2.5, beats=lambda: bench.beat(beat()))
    messages = [send.message for send in bench.sent if isinstance(send.message, ClaimRequest | ControlMessage)]
    cancels = [index for index, message in enumerate(messages) if getattr(message, "cancel", None)]
    claims = [index for index, message in enumerate(messages) if isinstance(message, ClaimRequest)]
    assert claims
    assert min(cancels) < min(claims)


def test_a_job_that_ended_is_finished(bench: Bench) -> None:
    bench.tell(succeeded(bench.running()))
    bench.settle()
    bench.cancel("j1")
    bench.settle()
    assert answer(bench) == ("finished", JobStatus.SUCCEEDED)


def test_finished_is_answered_only_when_the_end_is_committed(bench: Bench) -> None:
    bench.tell(succeeded(bench.running()))
    end = bench.take_batch()
    assert end is not None
    bench.cancel("j1")
    bench.read()
    bench.advance()
    assert bench.replies() == []
    bench.finish(end)
    assert answer(bench) == ("finished", JobStatus.SUCCEEDED)


def test_a_second_cancel_is_answered_like_the_first_when_that_is_committed(bench: Bench) -> None:
    bench.running()
    bench.cancel("j1")
    bench.cancel("j1")
    bench.advance()
    assert bench.replies() == []
    bench.settle()
    assert [answer(bench), len(bench.replies())] == [("requested", JobStatus.RUNNING), 2]
    bench.cancel("j1")
    bench.settle()
    assert [answer(bench), len(bench.replies())] == [("requested", JobStatus.RUNNING), 3]


def test_an_unknown_job_is_unknown(bench: Bench) -> None:
    bench.cancel("never")
    bench.settle()
    assert answer(bench) == ("unknown", None)


def test_a_cancel_that_met_another_schedulers_write_is_decided_anew(bench: Bench) -> None:
    bench.enqueue(item("j1"))
    bench.settle()
    bench.cancel("j1")
    bench.read()
    cancel = bench.take_batch()
    assert cancel is not None
    other = Bench(bench.storage, bench.now)
    other.beat(beat())
    other.settle()
    other.tell(succeeded(Attempt("j1", 1)))
    other.settle()
    bench.finish(cancel)
    bench.settle()
    assert answer(bench) == ("finished", JobStatus.SUCCEEDED)


def test_a_cancel_is_kept_over_a_restart(bench: Bench) -> None:
    attempt = bench.running()
    bench.cancel("j1")
    bench.settle()
    again = Bench(bench.storage, bench.now)
    again.beat(beat(held=[("j1", 1)]))
    again.settle()
    assert again.told_to_cancel() == [attempt]
