"""News of attempts: progress, and the ends that workers repeat until they are acknowledged.

An end is acknowledged once it is committed. One that comes for an attempt that is not (any more) in hand is compared
with the stored job: if that attempt's end is what is stored, it is a repeat, and acknowledged again; else the attempt
had lost the job, and its end is refused - acknowledged too, so that the worker forgets it, but counted and logged.
"""

from __future__ import annotations

import attrs

from beskar_jobs.core import transitions
from beskar_jobs.core.scheduling.presence import Presence
from beskar_jobs.core.scheduling.records import Purpose, Question, RefusedEnd, Tracked
from beskar_jobs.core.scheduling.state import SchedulerState
from beskar_jobs.core.transitions import Transition
from beskar_jobs.model.job import FailureKind, Job, JobFailure, JobId, JobStatus, WorkerId, WorkerRef
from beskar_jobs.ports.clock import Now
from beskar_jobs.wire.messages import MAX_TEXT, Attempt, AttemptEvent, EventBatch


class Attempts:
    def __init__(self, state: SchedulerState, presence: Presence) -> None:
        self._state = state
        self._presence = presence

    def on_events(self, batch: EventBatch, now: Now) -> None:
        ref = WorkerRef(WorkerId(batch.worker_id), batch.incarnation)
        worker = self._state.workers.heard_from(ref, now.monotonic)
        for event in batch.events:
            tracked = self._state.ledger.get(JobId(event.job_id))
            if event.kind == "progress":
                if tracked is not None and _is_of(event, ref, tracked.job):
                    self._progress(tracked, event, now)
                continue
            if worker is not None:
                worker.full_until_heartbeat = False
            attempt = Attempt(event.job_id, event.fence)
            if tracked is None:
                question = Question(Purpose.LATE_END, JobId(event.job_id), attempt, ref, end=event.kind)
                self._state.questions.append(question)
            elif _is_of(event, ref, tracked.job):
                if worker is not None:
                    worker.held.discard(tracked.job.id)  # a stale end leaves the slot to the attempt that has it
                self._end(tracked, event, ref, now)
            elif tracked.job.fence != event.fence or tracked.job.worker not in (ref, None):
                self._refuse(attempt, ref)
            # else: this end is decided already and its commit under way; the acknowledgement follows it.

    def _progress(self, tracked: Tracked, event: AttemptEvent, now: Now) -> None:
        tracked.progress.add(event.percent, event.message)
        if tracked.job.status is JobStatus.DISPATCHED:
            # Only a running handler reports; the reply to the claim is late or lost. Its commit tells the progress.
            self._state.ledger.write(transitions.accept(tracked.job, event.fence, now.wall))
        elif tracked.stored_version == tracked.job.version:
            self._state.outbox.status(tracked.job, tracked.progress)

    def _end(self, tracked: Tracked, event: AttemptEvent, ref: WorkerRef, now: Now) -> None:
        self._state.counters[f"attempts {event.kind}"] += 1
        if event.percent is not None:
            tracked.progress.add(event.percent, event.message)
        write = self._state.ledger.write(self._decide(tracked.job, event, now))
        write.ends.append((ref, Attempt(event.job_id, event.fence)))

    def _decide(self, job: Job, event: AttemptEvent, now: Now) -> Transition:
        match event.kind:
            case "succeeded":
                return transitions.succeed(job, event.fence, bytes(event.result), now.wall)
            case "cancelled" if job.cancel_requested:
                return transitions.stopped(job, event.fence, now.wall)
            case "released":
                return transitions.release(job, event.fence, now.wall)
            case _:
                failure = event.failure or JobFailure(FailureKind.EXCEPTION, "failed without a reason")
                return transitions.fail(job, event.fence, _bounded(failure), now.wall, self._state.dice())

    def late_end(self, question: Question, job: Job | None, now: Now) -> None:
        """What is stored for an end that came for a job not in hand."""
        attempt, ref = question.attempt, question.worker
        if attempt is None or ref is None or self._state.ledger.get(question.job_id) is not None:
            return  # in hand by now: the end comes once more, since it was not acknowledged
        if job is not None and job.fence == attempt.fence and job.status.is_active and job.worker == ref:
            self._presence.adopt(job, now)  # likewise
        elif job is not None and job.fence == attempt.fence and _is_stored(question.end, job):
            self._state.outbox.control(ref).acknowledged.append(attempt)
        else:
            self._refuse(attempt, ref)

    def _refuse(self, attempt: Attempt, ref: WorkerRef) -> None:
        self._state.counters["late ends refused"] += 1
        self._state.refused_ends.append(RefusedEnd(attempt, ref))
        self._state.outbox.control(ref).abandon.append(attempt)

    def held(self, question: Question, job: Job | None, now: Now) -> None:
        """What is stored for an attempt that a worker holds, and this scheduler does not have in hand."""
        attempt, ref = question.attempt, question.worker
        if attempt is None or ref is None or self._state.ledger.get(question.job_id) is not None:
            return
        if job is None or job.fence != attempt.fence or job.worker not in (ref, None) or _may_be_lost(job):
            self._state.outbox.control(ref).abandon.append(attempt)
        elif job.status.is_active:
            self._presence.adopt(job, now)
        else:
            self._state.outbox.control(ref).acknowledged.append(attempt)


def _bounded(failure: JobFailure) -> JobFailure:
    """*failure* with its texts cut: workers cut them too, but a scheduler believes no worker."""
    if max(len(failure.message), len(failure.traceback), len(failure.error_type)) <= MAX_TEXT:
        return failure
    return attrs.evolve(
        failure,
        message=failure.message[:MAX_TEXT],
        traceback=failure.traceback[-MAX_TEXT:],
        error_type=failure.error_type[:MAX_TEXT],
    )


def _is_of(event: AttemptEvent, ref: WorkerRef, job: Job) -> bool:
    """Whether *event* is of the attempt that holds *job* now."""
    return job.status.is_active and job.fence == event.fence and job.worker == ref


def _crashed(job: Job) -> bool:
    return job.failure is not None and job.failure.kind is FailureKind.CRASH


def _is_stored(end: str, job: Job) -> bool:
    """Whether an end of this kind is what brought *job*, which rests under the same fence, to where it stands."""
    match job.status:
        case JobStatus.SUCCEEDED:
            return end == "succeeded"
        case JobStatus.CANCELLED:
            return end != "succeeded"
        case JobStatus.ENQUEUED:
            return end == "released" or (end != "succeeded" and not _crashed(job))
        case _:
            return end not in ("succeeded", "released") and not _crashed(job)


def _may_be_lost(job: Job) -> bool:
    """Whether the last attempt of *job*, which has not ended by a result, may have been taken from its worker."""
    return job.status is JobStatus.ENQUEUED or (
        job.status in (JobStatus.DEAD_LETTERED, JobStatus.CANCELLED) and _crashed(job)
    )
