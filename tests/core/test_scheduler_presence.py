"""Workers that come, go silent, die and return, and schedulers that start or sleep: what becomes of the jobs."""

from __future__ import annotations

import pytest

from beskar_jobs.core.scheduling.presence import OVERSLEPT, REPORT_TIMEOUT, START_GRACE
from beskar_jobs.model.job import JobStatus, WorkerId, WorkerRef
from beskar_jobs.wire.messages import Attempt
from tests.core.harness import Bench, beat, item, succeeded


@pytest.fixture
def bench() -> Bench:
    return Bench()


# -- lost --------------------------------------------------------------------------------------------------------------


def test_the_jobs_of_a_dead_worker_go_to_another_in_one_step(bench: Bench) -> None:
    bench.running()
    bench.beat(beat("w1", online=False))
    bench.beat(beat("w2"))
    bench.advance()
    bench.commit()
    assert bench.status("j1") is JobStatus.ENQUEUED
    assert (bench.job("j1").crashes, bench.job("j1").failures) == (1, 0)
    bench.advance()
    bench.commit()
    assert [(claim.fence, claim.attempt) for claim in bench.claims("w2")] == [(2, 2)]


def test_a_silent_worker_is_lost_after_three_intervals(bench: Bench) -> None:
    bench.running()
    bench.run(5.5)
    assert bench.status("j1") is JobStatus.RUNNING
    bench.run(1.0)
    assert bench.status("j1") is JobStatus.ENQUEUED
    assert "silent" in bench.job("j1").reason
    assert "w1" in bench.job("j1").reason


def test_any_message_of_a_worker_shows_that_it_lives(bench: Bench) -> None:
    attempt = bench.running()
    bench.run(20, beats=lambda: bench.accept(attempt))
    assert bench.status("j1") is JobStatus.RUNNING


def test_a_job_of_two_hours_is_never_rescued_while_its_worker_lives(bench: Bench) -> None:
    """A18: liveness decides, not elapsed time."""
    attempt = bench.running()
    before = bench.job("j1")
    bench.run(7200, beats=lambda: bench.beat(beat(held=[(attempt.job_id, attempt.fence)])), step=2.0)
    assert bench.job("j1") == before
    bench.tell(succeeded(attempt))
    bench.settle()
    assert bench.status("j1") is JobStatus.SUCCEEDED


def test_a_claim_that_was_never_sent_is_no_crash(bench: Bench) -> None:
    bench.enqueue(item("j1"))
    bench.settle()
    bench.beat(beat())
    bench.advance()
    claim = bench.take_batch()
    assert claim is not None
    bench.beat(beat(online=False))
    bench.finish(claim)
    bench.settle()
    job = bench.job("j1")
    assert (job.status, job.crashes, job.attempt) == (JobStatus.ENQUEUED, 0, 0)
    assert bench.claims() == []


# -- incarnations and connections --------------------------------------------------------------------------------------


def test_a_new_process_under_a_known_id_loses_the_old_ones_jobs_at_once(bench: Bench) -> None:
    """A8: the old death is not noticed yet."""
    bench.running()
    bench.beat(beat("w1", "i2"))
    bench.settle()
    assert bench.job("j1").crashes == 1
    assert [(claim.fence) for claim in bench.claims("w1")] == [2]
    bench.take_sent()
    bench.beat(beat("w1", "i1", online=False))  # the old one's Will comes at last
    bench.settle()
    assert bench.job("j1").crashes == 1
    assert bench.status("j1") is JobStatus.DISPATCHED


def test_the_will_of_an_old_connection_loses_nothing(bench: Bench) -> None:
    """D1: the broker kept the half-open connection."""
    bench.running()
    bench.beat(beat(connection=2, held=[("j1", 1)]))
    bench.beat(beat(connection=1, online=False))
    bench.settle()
    assert bench.status("j1") is JobStatus.RUNNING


def test_a_late_heartbeat_of_an_old_process_loses_nothing(bench: Bench) -> None:
    bench.beat(beat("w1", "i2"))
    bench.enqueue(item("j1"))
    bench.settle()
    bench.beat(beat("w1", "i1"))
    bench.settle()
    assert bench.status("j1") is JobStatus.DISPATCHED
    assert bench.job("j1").worker == beat_ref("i2")


def test_a_stale_heartbeat_at_the_start_of_a_scheduler_loses_nothing_of_the_process_after_it(bench: Bench) -> None:
    bench.beat(beat("w1", "i2"))
    bench.enqueue(item("j1"))
    bench.settle()
    bench.accept(Attempt("j1", 1), incarnation="i2")
    bench.settle()
    again = Bench(bench.storage, bench.now)
    again.beat(beat("w1", "i1"))  # retained, from before
    again.settle()
    again.beat(beat("w1", "i2", held=[("j1", 1)]))
    again.settle()
    assert again.status("j1") is JobStatus.RUNNING
    assert again.job("j1").crashes == 0


def test_a_worker_that_comes_back_is_offered_its_unanswered_claims_again(bench: Bench) -> None:
    bench.beat(beat())
    bench.enqueue(item("j1"))
    bench.settle()
    bench.take_sent()
    bench.beat(beat(connection=2))
    bench.settle()
    assert [claim.fence for claim in bench.claims("w1")] == [1]


# -- reports -----------------------------------------------------------------------------------------------------------


def test_what_a_report_does_not_show_is_lost(bench: Bench) -> None:
    bench.running("j1")
    bench.running("j2")
    bench.beat(beat(connection=2))
    bench.settle()
    token = bench.report_token()
    bench.beat(beat(connection=2))  # no report: it may have been made before the claims came
    bench.settle()
    assert bench.status("j1") is JobStatus.RUNNING
    bench.beat(beat(connection=2, held=[("j2", 1)], report=token))
    bench.settle()
    assert bench.job("j1").crashes == 1
    assert bench.status("j2") is JobStatus.RUNNING


def test_a_job_accepted_after_a_report_was_asked_is_not_lost_for_it(bench: Bench) -> None:
    bench.beat(beat())
    bench.settle()
    token = bench.report_token()
    bench.enqueue(item("j1"))
    bench.settle()
    bench.accept(Attempt("j1", 1))
    bench.settle()
    bench.beat(beat(report=token))  # sent before the claim came, arrived after the answer to it
    bench.settle()
    assert bench.status("j1") is JobStatus.RUNNING


def test_a_report_that_does_not_come_is_asked_for_again(bench: Bench) -> None:
    bench.running()
    bench.beat(beat(connection=2, held=[("j1", 1)]))
    bench.settle()
    first = bench.report_token()
    bench.sleep(REPORT_TIMEOUT)
    bench.beat(beat(connection=2, held=[("j1", 1)]))
    bench.settle()
    second = bench.report_token()
    assert second != first
    bench.beat(beat(connection=2, report=second))
    bench.settle()
    assert bench.job("j1").crashes == 1


def test_an_attempt_that_lost_its_job_is_abandoned_when_a_heartbeat_shows_it(bench: Bench) -> None:
    bench.running()
    bench.beat(beat("w2"))
    bench.beat(beat("w1", online=False))
    bench.settle()
    bench.beat(beat("w1", connection=2, held=[("j1", 1)]))
    bench.settle()
    assert bench.abandoned() == [Attempt("j1", 1)]


def test_a_dispatched_job_that_a_heartbeat_shows_runs(bench: Bench) -> None:
    bench.beat(beat())
    bench.enqueue(item("j1"))
    bench.settle()
    bench.beat(beat(held=[("j1", 1)]))
    bench.settle()
    assert bench.status("j1") is JobStatus.RUNNING


def test_a_held_end_whose_acknowledgement_was_lost_is_acknowledged(bench: Bench) -> None:
    attempt = bench.running()
    bench.tell(succeeded(attempt))
    bench.settle()
    bench.take_sent()
    bench.beat(beat(held=[("j1", 1)]))
    bench.settle()
    assert bench.acknowledged() == [attempt]


def test_a_lost_attempt_is_abandoned_even_if_its_job_came_to_rest_under_its_fence(bench: Bench) -> None:
    bench.running()
    bench.cancel("j1")
    bench.settle()
    bench.beat(beat(online=False))
    bench.settle()
    assert bench.status("j1") is JobStatus.CANCELLED
    bench.beat(beat(connection=2, held=[("j1", 1)]))
    bench.settle()
    assert bench.abandoned() == [Attempt("j1", 1)]


def test_after_its_own_cut_a_scheduler_asks_everybody(bench: Bench) -> None:
    bench.running()
    bench.session.on_disconnected()
    bench.session.on_connected(bench.now)
    bench.settle()
    bench.beat(beat(report=bench.report_token()))
    bench.settle()
    assert bench.job("j1").crashes == 1


def test_while_it_is_cut_off_a_scheduler_loses_nobody_and_afterwards_all_have_a_fresh_deadline(bench: Bench) -> None:
    bench.running()
    bench.session.on_disconnected()
    bench.run(60)
    assert bench.status("j1") is JobStatus.RUNNING
    bench.session.on_connected(bench.now)
    bench.run(5.5)
    assert bench.status("j1") is JobStatus.RUNNING
    bench.run(1.0)
    assert bench.job("j1").crashes == 1


# -- a scheduler starts ------------------------------------------------------------------------------------------------


def restarted(bench: Bench) -> Bench:
    """After: held RUNNING, RUNNING not held, DISPATCHED."""
    for job_id in ("held", "gone"):
        bench.running(job_id)
    bench.enqueue(item("offered"))
    bench.settle()
    return Bench(bench.storage, bench.now)


def test_a_restarted_scheduler_reconciles_by_report(bench: Bench) -> None:
    again = restarted(bench)
    again.beat(beat(held=[("held", 1)]))
    again.settle()
    assert [(claim.job_id, claim.fence) for claim in again.claims("w1")] == [("offered", 1)]
    again.beat(beat(held=[("held", 1)], report=again.report_token()))
    again.settle()
    assert again.status("held") is JobStatus.RUNNING
    assert again.job("gone").crashes == 1
    again.accept(Attempt("offered", 1))
    again.settle()
    assert again.status("offered") is JobStatus.RUNNING


def test_the_slots_of_a_worker_are_counted_after_a_restart(bench: Bench) -> None:
    again = restarted(bench)
    again.enqueue(*(item(f"new{index}") for index in range(5)))
    again.settle()
    again.beat(beat(held=[("held", 1), ("gone", 1)], slots=4))
    again.settle()
    assert [claim.job_id for claim in again.claims("w1") if claim.job_id.startswith("new")] == ["new0"]


def test_a_worker_that_does_not_show_itself_after_a_restart_loses_its_jobs(bench: Bench) -> None:
    """D3: no ghosts."""
    again = restarted(bench)
    again.beat(beat("w2"))
    again.run(START_GRACE - 0.5, beats=lambda: again.beat(beat("w2")))
    assert again.status("held") is JobStatus.RUNNING
    again.run(1.0, beats=lambda: again.beat(beat("w2")))
    assert {claim.job_id for claim in again.claims("w2")} == {"held", "gone", "offered"}
    assert all(again.job(name).crashes == 1 for name in ("held", "gone", "offered"))


def test_a_retained_good_bye_that_nobody_contradicts_frees_the_jobs_soon(bench: Bench) -> None:
    again = restarted(bench)
    again.beat(beat(online=False))
    again.run(1.5)
    assert all(again.status(name) is JobStatus.ENQUEUED for name in ("held", "gone", "offered"))


def test_a_retained_notice_of_an_earlier_connection_loses_nothing_of_a_worker_that_lives(bench: Bench) -> None:
    again = restarted(bench)
    again.beat(beat(online=False, connection=0))
    again.sleep(0.5)
    again.beat(beat(connection=1, held=[("held", 1), ("gone", 1)]))
    again.run(3, beats=lambda: again.beat(beat(connection=1, held=[("held", 1), ("gone", 1)])))
    assert again.job("held").crashes == 0


def test_the_good_bye_of_an_earlier_process_frees_nothing_after_a_restart(bench: Bench) -> None:
    again = restarted(bench)
    again.beat(beat("w1", "i0", online=False))
    again.settle()
    assert again.status("held") is JobStatus.RUNNING


# -- a scheduler sleeps ------------------------------------------------------------------------------------------------


def test_a_heartbeat_that_is_read_just_after_its_deadline_still_counts(bench: Bench) -> None:
    """A process that was stopped for a moment finds its timers due before it has read what came in meanwhile."""
    bench.running()
    bench.sleep(6.1)
    bench.settle()
    bench.beat(beat(held=[("j1", 1)]))
    bench.sleep(0.3)
    bench.settle()
    assert bench.status("j1") is JobStatus.RUNNING


def test_a_scheduler_that_overslept_loses_nobody(bench: Bench) -> None:
    attempt = bench.running()
    bench.sleep(600)
    bench.settle()
    assert bench.status("j1") is JobStatus.RUNNING
    bench.beat(beat(held=[(attempt.job_id, attempt.fence)]))
    bench.run(4)
    assert bench.status("j1") is JobStatus.RUNNING
    bench.run(4)
    assert bench.status("j1") is JobStatus.ENQUEUED, "a worker that stays silent is lost after all"


def test_a_scheduler_that_overslept_its_start_loses_nobody(bench: Bench) -> None:
    again = restarted(bench)
    again.sleep(START_GRACE + OVERSLEPT + 60)
    again.settle()
    again.beat(beat(held=[("held", 1), ("gone", 1)]))
    again.settle()
    assert again.status("held") is JobStatus.RUNNING
    assert again.job("held").crashes == 0


def test_the_next_deadline_is_never_in_the_past_after_a_step(bench: Bench) -> None:
    bench.running()
    bench.enqueue(item("j2"))
    bench.settle()
    for _ in range(40):
        deadline = bench.session.next_deadline(bench.now)
        if deadline is None:
            break
        assert deadline >= bench.now.monotonic
        bench.sleep(deadline - bench.now.monotonic)
        bench.settle()
        assert (bench.session.next_deadline(bench.now) or float("inf")) > bench.now.monotonic
    assert bench.storage.active() == []
    assert {str(job) for job in bench.storage.jobs} == {"j1", "j2"}


def beat_ref(incarnation: str) -> WorkerRef:
    return WorkerRef(WorkerId("w1"), incarnation)
