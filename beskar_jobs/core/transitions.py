"""The one table of status changes, and a named constructor for every legal one.

A constructor takes the job as it stands and what happened, and gives back a :class:`Transition`: the job as it shall
stand, to be written only over the version it was decided on. Nothing else in the engine makes a changed job.

News of an attempt (accepted, succeeded, failed, cancelled, released, rejected) carries the attempt's fence; with
another fence than the job's current one it is refused as :class:`StaleAttempt`: that attempt has lost the job.

An end reported for a DISPATCHED job implies that its worker had accepted it: the reply to the claim may be lost or
overtaken, and the end is the stronger statement.

A job whose cancellation was requested never starts again: where it would go back to its queue or into a retry, it is
CANCELLED instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import attrs

from beskar_jobs.model.errors import IllegalTransition, StaleAttempt
from beskar_jobs.model.job import (
    ACTIVE,
    FailureKind,
    Job,
    JobFailure,
    JobPolicy,
    JobSpec,
    JobStatus,
    WaitingFor,
    WorkerRef,
)

_S = JobStatus


class Event(StrEnum):
    """What can happen to a stored job."""

    DUE = "due"
    PARENTS_DONE = "parents done"
    CLAIM = "claim"
    ACCEPT = "accept"
    NOT_HELD = "not held"
    SUCCEED = "succeed"
    RETRY = "retry"
    DEAD_LETTER = "dead-letter"
    RESTART = "restart"
    RELEASE = "release"
    REQUEST_CANCEL = "request cancel"
    CANCEL = "cancel"
    REQUEUE = "requeue"


ALLOWED: Final[Mapping[Event, tuple[frozenset[JobStatus], JobStatus | None]]] = {
    Event.DUE: (frozenset({_S.SCHEDULED}), _S.ENQUEUED),
    Event.PARENTS_DONE: (frozenset({_S.SCHEDULED}), _S.ENQUEUED),
    Event.CLAIM: (frozenset({_S.ENQUEUED}), _S.DISPATCHED),
    Event.ACCEPT: (frozenset({_S.DISPATCHED}), _S.RUNNING),
    Event.NOT_HELD: (frozenset({_S.DISPATCHED}), _S.ENQUEUED),
    Event.SUCCEED: (ACTIVE, _S.SUCCEEDED),
    Event.RETRY: (ACTIVE, _S.SCHEDULED),
    Event.DEAD_LETTER: (ACTIVE, _S.DEAD_LETTERED),
    Event.RESTART: (ACTIVE, _S.ENQUEUED),
    Event.RELEASE: (ACTIVE, _S.ENQUEUED),
    Event.REQUEST_CANCEL: (ACTIVE, None),  # the status stays
    Event.CANCEL: (frozenset({_S.SCHEDULED, _S.ENQUEUED}) | ACTIVE, _S.CANCELLED),
    Event.REQUEUE: (frozenset({_S.DEAD_LETTERED, _S.CANCELLED}), _S.ENQUEUED),
}
"""Per event: the statuses it may find, and the one it leads to."""

TIMED: Final = frozenset({WaitingFor.TIME, WaitingFor.RETRY})
"""What a SCHEDULED job may wait for that comes by itself, at its ``due_at``."""


@attrs.frozen
class Transition:
    """A decided change: *job* is to be written over the stored job of version *expected_version*."""

    event: Event
    expected_version: int
    job: Job


def _move(job: Job, event: Event, now: datetime, **changes: Any) -> Transition:
    allowed_from, to = ALLOWED[event]
    if job.status not in allowed_from:
        raise IllegalTransition(
            f"job {job.id} is {job.status}; '{event}' is for {', '.join(sorted(allowed_from))} jobs"
        )
    changed = object.__new__(Job)
    # A plain copy of the dictionary keeps the cost of a change below a microsecond; the instance is not shared yet, so
    # nobody sees a frozen object change.
    fields = changed.__dict__
    fields.update(job.__dict__)
    fields.update(changes)
    if to is not None:
        fields["status"] = to
    fields["version"] = job.version + 1
    fields["updated_at"] = now
    return Transition(event, job.version, changed)


def _check_fence(job: Job, fence: int) -> None:
    if job.fence != fence:
        raise StaleAttempt(f"job {job.id}: news of attempt token {fence}, but {job.fence} is current")


def new_job(spec: JobSpec, now: datetime) -> Job:
    """The job as it is first stored: ENQUEUED, or SCHEDULED if it is not to run before a later time."""
    if spec.run_at is not None and spec.run_at > now:
        return Job(spec, JobStatus.SCHEDULED, due_at=spec.run_at, updated_at=now, waiting_for=WaitingFor.TIME)
    return Job(spec, JobStatus.ENQUEUED, due_at=spec.run_at or now, updated_at=now)


def due(job: Job, now: datetime) -> Transition:
    """Its time (delay or retry) has come. Keeps ``due_at``, so that it takes the place in the queue of its time."""
    return _move(job, Event.DUE, now, waiting_for=None)


def parents_done(job: Job, now: datetime) -> Transition:
    """The parents ended as the continuation asked for."""
    return _move(job, Event.PARENTS_DONE, now, waiting_for=None, due_at=now)


def claim(job: Job, worker: WorkerRef, policy: JobPolicy, now: datetime) -> Transition:
    """*worker* is to be offered the job under the next fence; *policy* counts if this is the first claim."""
    return _move(
        job,
        Event.CLAIM,
        now,
        fence=job.fence + 1,
        attempt=job.attempt + 1,
        worker=worker,
        policy=job.policy or policy,
        waiting_for=None,
        started_at=None,
        reason="",
    )


def accept(job: Job, fence: int, now: datetime) -> Transition:
    """The worker took the claim and starts the handler."""
    _check_fence(job, fence)
    return _move(job, Event.ACCEPT, now, started_at=now)


def not_held(job: Job, fence: int, reason: str, now: datetime) -> Transition:
    """The worker refused the claim, or shows that it does not hold it: back to the queue, no attempt counted."""
    _check_fence(job, fence)
    if job.cancel_requested:
        return cancel(job, job.reason, now)
    return _back_to_queue(job, Event.NOT_HELD, reason, now, attempt=job.attempt - 1)


def release(job: Job, fence: int, now: datetime) -> Transition:
    """The worker gives the attempt up because it drains: back to the queue, nothing counted."""
    _check_fence(job, fence)
    if job.cancel_requested:
        return cancel(job, job.reason, now)
    return _back_to_queue(job, Event.RELEASE, "released by its worker", now, attempt=job.attempt - 1)


def _back_to_queue(job: Job, event: Event, reason: str, now: datetime, **changes: Any) -> Transition:
    return _move(job, event, now, worker=None, started_at=None, reason=reason, **changes)


def succeed(job: Job, fence: int, result: bytes, now: datetime) -> Transition:
    """The handler ended well - also if its cancellation had been requested."""
    _check_fence(job, fence)
    return _move(
        job,
        Event.SUCCEED,
        now,
        worker=None,
        started_at=job.started_at or now,
        finished_at=now,
        result=result,
        failure=None,
        waiting_for=None,
        reason="",
    )


def fail(job: Job, fence: int, failure: JobFailure, now: datetime, r: float) -> Transition:
    """The attempt failed or timed out: a retry if the policy has one left for this failure, else dead letter.

    Arguments that do not fit the handler will not fit it the next time either: no retry.

    Args:
        r: the dice for the jitter, in [-1, 1].
    """
    _check_fence(job, fence)
    failures = job.failures + 1
    if job.cancel_requested:
        return cancel(job, job.reason, now, failure=failure)
    retry = (job.policy or JobPolicy()).retry
    if failure.kind is FailureKind.ARGUMENTS:
        why = "the arguments do not fit the handler"
    elif not retry.covers((failure.error_type, *failure.error_bases)) and failure.kind is FailureKind.EXCEPTION:
        why = f"{failure.type_name} is not to be retried"
    elif failures > retry.max_retries:
        why = "no retry left" if retry.max_retries else "failed"
    else:
        return _move(
            job,
            Event.RETRY,
            now,
            worker=None,
            started_at=None,
            failures=failures,
            failure=failure,
            due_at=now + retry.delay(failures, r),
            waiting_for=WaitingFor.RETRY,
            reason=f"retry {failures} of {retry.max_retries}",
        )
    return _move(
        job, Event.DEAD_LETTER, now, worker=None, finished_at=now, failures=failures, failure=failure, reason=why
    )


def lose(job: Job, reason: str, now: datetime) -> Transition:
    """The worker process is gone: start again at once, unless the crash budget or the handler forbids it."""
    crashes = job.crashes + 1
    policy = job.policy or JobPolicy()
    failure = JobFailure(FailureKind.CRASH, reason)
    if job.cancel_requested:
        return cancel(job, job.reason, now, failure=failure)
    if policy.restart_on_crash and crashes <= policy.max_crashes:
        return _back_to_queue(job, Event.RESTART, reason, now, crashes=crashes, failure=failure)
    why = f"crashed {crashes} times" if policy.restart_on_crash else "restart_on_crash is off"
    return _move(
        job,
        Event.DEAD_LETTER,
        now,
        worker=None,
        finished_at=now,
        crashes=crashes,
        failure=failure,
        reason=f"{reason}; {why}",
    )


def request_cancel(job: Job, reason: str, now: datetime) -> Transition:
    """The job is with a worker, which is to be told; the status changes when the handler stops."""
    return _move(job, Event.REQUEST_CANCEL, now, cancel_requested=True, reason=reason)


def cancel(job: Job, reason: str, now: datetime, failure: JobFailure | None = None) -> Transition:
    """The job will not run (any more). For a job with a worker, only once that has stopped it."""
    return _move(
        job,
        Event.CANCEL,
        now,
        worker=None,
        waiting_for=None,
        finished_at=now,
        cancel_requested=True,
        reason=reason,
        failure=failure or job.failure,
    )


def stopped(job: Job, fence: int, now: datetime) -> Transition:
    """The worker has stopped the handler, as asked."""
    _check_fence(job, fence)
    return cancel(job, job.reason, now)


def requeue(job: Job, now: datetime) -> Transition:
    """By hand: run a dead-lettered or cancelled job again, with both budgets afresh and its policy resolved anew."""
    return _move(
        job,
        Event.REQUEUE,
        now,
        due_at=now,
        failures=0,
        crashes=0,
        cancel_requested=False,
        policy=None,
        started_at=None,
        finished_at=None,
        waiting_for=None,
        reason="requeued",
    )
