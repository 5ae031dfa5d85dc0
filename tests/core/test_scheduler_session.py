"""The scheduler session by hand: commit first, enqueue, claims, ends. Presence and cancelling have their own files."""

from __future__ import annotations

from datetime import timedelta

import attrs
import msgspec
import pytest

from beskar_jobs.core.scheduling import ReadDue
from beskar_jobs.core.scheduling import session as session_module
from beskar_jobs.core.scheduling.dispatching import CLAIM_TIMEOUT
from beskar_jobs.model.job import DEFAULT_MAX_CRASHES, FailureKind, JobFailure, JobId, JobStatus, WaitingFor
from beskar_jobs.model.presence import HandlerPolicy
from beskar_jobs.model.retry import Retry
from beskar_jobs.wire.messages import (
    INLINE_RESULT_BYTES,
    Attempt,
    AttemptEvent,
    ClaimRequest,
    EnqueueReply,
    Rejection,
    UpdatesMessage,
)
from tests.core.harness import T0, Bench, beat, item, succeeded


@pytest.fixture
def bench() -> Bench:
    return Bench()


def memory(bench: Bench) -> tuple[int, int, list[str]]:
    """Jobs in hand, jobs watched, queues with a lane."""
    state = bench.session._state  # no public name shows what shall be empty
    for queue in state.lanes.queues():
        list(state.lanes.in_queue(queue))
    return len(state.ledger), len(bench.session.outbox._watchers), state.lanes.queues()


# -- commit first ------------------------------------------------------------------------------------------------------


def test_an_enqueue_is_answered_only_after_its_commit(bench: Bench) -> None:
    bench.enqueue(item("j1"), watcher="c1")
    bench.advance()
    batch = bench.take_batch()
    bench.advance()
    assert batch is not None
    assert bench.sent == []
    assert bench.statuses == []
    bench.finish(batch)
    assert bench.replies() == [EnqueueReply()]
    assert [status.status for status in bench.statuses] == [JobStatus.ENQUEUED]


def test_a_claim_leaves_only_after_its_commit(bench: Bench) -> None:
    bench.enqueue(item("j1"))
    bench.settle()
    bench.beat(beat())
    bench.advance()
    batch = bench.take_batch()
    bench.advance()
    assert batch is not None
    assert bench.claims() == []
    bench.finish(batch)
    assert [(claim.job_id, claim.fence, claim.attempt) for claim in bench.claims("w1")] == [("j1", 1, 1)]
    assert bench.status("j1") is JobStatus.DISPATCHED


def test_an_end_is_acknowledged_and_told_only_after_its_commit(bench: Bench) -> None:
    attempt = bench.running()
    bench.tell(succeeded(attempt))
    bench.advance()
    batch = bench.take_batch()
    bench.advance()
    assert batch is not None
    assert bench.acknowledged() == []
    assert bench.statuses == []
    bench.finish(batch)
    assert bench.acknowledged() == [attempt]
    assert bench.statuses[-1].status is JobStatus.SUCCEEDED
    assert bytes(bench.statuses[-1].result) == b"1"


def test_a_commit_that_raises_may_be_done_again(bench: Bench) -> None:
    bench.enqueue(item("j1"))
    batch = bench.take_batch()
    assert batch is not None
    assert bench.take_batch() is None
    bench.finish(batch)
    assert bench.replies() == [EnqueueReply()]


# -- enqueue -----------------------------------------------------------------------------------------------------------


def test_the_same_job_enqueued_again_exists(bench: Bench) -> None:
    bench.enqueue(item("j1"))
    bench.settle()
    bench.take_sent()
    bench.enqueue(item("j1"), item("j2"))
    bench.settle()
    (reply,) = bench.replies()
    assert isinstance(reply, EnqueueReply)
    assert [(known.index, known.outcome) for known in reply.exceptions] == [(0, "exists")]
    assert len(bench.storage.jobs) == 2


def test_the_same_job_twice_before_the_first_commit_is_one(bench: Bench) -> None:
    bench.enqueue(item("j1"))
    bench.enqueue(item("j1"))
    bench.settle()
    first, second = bench.replies()
    assert first == EnqueueReply()
    assert isinstance(second, EnqueueReply)
    assert [known.outcome for known in second.exceptions] == ["exists"]
    assert len(bench.storage.history[JobId("j1")]) == 1


@pytest.mark.parametrize("other", [item("j1", "other"), item("j1", arguments=b'{"a":1}')])
def test_a_taken_id_is_rejected_for_another_job(bench: Bench, other: object) -> None:
    bench.enqueue(item("j1"))
    bench.settle()
    stored = bench.job("j1")
    bench.take_sent()
    bench.enqueue(other)  # type: ignore[arg-type]  # parametrize loses the type
    bench.settle()
    (reply,) = bench.replies()
    assert isinstance(reply, EnqueueReply)
    assert [known.outcome for known in reply.exceptions] == ["rejected"]
    assert "j1" in reply.exceptions[0].message
    assert bench.job("j1") == stored


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (item("j/1"), "job id"),
        (item("j1", " "), "job type"),
        (item("j1", queue="a#b"), "queue"),
        (item("j1", delay=-1.0), "delay"),
        (item("j1", delay=1e300), "delay"),
        (item("j1", delay=1.0, run_at=T0), "delay and run_at"),
        (item("j1", run_at=T0 + timedelta(days=40_000)), "run_at"),
        (item("j1", priority=10**9), "priority"),
        (item("j1", timeout=0.0), "timeout"),
        (item("j1", arguments=b'"' + b"x" * (1024 * 1024) + b'"'), "arguments"),
    ],
)
def test_one_bad_item_stores_nothing_of_the_command(bench: Bench, bad: object, says: str) -> None:
    bench.enqueue(item("good"), bad)  # type: ignore[arg-type]  # parametrize loses the type
    bench.settle()
    (reply,) = bench.replies()
    assert isinstance(reply, EnqueueReply)
    assert reply.error
    assert [(refused.index, refused.outcome) for refused in reply.exceptions] == [(1, "rejected")]
    assert says in reply.exceptions[0].message
    assert bench.storage.jobs == {}


def test_a_run_at_before_the_first_year_is_rejected_and_not_an_accident(bench: Bench) -> None:
    data = (
        b'{"v":1,"items":[{"id":"j1","job_type":"t","queue":"q","arguments":{},"run_at":"0001-01-01T00:00:00+14:00"}]}'
    )
    bench.enqueue_raw(data)
    bench.settle()
    (reply,) = bench.replies()
    assert isinstance(reply, EnqueueReply)
    assert reply.exceptions
    assert "run_at" in reply.exceptions[0].message


def test_enqueues_are_turned_away_as_busy_while_storage_is_behind(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "MAX_PENDING", 2)
    bench.enqueue(item("j1"), item("j2"), item("j3"))
    bench.enqueue(item("j4"))
    bench.collect()
    (reply,) = bench.replies()
    assert isinstance(reply, EnqueueReply)
    assert reply.busy
    bench.settle()
    bench.enqueue(item("j4"))
    bench.settle()
    assert len(bench.storage.jobs) == 4


def test_enqueues_are_turned_away_while_much_waits_for_storage(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "MAX_PENDING_BYTES", 0)
    bench.enqueue(item("j1"))
    bench.enqueue(item("j2"))
    bench.collect()
    (reply,) = bench.replies()
    assert isinstance(reply, EnqueueReply)
    assert reply.busy
    bench.settle()
    bench.enqueue(item("j2"))
    bench.settle()
    assert len(bench.storage.jobs) == 2


def test_enqueues_are_turned_away_with_the_reason_while_storage_is_away(bench: Bench) -> None:
    bench.enqueue(item("j1"))
    bench.session.storage_problem = "the disk is full"
    bench.enqueue(item("j1"))
    bench.collect()
    (reply,) = bench.replies()
    assert isinstance(reply, EnqueueReply)
    assert (reply.busy, reply.error) == (True, "storage is away: the disk is full")
    bench.session.storage_problem = ""
    bench.settle()
    assert len(bench.storage.jobs) == 1


def test_the_order_of_enqueue_is_the_order_of_a_queue(bench: Bench) -> None:
    bench.enqueue(*(item(f"j{index}") for index in range(5)), item("urgent", priority=1))
    bench.settle()
    bench.beat(beat(slots=6))
    bench.settle()
    assert [claim.job_id for claim in bench.claims()] == ["urgent", "j0", "j1", "j2", "j3", "j4"]


def test_queues_are_served_in_alphabetical_order(bench: Bench) -> None:
    bench.enqueue(item("late", queue="b-default"), item("soon", queue="a-critical"))
    bench.settle()
    bench.beat(beat(slots=1))
    bench.settle()
    assert [claim.job_id for claim in bench.claims()] == ["soon"]


# -- claims ------------------------------------------------------------------------------------------------------------


def test_a_job_runs_and_succeeds(bench: Bench) -> None:
    bench.enqueue(item("j1"))
    bench.beat(beat())
    bench.settle()
    (claim,) = bench.claims("w1")
    bench.accept(Attempt("j1", 1))
    bench.settle()
    assert bench.status("j1") is JobStatus.RUNNING
    bench.tell(succeeded(Attempt("j1", claim.fence), b'"done"'))
    bench.settle()
    assert bench.status("j1") is JobStatus.SUCCEEDED
    assert bench.job("j1").result == b'"done"'
    assert bench.acknowledged() == [Attempt("j1", 1)]


def test_a_claim_and_its_end_may_go_to_storage_as_one_write(bench: Bench) -> None:
    bench.enqueue(item("j1"))
    bench.beat(beat())
    bench.settle()
    bench.accept(Attempt("j1", 1))
    bench.tell(succeeded(Attempt("j1", 1)))
    batch = bench.take_batch()
    assert batch is not None
    assert len(batch.writes) == 1
    bench.finish(batch)
    assert bench.status("j1") is JobStatus.SUCCEEDED
    assert bench.acknowledged() == [Attempt("j1", 1)]


def test_an_end_without_the_answer_to_the_claim_counts(bench: Bench) -> None:
    bench.enqueue(item("j1"))
    bench.beat(beat())
    bench.settle()
    bench.tell(succeeded(Attempt("j1", 1)))
    bench.settle()
    assert bench.status("j1") is JobStatus.SUCCEEDED


def test_a_rejected_claim_goes_to_the_next_worker_and_counts_no_attempt(bench: Bench) -> None:
    bench.beat(beat("w1", slots=1))
    bench.enqueue(item("j1"))
    bench.settle()
    bench.beat(beat("w2", slots=1))
    bench.settle()
    bench.reject(Rejection("j1", 1, "full"))
    bench.settle()
    (claim,) = bench.claims("w2")
    assert (claim.fence, claim.attempt) == (2, 1)
    bench.take_sent()
    bench.enqueue(item("j2"))
    bench.settle()
    assert bench.claims() == [], "w1 said that it is full"
    bench.beat(beat("w1", slots=1))
    bench.settle()
    assert [claim.job_id for claim in bench.claims("w1")] == ["j2"], "its slot was given back"


def test_a_full_worker_is_offered_work_again_after_an_end(bench: Bench) -> None:
    attempt = bench.running()
    bench.enqueue(item("j2"))
    bench.settle()
    bench.reject(Rejection("j2", 1, "full"))
    bench.settle()
    bench.take_sent()
    bench.tell(succeeded(attempt))
    bench.settle()
    assert [claim.job_id for claim in bench.claims("w1")] == ["j2"]


def test_a_type_that_a_worker_does_not_know_is_not_offered_to_it_again(bench: Bench) -> None:
    bench.beat(beat("w1"))
    bench.enqueue(item("j1"))
    bench.settle()
    bench.reject(Rejection("j1", 1, "unknown_type"))
    bench.settle()
    bench.beat(beat("w1"))
    bench.settle()
    assert len(bench.claims()) == 1
    assert bench.statuses[-1].waiting_for is WaitingFor.WORKER


def test_a_rejection_of_an_earlier_claim_changes_nothing(bench: Bench) -> None:
    attempt = bench.running()
    bench.reject(Rejection(attempt.job_id, attempt.fence - 1, "full"))
    bench.reject(Rejection(attempt.job_id, attempt.fence, "full"), worker="w2")
    bench.settle()
    assert bench.status("j1") is JobStatus.RUNNING


def test_an_unanswered_claim_is_offered_again_to_the_same_worker_only(bench: Bench) -> None:
    """A25: the answer is lost; a second worker is free all the while."""
    bench.beat(beat("w1"))
    bench.enqueue(item("j1"))
    bench.settle()

    def beats() -> None:
        bench.beat(beat("w1"))
        bench.beat(beat("w2"))

    bench.run(3 * CLAIM_TIMEOUT + 1, beats=beats)
    assert len(bench.claims("w1")) == 4
    assert {claim.fence for claim in bench.claims("w1")} == {1}
    assert bench.claims("w2") == []
    bench.accept(Attempt("j1", 1))
    bench.settle()
    bench.take_sent()
    bench.run(3 * CLAIM_TIMEOUT, beats=beats)
    assert bench.claims() == []


def test_there_are_never_more_claims_than_free_slots(bench: Bench) -> None:
    """E14: what does not fit stays with the scheduler, for whoever is free first."""
    bench.beat(beat("w1", slots=2))
    bench.beat(beat("w2", slots=1))
    bench.enqueue(*(item(f"j{index}") for index in range(10)))
    bench.settle()
    assert len(bench.claims("w1")) == 2
    assert len(bench.claims("w2")) == 1
    assert bench.storage.lanes()[0][1] == 7
    bench.accept(*(Attempt(claim.job_id, claim.fence) for claim in bench.claims("w2")), worker="w2")
    bench.tell(*(succeeded(Attempt(claim.job_id, claim.fence)) for claim in bench.claims("w2")), worker="w2")
    bench.settle()
    assert len(bench.claims("w1")) == 2
    assert len(bench.claims("w2")) == 2


def test_a_repeated_end_of_an_old_attempt_frees_no_slot_of_the_new_one(bench: Bench) -> None:
    bench.beat(beat(slots=1))
    bench.enqueue(item("j1", retry=Retry(3)), item("j2"))
    bench.settle()
    failed = AttemptEvent("failed", "j1", 1, failure=JobFailure(FailureKind.EXCEPTION, "no", "E", ("E",)))
    bench.tell(failed)
    bench.settle()
    bench.sleep(1)
    bench.settle()
    bench.tell(succeeded(Attempt("j2", 1)))
    bench.settle()
    assert bench.claims()[-1].job_id == "j1"
    bench.take_sent()
    bench.enqueue(item("j3"))
    bench.tell(failed)
    bench.settle()
    assert bench.claims() == [], "attempt 2 of j1 has the only slot"


def test_claims_of_large_arguments_go_in_messages_of_bounded_size(bench: Bench) -> None:
    large = b'"' + b"x" * 900_000 + b'"'
    bench.enqueue(*(item(f"j{index}", arguments=large) for index in range(12)))
    bench.beat(beat(slots=20))
    bench.settle()
    requests = [send.message for send in bench.sent if isinstance(send.message, ClaimRequest)]
    assert len(bench.claims()) == 12
    assert all(sum(len(bytes(claim.arguments)) for claim in request.claims) < 5_000_000 for request in requests)


# -- ends --------------------------------------------------------------------------------------------------------------


def test_a_failure_with_retries_left_waits_for_its_time(bench: Bench) -> None:
    bench.beat(beat())
    bench.enqueue(item("j1", retry=Retry(1, delays=[30])))
    bench.settle()
    bench.tell(AttemptEvent("failed", "j1", 1, failure=JobFailure(FailureKind.EXCEPTION, "no", "E", ("E",))))
    bench.settle()
    job = bench.job("j1")
    assert (job.status, job.waiting_for, job.failures) == (JobStatus.SCHEDULED, WaitingFor.RETRY, 1)
    assert job.due_at == bench.now.wall + timedelta(seconds=30)
    assert bench.session.next_due == job.due_at
    bench.run(29, beats=lambda: bench.beat(beat()))
    assert bench.status("j1") is JobStatus.SCHEDULED
    bench.run(1, beats=lambda: bench.beat(beat()))
    assert [claim.attempt for claim in bench.claims()] == [1, 2]
    bench.tell(AttemptEvent("failed", "j1", 2, failure=JobFailure(FailureKind.EXCEPTION, "again", "E", ("E",))))
    bench.settle()
    assert bench.status("j1") is JobStatus.DEAD_LETTERED


def test_a_hostile_jitter_from_the_wire_does_not_break_the_scheduler(bench: Bench) -> None:
    bench = Bench(dice=lambda: 1.0)
    bench.enqueue_raw(
        b'{"v":1,"items":[{"id":"j1","job_type":"t","queue":"q","arguments":{},'
        b'"retry":{"max_retries":3,"delays":[5.0],"jitter":1e308}}]}'
    )
    bench.beat(beat())
    bench.settle()
    bench.tell(AttemptEvent("failed", "j1", 1, failure=JobFailure(FailureKind.EXCEPTION, "no", "E", ("E",))))
    bench.settle()
    assert bench.job("j1").due_at <= bench.now.wall + timedelta(seconds=10)


def test_a_released_attempt_counts_nothing(bench: Bench) -> None:
    attempt = bench.running()
    bench.beat(beat(draining=True))
    bench.tell(AttemptEvent("released", *_of(attempt)))
    bench.settle()
    job = bench.job("j1")
    assert (job.status, job.attempt, job.crashes, job.failures) == (JobStatus.ENQUEUED, 0, 0, 0)
    assert bench.acknowledged() == [attempt]


def test_a_repeated_end_is_acknowledged_again(bench: Bench) -> None:
    attempt = bench.running()
    for _ in range(3):
        bench.tell(succeeded(attempt))
        bench.settle()
    assert bench.acknowledged() == [attempt] * 3
    assert [job.status for job in bench.storage.history[JobId("j1")]].count(JobStatus.SUCCEEDED) == 1
    assert bench.session.take_refused_ends() == []


def test_the_end_of_a_foreign_worker_is_refused(bench: Bench) -> None:
    attempt = bench.running()
    bench.tell(succeeded(attempt), worker="w2")
    bench.tell(succeeded(attempt), incarnation="i0")
    bench.settle()
    assert bench.status("j1") is JobStatus.RUNNING
    assert len(bench.session.take_refused_ends()) == 2
    assert bench.abandoned() == [attempt, attempt]


def test_the_late_end_of_a_lost_attempt_is_refused_and_told_to_abandon(bench: Bench) -> None:
    """A14, while another worker runs the job, and after that one's end."""
    attempt = bench.running()
    bench.beat(beat("w2"))
    bench.beat(beat("w1", online=False))
    bench.settle()
    assert [claim.fence for claim in bench.claims("w2")] == [2]
    bench.tell(succeeded(attempt, b'"late"'))
    bench.settle()
    assert bench.abandoned() == [attempt]
    bench.tell(succeeded(Attempt("j1", 2), b'"right"'), worker="w2")
    bench.settle()
    bench.tell(succeeded(attempt, b'"late"'))
    bench.settle()
    assert bench.job("j1").result == b'"right"'
    assert bench.abandoned() == [attempt, attempt]
    assert [refused.attempt for refused in bench.session.take_refused_ends()] == [attempt, attempt]


@pytest.mark.parametrize("restart", [True, False])
def test_the_late_end_of_a_lost_attempt_is_refused_before_the_next_claim_too(bench: Bench, restart: bool) -> None:
    """The fence is still the lost attempt's own: back in the queue, or dead-lettered."""
    bench.beat(beat(types={"t": HandlerPolicy(restart_on_crash=restart)}))
    bench.enqueue(item("j1"))
    bench.settle()
    bench.beat(beat(online=False))
    bench.settle()
    stored = bench.job("j1")
    assert stored.status is (JobStatus.ENQUEUED if restart else JobStatus.DEAD_LETTERED)
    bench.tell(succeeded(Attempt("j1", 1)))
    bench.settle()
    assert bench.job("j1") == stored
    assert bench.abandoned() == [Attempt("j1", 1)]
    assert len(bench.session.take_refused_ends()) == 1


def test_the_end_of_an_unknown_job_is_refused(bench: Bench) -> None:
    bench.beat(beat())
    bench.tell(succeeded(Attempt("never", 1)))
    bench.settle()
    assert bench.abandoned() == [Attempt("never", 1)]


def test_a_poison_job_is_dead_lettered_past_its_crash_budget(bench: Bench) -> None:
    """A22: each worker that runs it dies."""
    bench.enqueue(item("j1", retry=Retry(50)))
    for index in range(DEFAULT_MAX_CRASHES + 3):
        bench.beat(beat(f"w{index}"))
        bench.settle()
        bench.beat(beat(f"w{index}", online=False))
        bench.settle()
    job = bench.job("j1")
    assert (job.status, job.crashes, job.failures) == (JobStatus.DEAD_LETTERED, DEFAULT_MAX_CRASHES + 1, 0)
    assert job.failure is not None
    assert job.failure.kind is FailureKind.CRASH
    assert len(bench.claims()) == DEFAULT_MAX_CRASHES + 1


def test_a_large_result_is_left_out_of_the_status(bench: Bench) -> None:
    bench.enqueue(item("j1"), watcher="c1")
    bench.beat(beat())
    bench.settle()
    result = b'"' + b"x" * INLINE_RESULT_BYTES + b'"'
    bench.tell(succeeded(Attempt("j1", 1), result))
    bench.settle()
    for status in (bench.statuses[-1], bench.updates("c1")[-1]):
        assert status.status is JobStatus.SUCCEEDED
        assert status.result_omitted
        assert bytes(status.result) == b"null"
    assert bench.job("j1").result == result


def test_updates_with_long_tracebacks_go_in_messages_of_bounded_size(bench: Bench) -> None:
    bench.enqueue(*(item(f"j{index}") for index in range(100)), watcher="c1")
    bench.beat(beat(slots=100))
    bench.settle()
    bench.take_sent()
    failure = JobFailure(FailureKind.EXCEPTION, "no", "E", ("E",), traceback="x" * 60_000)
    bench.tell(*(AttemptEvent("failed", f"j{index}", 1, failure=failure) for index in range(100)))
    bench.settle()
    messages = [send.message for send in bench.sent if isinstance(send.message, UpdatesMessage)]
    assert sum(len(message.jobs) for message in messages) == 100
    assert max(len(message.jobs) for message in messages) <= 30


# -- progress, watchers ------------------------------------------------------------------------------------------------


def test_progress_is_told_with_a_growing_sequence(bench: Bench) -> None:
    attempt = bench.running()
    for percent in (10.0, 50.0):
        bench.tell(AttemptEvent("progress", *_of(attempt), percent=percent, message="m"))
        bench.settle()
    assert [status.percent for status in bench.statuses] == [10.0, 50.0]
    sequences = [status.sequence for status in bench.statuses]
    bench.tell(succeeded(attempt))
    bench.settle()
    assert sequences[0] < sequences[1] < bench.statuses[-1].sequence


def test_progress_of_a_dispatched_job_shows_that_it_runs(bench: Bench) -> None:
    bench.enqueue(item("j1"))
    bench.beat(beat())
    bench.settle()
    bench.tell(AttemptEvent("progress", "j1", 1, percent=5.0))
    bench.settle()
    assert bench.status("j1") is JobStatus.RUNNING
    assert bench.statuses[-1].percent == 5.0


def test_a_report_that_comes_with_the_end_is_told_with_it(bench: Bench) -> None:
    attempt = bench.running()
    bench.tell(AttemptEvent("progress", *_of(attempt), percent=10.0, message="begun"))
    bench.settle()
    bench.tell(msgspec.structs.replace(succeeded(attempt), percent=100.0, message="all written"))
    bench.settle()
    last = bench.statuses[-1]
    assert (last.status, last.percent, last.message) == (JobStatus.SUCCEEDED, 100.0, "all written")


def test_progress_of_a_stale_attempt_is_not_told(bench: Bench) -> None:
    attempt = bench.running()
    bench.tell(AttemptEvent("progress", attempt.job_id, attempt.fence - 1, percent=99.0))
    bench.tell(AttemptEvent("progress", *_of(attempt), percent=99.0), worker="w2")
    bench.settle()
    assert bench.statuses == []


def test_a_watcher_hears_of_the_end_exactly_once(bench: Bench) -> None:
    bench.enqueue(item("j1"), watcher="c1")
    bench.enqueue(item("j1"), watcher="c1")
    bench.enqueue(item("j1"), watcher="c2")
    bench.beat(beat())
    bench.settle()
    for _ in range(2):
        bench.tell(succeeded(Attempt("j1", 1)))
        bench.settle()
    for client in ("c1", "c2"):
        assert [status.status for status in bench.updates(client)].count(JobStatus.SUCCEEDED) == 1
    assert memory(bench)[1] == 0


def test_a_repeated_enqueue_of_an_ended_job_tells_how_it_ended(bench: Bench) -> None:
    bench.tell(succeeded(bench.running()))
    bench.settle()
    bench.enqueue(item("j1"), watcher="c9")
    bench.settle()
    assert [status.status for status in bench.updates("c9")] == [JobStatus.SUCCEEDED]
    assert memory(bench)[1] == 0


def test_nothing_is_left_in_memory_when_all_jobs_have_ended(bench: Bench) -> None:
    count = 300
    bench.enqueue(*(item(f"j{index}", f"t{index % 7}", f"q{index % 3}") for index in range(count)), watcher="c1")
    while not bench.storage.jobs or not bench.storage.all_ended:
        bench.beat(beat(slots=50))
        bench.settle()
        bench.tell(*(succeeded(Attempt(claim.job_id, claim.fence)) for claim in bench.claims()))
        bench.take_sent()
        bench.settle()
    assert len(bench.storage.jobs) == count
    assert memory(bench) == (0, 0, [])


# -- waiting -----------------------------------------------------------------------------------------------------------


def test_a_job_that_nobody_can_run_waits_visibly(bench: Bench) -> None:
    """A23 and A19: no worker, a worker that does not know the type, one without a free slot, one that can."""
    bench.enqueue(item("j1"))
    bench.settle()
    assert bench.statuses[-1].waiting_for is WaitingFor.WORKER
    assert bench.session.view(bench.job("j1")).capable_workers == 0
    bench.beat(beat("other", types={"x": HandlerPolicy()}))
    bench.settle()
    assert bench.claims() == []
    bench.beat(beat("busy", slots=0))
    bench.enqueue(item("j2"))
    bench.settle()
    assert [status.waiting_for for status in bench.statuses][-1:] == [WaitingFor.SLOT]
    assert bench.session.view(bench.job("j2")).capable_workers == 1
    bench.beat(beat("free"))
    bench.settle()
    assert {claim.job_id for claim in bench.claims("free")} == {"j1", "j2"}


def test_delayed_jobs_become_due_by_wall_time(bench: Bench) -> None:
    bench.enqueue(item("later", delay=3600.0), item("at", run_at=bench.now.wall + timedelta(hours=2)))
    bench.settle()
    assert bench.session.next_due == T0 + timedelta(hours=1)
    assert [bench.job(name).waiting_for for name in ("later", "at")] == [WaitingFor.TIME] * 2
    bench.now = attrs.evolve(bench.now, wall=T0 + timedelta(hours=1))
    bench.settle()
    assert bench.status("later") is JobStatus.ENQUEUED
    assert bench.session.next_due == T0 + timedelta(hours=2)
    bench.now = attrs.evolve(bench.now, wall=T0 + timedelta(hours=2))
    bench.settle()
    assert bench.status("at") is JobStatus.ENQUEUED
    assert bench.session.next_due is None


def test_a_run_at_in_the_past_runs_at_once(bench: Bench) -> None:
    bench.enqueue(item("j1", run_at=T0 - timedelta(days=1)))
    bench.settle()
    assert bench.status("j1") is JobStatus.ENQUEUED


def test_thousands_due_at_once_come_in_several_reads_without_a_busy_loop(bench: Bench) -> None:
    bench.enqueue(*(item(f"j{index}", delay=60.0) for index in range(2500)))
    bench.settle()
    bench.sleep(60)
    steps = 0
    while len(bench.storage.with_status(JobStatus.ENQUEUED)) < 2500:
        bench.advance()
        bench.read()
        bench.commit()
        steps += 1
        assert steps < 20
    bench.settle()
    assert len([read for read in bench.reads if isinstance(read, ReadDue)]) == 3
    assert bench.session.next_due is None


def test_a_failed_reading_is_asked_again(bench: Bench) -> None:
    bench.enqueue(item("j1", delay=1.0))
    bench.settle()
    bench.sleep(1)
    bench.advance()
    (read,) = bench.session.take_reads()
    bench.session.reading_failed(read)
    bench.settle()
    assert bench.status("j1") is JobStatus.ENQUEUED


def test_stored_jobs_are_found_after_a_restart_in_their_order(bench: Bench) -> None:
    bench.enqueue(*(item(f"j{index}") for index in range(5)), item("first", priority=9), item("later", delay=5.0))
    bench.settle()
    again = Bench(bench.storage, bench.now)
    again.beat(beat(slots=3))
    again.settle()
    assert [claim.job_id for claim in again.claims()] == ["first", "j0", "j1"]
    assert again.session.next_due == bench.job("later").due_at
    again.enqueue(item("new"))
    again.settle()
    assert again.job("new").spec.sequence > again.job("later").spec.sequence


# -- another scheduler's hand ------------------------------------------------------------------------------------------


def test_a_claim_that_another_scheduler_made_first_is_not_offered(bench: Bench) -> None:
    bench.enqueue(item("j1"))
    bench.settle()
    other = Bench(bench.storage, bench.now)
    bench.beat(beat("w1"))
    other.beat(beat("w2"))
    bench.advance()
    other.settle()
    bench.settle()
    assert bench.claims() == []
    assert [claim.fence for claim in other.claims("w2")] == [1]
    bench.enqueue(*(item(f"k{index}") for index in range(4)))
    bench.settle()
    assert len(bench.claims("w1")) == 4, "the slot of the refused claim was given back"


def test_an_end_that_could_not_be_written_is_not_acknowledged(bench: Bench) -> None:
    attempt = bench.running()
    other = Bench(bench.storage, bench.now)
    other.beat(beat("w1", online=False))
    other.run(1.5)
    bench.tell(succeeded(attempt))
    bench.settle()
    assert bench.acknowledged() == []
    assert bench.job("j1").crashes == 1
    bench.tell(succeeded(attempt))
    bench.settle()
    assert bench.status("j1") is not JobStatus.SUCCEEDED
    assert bench.abandoned() == [attempt]


def test_what_was_decided_on_a_refused_write_is_refused_too(bench: Bench) -> None:
    """Else it would be written over a version of the same number that another scheduler made."""
    bench.enqueue(item("j1"))
    bench.settle()
    bench.beat(beat("w1"))
    bench.advance()
    claim = bench.take_batch()
    assert claim is not None
    other = Bench(bench.storage, bench.now)
    other.cancel("j1")
    other.settle()
    assert bench.status("j1") is JobStatus.CANCELLED
    bench.beat(beat("w1", online=False))  # decided on the claim under way
    bench.finish(claim)
    bench.settle()
    assert bench.status("j1") is JobStatus.CANCELLED


def test_an_active_job_of_another_scheduler_is_taken_up_and_lost_with_its_worker(bench: Bench) -> None:
    """The other scheduler claimed it for a worker that never shows itself here."""
    bench.enqueue(item("j1"))
    bench.settle()
    other = Bench(bench.storage, bench.now)
    other.beat(beat("gone"))
    other.settle()
    bench.beat(beat("w1"))
    bench.run(10, beats=lambda: bench.beat(beat("w1")))
    assert {claim.fence for claim in bench.claims("w1")} == {2}
    assert bench.job("j1").crashes == 1


def _of(attempt: Attempt) -> tuple[str, int]:
    return attempt.job_id, attempt.fence
