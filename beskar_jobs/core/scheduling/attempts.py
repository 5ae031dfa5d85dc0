"""News of attempts: progress, and the ends that workers repeat until they are acknowledged.

An end is acknowledged once it is committed. One that comes for an attempt that is not (any more) in hand is compared
with the stored job: if that attempt's end is what is stored, it is a repeat, and acknowledged again; else the attempt
had lost the job, and its end is refused - acknowledged too, so that the worker forgets it, but counted and logged.
"""

from __future__ import annotations

from beskar_jobs.core import transitions
from beskar_jobs.core.scheduling.records import Purpose, Question, RefusedEnd, Tracked
from beskar_jobs.core.scheduling.state import SchedulerState
from beskar_jobs.core.transitions import Transition
from beskar_jobs.model.job import FailureKind, Job, JobFailure, JobId, JobStatus, WorkerId, WorkerRef
from beskar_jobs.ports.clock import Now
from beskar_jobs.wire.messages import Attempt, AttemptEvent, EventBatch


class Attempts:
    def __init__(self, state: SchedulerState) -> None:
        self._state = state

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
                self._state.questions.append(Question(Purpose.LATE_END, JobId(event.job_id), attempt, ref))
            elif _is_of(event, ref, tracked.job):
                if worker is not None:
                    worker.held.discard(tracked.job.id)  # a stale end leaves the slot to the attempt that has it
                self._end(tracked, event, ref, now)
            elif tracked.job.fence != event.fence or tracked.job.worker not in (ref, None):
                self._refuse(attempt, ref)
            # else: this end is decided already and its commit under way; the acknowledgement follows it.

    def _progress(self, tracked: Tracked, event: AttemptEvent, now: Now) -> None:
        tracked.progress.percent = event.percent
        tracked.progress.message = event.message
        tracked.progress.count += 1
        if tracked.job.status is JobStatus.DISPATCHED:
            # Only a running handler reports; the reply to the claim is late or lost. Its commit tells the progress.
            self._state.ledger.write(transitions.accept(tracked.job, event.fence, now.wall))
        elif tracked.stored_version == tracked.job.version:
            self._state.outbox.status(tracked.job, tracked.progress)

    def _end(self, tracked: Tracked, event: AttemptEvent, ref: WorkerRef, now: Now) -> None:
        self._state.counters[f"attempts {event.kind}"] += 1
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
                failure = event.failure or JobFailure(FailureKind.EXCEPTION, event.message or "failed without a reason")
                return transitions.fail(job, event.fence, failure, now.wall, self._state.dice())

    def late_end(self, question: Question, job: Job | None) -> None:
        """What is stored for an end that came for a job not in hand."""
        attempt, ref = question.attempt, question.worker
        if attempt is None or ref is None:
            return
        if job is not None and job.fence == attempt.fence and job.worker in (ref, None):
            if job.status.is_active:
                # In hand again; the end itself comes once more, since it was not acknowledged.
                self._state.ledger.track(job).claim_sent = True
            else:
                self._state.outbox.control(ref).acknowledged.append(attempt)
        else:
            self._refuse(attempt, ref)

    def _refuse(self, attempt: Attempt, ref: WorkerRef) -> None:
        self._state.counters["late ends refused"] += 1
        self._state.refused_ends.append(RefusedEnd(attempt, ref))
        self._state.outbox.control(ref).abandon.append(attempt)

    def held(self, question: Question, job: Job | None) -> None:
        """What is stored for an attempt that a worker holds, and this scheduler does not have in hand."""
        attempt, ref = question.attempt, question.worker
        if attempt is None or ref is None or self._state.ledger.get(question.job_id) is not None:
            return
        if job is None or job.fence != attempt.fence or job.status is JobStatus.ENQUEUED:
            self._state.outbox.control(ref).abandon.append(attempt)
        elif not job.status.is_active:
            self._state.outbox.control(ref).acknowledged.append(attempt)


def _is_of(event: AttemptEvent, ref: WorkerRef, job: Job) -> bool:
    """Whether *event* is of the attempt that holds *job* now."""
    return job.status.is_active and job.fence == event.fence and job.worker == ref
