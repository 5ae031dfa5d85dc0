"""The table of status changes, row by row, and what holds over every sequence of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from beskar_jobs.core import transitions
from beskar_jobs.core.policy import resolve_policy
from beskar_jobs.core.transitions import ALLOWED, Transition, new_job
from beskar_jobs.model.errors import IllegalTransition, StaleAttempt
from beskar_jobs.model.job import (
    ACTIVE,
    TERMINAL,
    FailureKind,
    Job,
    JobFailure,
    JobId,
    JobPolicy,
    JobSpec,
    JobStatus,
    WaitingFor,
    WorkerId,
    WorkerRef,
)
from beskar_jobs.model.presence import HandlerPolicy
from beskar_jobs.model.retry import Retry

S = JobStatus
T0 = datetime(2026, 3, 1, tzinfo=UTC)
LATER = T0 + timedelta(seconds=7)
W1 = WorkerRef(WorkerId("w1"), "i1")
BOOM = JobFailure(FailureKind.EXCEPTION, "boom", "app.Boom", ("builtins.ValueError",))
FENCE = 3


def spec(**changes: Any) -> JobSpec:
    return attrs.evolve(JobSpec(JobId("j1"), "t", "q", b"{}", T0), **changes)


def job(status: JobStatus, **changes: Any) -> Job:
    """A job of this status, as a life like any other leaves it."""
    base = Job(
        spec(),
        status,
        due_at=T0,
        updated_at=T0,
        version=9,
        fence=FENCE,
        attempt=2,
        failures=1,
        crashes=1,
        worker=W1 if status in ACTIVE else None,
        policy=JobPolicy(retry=Retry(5, delays=[10])),
        waiting_for=WaitingFor.RETRY if status is S.SCHEDULED else None,
        started_at=T0,
        finished_at=T0 if status in TERMINAL else None,
        failure=BOOM,
    )
    return attrs.evolve(base, **changes)


Step = Callable[[Job], Transition]
STEPS: dict[str, Step] = {
    "due": lambda j: transitions.due(j, LATER),
    "parents done": lambda j: transitions.parents_done(j, LATER),
    "claim": lambda j: transitions.claim(j, W1, JobPolicy(), LATER),
    "accept": lambda j: transitions.accept(j, j.fence, LATER),
    "not held": lambda j: transitions.not_held(j, j.fence, "full", LATER),
    "succeed": lambda j: transitions.succeed(j, j.fence, b"1", LATER),
    "fail, retry left": lambda j: transitions.fail(j, j.fence, BOOM, LATER, 0.0),
    "fail, none left": lambda j: transitions.fail(
        attrs.evolve(j, policy=JobPolicy(retry=Retry(1))), j.fence, BOOM, LATER, 0.0
    ),
    "lose": lambda j: transitions.lose(j, "gone", LATER),
    "lose for good": lambda j: transitions.lose(attrs.evolve(j, policy=JobPolicy(max_crashes=1)), "gone", LATER),
    "release": lambda j: transitions.release(j, j.fence, LATER),
    "request cancel": lambda j: transitions.request_cancel(j, "why", LATER),
    "cancel": lambda j: transitions.cancel(j, "why", LATER),
    "stopped": lambda j: transitions.stopped(j, j.fence, LATER),
    "requeue": lambda j: transitions.requeue(j, LATER),
}

LEADS_TO: dict[tuple[str, JobStatus], JobStatus] = {
    ("due", S.SCHEDULED): S.ENQUEUED,
    ("parents done", S.SCHEDULED): S.ENQUEUED,
    ("claim", S.ENQUEUED): S.DISPATCHED,
    ("accept", S.DISPATCHED): S.RUNNING,
    ("not held", S.DISPATCHED): S.ENQUEUED,
    ("succeed", S.DISPATCHED): S.SUCCEEDED,
    ("succeed", S.RUNNING): S.SUCCEEDED,
    ("fail, retry left", S.DISPATCHED): S.SCHEDULED,
    ("fail, retry left", S.RUNNING): S.SCHEDULED,
    ("fail, none left", S.DISPATCHED): S.DEAD_LETTERED,
    ("fail, none left", S.RUNNING): S.DEAD_LETTERED,
    ("lose", S.DISPATCHED): S.ENQUEUED,
    ("lose", S.RUNNING): S.ENQUEUED,
    ("lose for good", S.DISPATCHED): S.DEAD_LETTERED,
    ("lose for good", S.RUNNING): S.DEAD_LETTERED,
    ("release", S.DISPATCHED): S.ENQUEUED,
    ("release", S.RUNNING): S.ENQUEUED,
    ("request cancel", S.DISPATCHED): S.DISPATCHED,
    ("request cancel", S.RUNNING): S.RUNNING,
    ("cancel", S.SCHEDULED): S.CANCELLED,
    ("cancel", S.ENQUEUED): S.CANCELLED,
    ("cancel", S.DISPATCHED): S.CANCELLED,
    ("cancel", S.RUNNING): S.CANCELLED,
    ("stopped", S.SCHEDULED): S.CANCELLED,
    ("stopped", S.ENQUEUED): S.CANCELLED,
    ("stopped", S.DISPATCHED): S.CANCELLED,
    ("stopped", S.RUNNING): S.CANCELLED,
    ("requeue", S.DEAD_LETTERED): S.ENQUEUED,
    ("requeue", S.CANCELLED): S.ENQUEUED,
}
"""The whole table: what is not in it is illegal."""


def common_claims(before: Job, change: Transition) -> None:
    """What holds for every change."""
    after = change.job
    assert change.expected_version == before.version
    assert after.version == before.version + 1
    assert after.spec is before.spec
    assert after.fence == before.fence + (change.event is transitions.Event.CLAIM)
    assert (after.worker is not None) == (after.status in ACTIVE)
    assert (after.finished_at is not None) == (after.status in TERMINAL)
    assert after.waiting_for in ((WaitingFor.RETRY,) if after.status is S.SCHEDULED else (None,))
    assert after.updated_at == LATER


@pytest.mark.parametrize("status", S)
@pytest.mark.parametrize("step", STEPS)
def test_the_table(step: str, status: JobStatus) -> None:
    before = job(status)
    expected = LEADS_TO.get((step, status))
    if expected is None:
        with pytest.raises(IllegalTransition, match=rf"job j1 is {status}"):
            STEPS[step](before)
    else:
        change = STEPS[step](before)
        assert change.job.status is expected
        common_claims(before, change)


@pytest.mark.parametrize("step", ["accept", "not held", "succeed", "fail, retry left", "release", "stopped"])
@pytest.mark.parametrize("off", [-1, 1])
def test_news_of_another_fence_is_stale(step: str, off: int) -> None:
    fence = FENCE + off
    calls: dict[str, Step] = {
        "accept": lambda j: transitions.accept(j, fence, LATER),
        "not held": lambda j: transitions.not_held(j, fence, "full", LATER),
        "succeed": lambda j: transitions.succeed(j, fence, b"1", LATER),
        "fail, retry left": lambda j: transitions.fail(j, fence, BOOM, LATER, 0.0),
        "release": lambda j: transitions.release(j, fence, LATER),
        "stopped": lambda j: transitions.stopped(j, fence, LATER),
    }
    with pytest.raises(StaleAttempt, match=f"token {fence}, but {FENCE} is current"):
        calls[step](job(S.DISPATCHED))


def test_every_event_of_the_table_is_reached() -> None:
    assert {STEPS[step](job(status)).event for step, status in LEADS_TO} == set(ALLOWED)


# -- fields ------------------------------------------------------------------------------------------------------------


def test_a_new_job_is_ready_or_waits_for_its_time() -> None:
    assert (new_job(spec(), T0).status, new_job(spec(), T0).due_at) == (S.ENQUEUED, T0)
    past = new_job(spec(run_at=T0), LATER)
    assert (past.status, past.due_at, past.waiting_for) == (S.ENQUEUED, T0, None)
    later = new_job(spec(run_at=LATER), T0)
    assert (later.status, later.due_at, later.waiting_for) == (S.SCHEDULED, LATER, WaitingFor.TIME)
    assert (later.version, later.fence, later.attempt) == (1, 0, 0)


def test_a_due_job_takes_the_place_of_its_time() -> None:
    assert transitions.due(job(S.SCHEDULED), LATER).job.due_at == T0
    assert transitions.parents_done(job(S.SCHEDULED), LATER).job.due_at == LATER


def test_a_claim_names_worker_fence_attempt_and_keeps_the_first_policy() -> None:
    first, second = JobPolicy(timeout=1.0), JobPolicy(timeout=2.0)
    claimed = transitions.claim(job(S.ENQUEUED, policy=None), W1, first, LATER).job
    assert (claimed.worker, claimed.fence, claimed.attempt, claimed.policy) == (W1, FENCE + 1, 3, first)
    back = transitions.not_held(claimed, claimed.fence, "full", LATER).job
    assert transitions.claim(back, W1, second, LATER).job.policy == first


@pytest.mark.parametrize("step", ["not held", "release"])
def test_an_attempt_that_did_not_run_its_course_gives_its_number_back(step: str) -> None:
    after = STEPS[step](job(S.DISPATCHED)).job
    assert (after.attempt, after.fence, after.failures, after.crashes) == (1, FENCE, 1, 1)


def test_a_success_clears_the_failure_and_keeps_the_result() -> None:
    after = STEPS["succeed"](job(S.RUNNING)).job
    assert (after.result, after.failure, after.finished_at) == (b"1", None, LATER)


def test_a_retry_waits_its_delay_with_its_jitter() -> None:
    policy = JobPolicy(retry=Retry(5, delays=[10, 20], jitter=0.5))
    after = transitions.fail(job(S.RUNNING, policy=policy), FENCE, BOOM, LATER, 1.0).job
    assert after.due_at == LATER + timedelta(seconds=30)  # the second failure: 20 s, and half of it again
    assert (after.failures, after.waiting_for, after.failure, after.reason) == (
        2,
        WaitingFor.RETRY,
        BOOM,
        "retry 2 of 5",
    )


@pytest.mark.parametrize(
    ("retry", "failure", "why"),
    [
        (Retry(1), BOOM, "no retry left"),
        (Retry(0), BOOM, "failed"),
        (Retry(9, give_up_on=["app.Boom"]), BOOM, "app.Boom is not to be retried"),
        (Retry(9, give_up_on=[ValueError]), BOOM, "app.Boom is not to be retried"),
        (Retry(9, retry_on=[KeyError]), BOOM, "app.Boom is not to be retried"),
        (Retry(9), JobFailure(FailureKind.ARGUMENTS, "no fit"), "the arguments do not fit the handler"),
    ],
)
def test_a_failure_without_a_retry_dead_letters_and_says_why(retry: Retry, failure: JobFailure, why: str) -> None:
    after = transitions.fail(job(S.RUNNING, policy=JobPolicy(retry=retry)), FENCE, failure, LATER, 0.0).job
    assert (after.status, after.reason, after.failure, after.failures) == (S.DEAD_LETTERED, why, failure, 2)


@pytest.mark.parametrize("kind", [FailureKind.TIMEOUT, FailureKind.RESULT])
def test_a_failure_without_an_exception_is_retried_whatever_retry_on_says(kind: FailureKind) -> None:
    policy = JobPolicy(retry=Retry(9, retry_on=[KeyError]))
    after = transitions.fail(job(S.RUNNING, policy=policy), FENCE, JobFailure(kind, "x"), LATER, 0.0).job
    assert after.status is S.SCHEDULED


def test_crashes_have_a_budget_of_their_own() -> None:
    for crashes, expected in [(0, S.ENQUEUED), (4, S.ENQUEUED), (5, S.DEAD_LETTERED)]:
        after = transitions.lose(job(S.RUNNING, crashes=crashes, policy=None), "gone", LATER).job
        assert (after.status, after.crashes, after.failures, after.attempt) == (expected, crashes + 1, 1, 2)
        assert after.failure == JobFailure(FailureKind.CRASH, "gone")
    assert after.reason == "gone; crashed 6 times"


def test_a_handler_may_forbid_the_restart() -> None:
    policy = JobPolicy(restart_on_crash=False)
    after = transitions.lose(job(S.RUNNING, crashes=0, policy=policy), "gone", LATER).job
    assert (after.status, after.crashes) == (S.DEAD_LETTERED, 1)
    assert "restart_on_crash" in after.reason


@pytest.mark.parametrize(
    "step", ["not held", "release", "fail, retry left", "fail, none left", "lose", "lose for good", "stopped"]
)
@pytest.mark.parametrize("status", [S.DISPATCHED])
def test_a_job_to_be_cancelled_never_starts_again(step: str, status: JobStatus) -> None:
    before = transitions.request_cancel(job(status), "not wanted", LATER).job
    change = STEPS[step](before)
    assert (change.job.status, change.job.reason) == (S.CANCELLED, "not wanted")
    common_claims(before, change)


def test_a_handler_that_ends_well_all_the_same_has_succeeded() -> None:
    before = transitions.request_cancel(job(S.RUNNING), "not wanted", LATER).job
    assert STEPS["succeed"](before).job.status is S.SUCCEEDED


def test_a_requeue_makes_both_budgets_and_the_policy_afresh_and_neither_number() -> None:
    after = transitions.requeue(job(S.CANCELLED, cancel_requested=True), LATER).job
    assert (after.failures, after.crashes, after.policy, after.cancel_requested) == (0, 0, None, False)
    assert (after.fence, after.attempt, after.due_at, after.finished_at) == (FENCE, 2, LATER, None)


def test_a_change_leaves_the_job_it_was_decided_on_alone() -> None:
    before = job(S.RUNNING)
    copy = attrs.evolve(before)
    STEPS["succeed"](before)
    assert before == copy
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        STEPS["succeed"](before).job.status = S.RUNNING  # type: ignore[misc]


# -- the policy in force -----------------------------------------------------------------------------------------------


def test_a_rung_of_the_retry_policy_wins_whole() -> None:
    enqueue, handler, default = Retry(1, delays=[1]), Retry(2, jitter=0.5), Retry(3)
    declared = HandlerPolicy(retry=handler, timeout=20.0, restart_on_crash=False, max_crashes=7)
    assert resolve_policy(spec(retry=enqueue, timeout=10.0), declared, default) == JobPolicy(enqueue, 10.0, False, 7)
    assert resolve_policy(spec(), declared, default) == JobPolicy(handler, 20.0, False, 7)
    assert resolve_policy(spec(), HandlerPolicy(), default).retry == default
    assert resolve_policy(spec(), None) == JobPolicy()


def test_no_retries_at_enqueue_win_over_the_handlers_retries() -> None:
    assert resolve_policy(spec(retry=Retry(0)), HandlerPolicy(retry=Retry(9))).retry == Retry(0)


# -- every sequence ----------------------------------------------------------------------------------------------------


class Life(RuleBasedStateMachine):
    """One job under any sequence of steps, legal or not."""

    job: Job
    last: Job | None

    @initialize(delay=st.sampled_from([0, 60]), retries=st.integers(0, 3), max_crashes=st.integers(0, 3))
    def enqueue(self, delay: int, retries: int, max_crashes: int) -> None:
        self.policy = JobPolicy(retry=Retry(retries), max_crashes=max_crashes)
        self.job = new_job(spec(run_at=T0 + timedelta(seconds=delay)), T0)
        self.last = None
        self.claims = 0
        self.used_fences: set[int] = set()

    @rule(step=st.sampled_from([name for name in STEPS if name not in ("claim", "fail, none left", "lose for good")]))
    def take(self, step: str) -> None:
        self.move(STEPS[step])

    @rule()
    def claim(self) -> None:
        self.move(lambda j: transitions.claim(j, W1, self.policy, LATER))

    @precondition(lambda self: self.job.fence > 0)
    @rule(data=st.data())
    def stale_news(self, data: st.DataObject) -> None:
        fence = data.draw(st.integers(0, self.job.fence - 1))
        with pytest.raises(StaleAttempt):
            transitions.succeed(self.job, fence, b"stale", LATER)

    def move(self, step: Step) -> None:
        before = self.job
        try:
            change = step(before)
        except IllegalTransition:
            return
        assert change.expected_version == before.version
        assert change.job.version == before.version + 1
        assert not before.status.is_terminal or change.event is transitions.Event.REQUEUE
        if change.event is transitions.Event.CLAIM:
            assert not before.cancel_requested
            assert change.job.fence not in self.used_fences
            self.used_fences.add(change.job.fence)
        else:
            assert change.job.fence == before.fence
        self.last, self.job = before, change.job

    @invariant()
    def fields_agree(self) -> None:
        if not hasattr(self, "job"):
            return
        now = self.job
        assert (now.worker is not None) == now.status.is_active
        assert (now.finished_at is not None) == now.status.is_terminal
        assert (now.waiting_for is not None) == (now.status is S.SCHEDULED)
        assert (now.result is not None) == (now.status is S.SUCCEEDED)
        assert 0 <= now.attempt <= now.fence == len(self.used_fences)
        assert now.failures <= self.policy.retry.max_retries + 1
        assert now.crashes <= self.policy.max_crashes + 1
        assert not now.cancel_requested or now.status in ACTIVE | {S.CANCELLED, S.SUCCEEDED}


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
