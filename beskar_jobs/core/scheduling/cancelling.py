"""Cancel commands. A job at rest is cancelled at once; one with a worker, when that has stopped it."""

from __future__ import annotations

from typing import Final, Literal

from beskar_jobs.core import transitions
from beskar_jobs.core.scheduling.records import Purpose, Question, Reply
from beskar_jobs.core.scheduling.state import SchedulerState
from beskar_jobs.model.job import Job, JobId, JobStatus
from beskar_jobs.ports.clock import Now
from beskar_jobs.wire.messages import CancelReply

MAX_TRIES: Final = 5


class Cancelling:
    def __init__(self, state: SchedulerState) -> None:
        self._state = state

    def on_cancel(self, job_id: JobId, reason: str, reply: Reply | None, now: Now) -> None:
        self._decide(Question(Purpose.CANCEL, job_id, reply=reply, reason=reason or "cancelled by a client"), now)

    def _decide(self, question: Question, now: Now) -> None:
        tracked = self._state.ledger.get(question.job_id)
        if tracked is None:
            self._state.questions.append(question)
        else:
            self._cancel(question, tracked.job, now)

    def loaded(self, question: Question, job: Job | None, now: Now) -> None:
        """Storage answered; but if the job is in hand by now, that counts."""
        tracked = self._state.ledger.get(question.job_id)
        if tracked is not None:
            job = tracked.job
        if job is None:
            self._answer(question, CancelReply(outcome="unknown"))
        else:
            self._cancel(question, job, now)

    def _cancel(self, question: Question, job: Job, now: Now) -> None:
        if job.status.is_terminal or (job.status.is_active and job.cancel_requested):
            uncommitted = self._state.ledger.uncommitted(job.id)
            if uncommitted is not None:
                uncommitted.cancels.append(question)
            else:
                outcome: Literal["finished", "requested"] = "finished" if job.status.is_terminal else "requested"
                self._answer(question, CancelReply(outcome=outcome, status=job.status))
        elif job.status.is_active:
            write = self._state.ledger.write(transitions.request_cancel(job, question.reason, now.wall))
            write.cancels.append(question)
        else:
            self._state.lanes.discard(job)
            write = self._state.ledger.write(transitions.cancel(job, question.reason, now.wall))
            write.cancels.append(question)

    def committed(self, questions: list[Question], job: Job) -> None:
        """The cancel stands in storage."""
        outcome: Literal["cancelled", "requested", "finished"] = "requested"
        if job.status.is_terminal:
            outcome = "cancelled" if job.status is JobStatus.CANCELLED else "finished"
        for question in questions:
            self._answer(question, CancelReply(outcome=outcome, status=job.status))

    def refused(self, questions: list[Question], now: Now) -> None:
        """Somebody else changed the job first: look again."""
        for question in questions:
            again = Question(
                Purpose.CANCEL,
                question.job_id,
                reply=question.reply,
                reason=question.reason,
                tries=question.tries + 1,
            )
            if again.tries < MAX_TRIES:
                self._decide(again, now)
            else:
                self._answer(again, CancelReply(error="the job changes too fast; try again"))

    def _answer(self, question: Question, reply: CancelReply) -> None:
        self._state.outbox.reply(question.reply, reply)
