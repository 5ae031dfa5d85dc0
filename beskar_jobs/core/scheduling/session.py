"""The scheduler session: its parts put together, and the round trip to storage.

The shell calls, in any order: an ``on_…`` method per message, ``advance`` when time has passed or something happened;
then performs what has gathered: ``take_batch`` (one at a time, answered by ``committed``), ``take_reads`` (each
answered by its ``…_loaded``), ``outbox.take`` and ``outbox.take_statuses``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from beskar_jobs.core import transitions
from beskar_jobs.core.scheduling.attempts import Attempts
from beskar_jobs.core.scheduling.cancelling import Cancelling
from beskar_jobs.core.scheduling.dispatching import Dispatching
from beskar_jobs.core.scheduling.intake import check_recurring, spec_of
from beskar_jobs.core.scheduling.outbox import Outbox
from beskar_jobs.core.scheduling.presence import Presence
from beskar_jobs.core.scheduling.records import (
    Batch,
    EnqueueRequest,
    Insert,
    Notable,
    Purpose,
    Question,
    Read,
    ReadDue,
    ReadJobs,
    ReadRecurring,
    RefusedEnd,
    Reply,
    Write,
)
from beskar_jobs.core.scheduling.recurring import Recurring
from beskar_jobs.core.scheduling.state import SchedulerState
from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.model.job import Job, JobId, JobSpec, JobStatus, WaitingFor
from beskar_jobs.model.presence import WorkerHeartbeat
from beskar_jobs.model.recurring import RecurringJob
from beskar_jobs.model.retry import NO_RETRY, Retry
from beskar_jobs.ports.clock import Now
from beskar_jobs.ports.storage import CommitOutcome, Lane
from beskar_jobs.wire.messages import (
    Attempt,
    ClaimReply,
    EnqueueCommand,
    EnqueueException,
    EnqueueReply,
    EventBatch,
    JobView,
)
from beskar_jobs.wire.topics import Topics
from beskar_jobs.wire.views import NO_PROGRESS, Progress, job_view

DUE_LIMIT: Final = 1_000
"""Jobs that become due in one step at most; the rest follow in the next."""
MAX_PENDING: Final = 200_000
"""Changes that may wait for storage; beyond it, enqueue commands are turned away as busy."""
MAX_PENDING_BYTES: Final = 64 * 1024 * 1024
"""Likewise, of arguments of jobs that wait to be inserted."""


class SchedulerSession:
    """Decides; performs nothing.

    Args:
        dice: gives the jitter of a retry, in [-1, 1].
        default_retry: the last rung of the retry policy.

    Attributes:
        storage_problem: why commits wait, ``""`` while they do not; kept by the shell. Meanwhile enqueue commands are
            turned away: they are repeated, and would pile up here.
    """

    def __init__(
        self, scheduler_id: str, topics: Topics, dice: Callable[[], float], default_retry: Retry = NO_RETRY
    ) -> None:
        self.outbox = Outbox(scheduler_id, topics)
        self._state = SchedulerState(self.outbox, dice, default_retry)
        self._dispatching = Dispatching(self._state)
        self._presence = Presence(self._state, self._dispatching)
        self._attempts = Attempts(self._state, self._presence)
        self._cancelling = Cancelling(self._state)
        self.recurring = Recurring(self._state, check_recurring, self._rest)
        self._due_under_way = 0
        self.storage_problem = ""

    def load(
        self,
        *,
        active: Sequence[Job],
        lanes: Sequence[tuple[Lane, int]],
        last_sequence: int,
        next_due: datetime | None,
        now: Now,
        recurring: Sequence[RecurringJob] = (),
    ) -> None:
        """Start from what storage has."""
        for job in active:
            self._state.ledger.track(job).claim_sent = True  # it may have been, by the scheduler before this one
        for lane, _ in lanes:
            self._state.lanes.add_stored(lane)
        self._state.last_sequence = last_sequence
        self._state.next_due = next_due
        self._presence.expect(now)
        self.recurring.load(recurring)

    # -- messages ------------------------------------------------------------------------------------------------------

    def on_enqueue(self, command: EnqueueCommand, reply: Reply | None, now: Now) -> None:
        if hindrance := self.hindrance():
            self._state.counters["enqueues turned away"] += 1
            self.outbox.reply(reply, EnqueueReply(error=hindrance, busy=True))
            return
        specs: list[JobSpec] = []
        exceptions: list[EnqueueException] = []
        for index, item in enumerate(command.items):
            try:
                specs.append(spec_of(item, self._state.last_sequence + 1 + index, now.wall))
            except InvalidValue as problem:
                exceptions.append(EnqueueException(index, "rejected", str(problem)))
        if exceptions:
            self.outbox.reply(reply, EnqueueReply(exceptions=exceptions, error="nothing was stored"))
            return
        self._state.last_sequence += len(specs)
        request = EnqueueRequest(reply, command.watcher)
        for index, spec in enumerate(specs):
            self._state.ledger.insert(transitions.new_job(spec, now.wall), request, index)

    def hindrance(self) -> str:
        """Why no jobs can be taken in now; ``""`` if they can."""
        if self.storage_problem:
            return f"storage is away: {self.storage_problem}"
        ledger = self._state.ledger
        if ledger.pending > MAX_PENDING or ledger.pending_bytes > MAX_PENDING_BYTES:
            return "the scheduler is behind with its storage"
        return ""

    def on_claim_reply(self, message: ClaimReply, now: Now) -> None:
        self._dispatching.on_claim_reply(message, now)

    def on_events(self, message: EventBatch, now: Now) -> None:
        self._attempts.on_events(message, now)

    def on_heartbeat(self, heartbeat: WorkerHeartbeat, now: Now) -> None:
        self._presence.on_heartbeat(heartbeat, now)

    def on_cancel(self, job_id: JobId, reason: str, reply: Reply | None, now: Now) -> None:
        self._cancelling.on_cancel(job_id, reason, reply, now)

    def heard(self, now: Now) -> None:
        """Some message came in; to be called for each, before it is dealt with."""
        self._presence.link.heard(now.monotonic)

    def on_echo(self, now: Now) -> None:
        """The scheduler's own presence came back from the broker."""
        self._presence.echoed(now)

    def take_echo_wanted(self) -> bool:
        """Whether to publish the scheduler's presence now, and bring what comes back to ``on_echo``."""
        wanted, self._state.echo_wanted = self._state.echo_wanted, False
        return wanted

    def on_disconnected(self) -> None:
        """The connection to the broker is gone."""
        self._presence.cut_off()

    def on_connected(self, now: Now) -> None:
        """There is a connection to the broker, for the first time or again."""
        self._presence.connected(now)

    # -- time ----------------------------------------------------------------------------------------------------------

    def advance(self, now: Now) -> None:
        """Do what is due, and give free slots work. To be called after every event, or group of events."""
        self._presence.advance(now)
        self._dispatching.offer_again(now)
        due = self._state.next_due
        if due is not None and due <= now.wall and not self._due_under_way:
            self._state.next_due = None
            self._due_under_way = 1  # the reading itself
            self._state.reads.append(ReadDue(now.wall, DUE_LIMIT))
        if not self.storage_problem:
            self.recurring.advance(now)
        self._dispatching.dispatch(now)

    def next_deadline(self, now: Now) -> float | None:
        """Monotonic time at which ``advance`` has something to do, jobs' due times aside."""
        deadlines = (self._presence.next_deadline(now), self._dispatching.next_deadline())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    @property
    def next_due(self) -> datetime | None:
        """Wall time at which ``advance`` has a job to make ready, or a recurring entry to fire."""
        job = None if self._due_under_way else self._state.next_due
        entry = None if self.storage_problem else self.recurring.next_due
        return entry if job is None or (entry is not None and entry < job) else job

    # -- storage -------------------------------------------------------------------------------------------------------

    def take_batch(self) -> Batch | None:
        return self._state.ledger.take()

    def committed(self, batch: Batch, outcome: CommitOutcome, now: Now) -> None:
        """*batch* is in storage, but for what *outcome* refuses."""
        for insert, existing in zip(batch.inserts, outcome.existing, strict=True):
            self._inserted(insert, existing)
        for write, applied in zip(batch.writes, outcome.applied, strict=True):
            if write.is_due:
                self._due_under_way -= 1
            if applied:
                self._written(write, now)
            else:
                self._refused(write, now)
        for change, written in zip(batch.recurring, outcome.recurring, strict=True):
            self.recurring.committed(change, written)

    def _inserted(self, insert: Insert, existing: Job | None) -> None:
        request = insert.request
        if existing is None:
            if request.watcher:
                self.outbox.watch(insert.job.id, request.watcher)
            self._rest(insert.job)
        elif _same_request(existing, insert.job):
            request.exceptions.append(EnqueueException(insert.index, "exists"))
            if request.watcher:
                self._tell(existing, request.watcher)
        else:
            message = f"the job id {existing.id} is taken by another job ({existing.job_type}, {existing.status})"
            request.exceptions.append(EnqueueException(insert.index, "rejected", message))
        request.open_items -= 1
        if not request.open_items:
            self.outbox.reply(request.reply, EnqueueReply(exceptions=request.exceptions))

    def _tell(self, job: Job, client_id: str) -> None:
        if not job.status.is_terminal:
            self.outbox.watch(job.id, client_id)
        tracked = self._state.ledger.get(job.id)
        self.outbox.tell(client_id, job, tracked.progress if tracked else NO_PROGRESS, self._state.waiting_for(job))

    def _written(self, write: Write, now: Now) -> None:
        job = write.job
        for ref, attempt in write.ends:
            self.outbox.control(ref).acknowledged.append(attempt)
        self._cancelling.committed(write.cancels, job)
        tracked = self._state.ledger.get(job.id)
        if tracked is None:
            return
        tracked.stored_version = job.version
        if tracked.job.version != job.version:
            # Decided further meanwhile; what comes of it follows with its own commit. Only the world is told.
            self.outbox.status(job, tracked.progress, self._state.waiting_for(job))
        elif job.status is JobStatus.DISPATCHED and not tracked.claim_sent:
            if job.cancel_requested:
                self._release_slot(job)
                self._state.ledger.write(transitions.not_held(job, job.fence, "cancelled", now.wall))
                return
            tracked.claim_sent = True
            self._dispatching.offer(job, now)
        elif job.status.is_active:
            if job.cancel_requested and job.worker is not None:
                self.outbox.control(job.worker).cancel.append(Attempt(job.id, job.fence))
            self.outbox.status(job, tracked.progress)
        else:
            self._state.ledger.forget(job.id)
            # A job that ended keeps what its handler said last; one that starts again starts from nothing.
            self._rest(job, tracked.progress if job.status.is_terminal else NO_PROGRESS)
            if job.status is JobStatus.DEAD_LETTERED or job.waiting_for is WaitingFor.RETRY:
                self._state.notable.append(job)
        if job.status.is_terminal:
            self.recurring.ended(job.id, now)

    def _rest(self, job: Job, progress: Progress = NO_PROGRESS) -> None:
        """*job* stands in storage and is with nobody."""
        if job.status is JobStatus.ENQUEUED:
            self._state.lanes.push(job)
        elif job.status is JobStatus.SCHEDULED and job.waiting_for in transitions.TIMED:
            self._state.due_at(job.due_at)
        self.outbox.status(job, progress, self._state.waiting_for(job))

    def _release_slot(self, job: Job) -> None:
        if job.worker is not None and (entry := self._state.workers.find(job.worker)) is not None:
            entry.held.discard(job.id)

    def _refused(self, write: Write, now: Now) -> None:
        """Another scheduler changed the job. An end is not acknowledged: it comes again, and is judged anew."""
        self._state.counters["writes refused"] += 1
        tracked = self._state.ledger.get(write.job.id)
        if tracked is not None:
            self._release_slot(tracked.job)
            self._release_slot(write.job)
            self._state.questions.append(Question(Purpose.RESYNC, write.job.id))
        cancels = write.cancels
        # What was decided on it meanwhile must not be written over a version that another made under the same number.
        withdrawn = self._state.ledger.withdraw(write.job.id)
        if withdrawn is not None:
            cancels = [*cancels, *withdrawn.cancels]
            self._due_under_way -= withdrawn.is_due
        self._cancelling.refused(cancels, now)

    def take_reads(self) -> list[Read]:
        reads, self._state.reads = self._state.reads, []
        if self._state.questions:
            questions, self._state.questions = self._state.questions, []
            reads.append(ReadJobs(questions))
        return reads

    def lane_loaded(self, lane: Lane, jobs: Sequence[Job], limit: int) -> None:
        self._state.lanes.head(lane).refill(jobs, limit=limit)

    def due_loaded(self, jobs: Sequence[Job], following: datetime | None, now: Now) -> None:
        """*jobs* are due; *following* is when the next one after them is."""
        self._due_under_way -= 1
        if following is not None:
            self._state.due_at(following)
        for job in jobs:
            if self._state.ledger.get(job.id) is None and job.status is JobStatus.SCHEDULED:
                self._state.ledger.write(transitions.due(job, now.wall)).is_due = True
                self._due_under_way += 1

    def jobs_loaded(self, questions: Sequence[Question], jobs: Sequence[Job | None], now: Now) -> None:
        for question, job in zip(questions, jobs, strict=True):
            match question.purpose:
                case Purpose.CANCEL:
                    self._cancelling.loaded(question, job, now)
                case Purpose.LATE_END:
                    self._attempts.late_end(question, job, now)
                case Purpose.HELD:
                    self._attempts.held(question, job, now)
                case Purpose.RUN:
                    self.recurring.run_loaded(question, job, now)
                case Purpose.RESYNC if job is not None and self._state.ledger.get(job.id) is None:
                    if job.status.is_active:
                        self._presence.adopt(job, now)
                    else:
                        self._rest(job)

    def reading_failed(self, read: Read) -> None:
        """Storage could not answer; the question is asked again with the next step."""
        match read:
            case ReadDue(now=now):
                self._due_under_way -= 1
                self._state.due_at(now)
            case ReadJobs(questions=questions):
                self._state.questions.extend(questions)
            case ReadRecurring():
                self._state.reads.append(read)
            case _:
                self._state.lanes.head(read.lane).abandon_refill()

    # -- answers from memory -------------------------------------------------------------------------------------------

    def view(self, job: Job) -> JobView:
        """A stored job in full, with what only the scheduler knows of it."""
        tracked = self._state.ledger.get(job.id)
        progress = tracked.progress if tracked is not None and job.status.is_active else NO_PROGRESS
        capable = self._state.workers.capable(Lane(job.queue, job.job_type))
        return job_view(job, progress, self._state.waiting_for(job), capable)

    def workers(self) -> list[WorkerHeartbeat]:
        return [entry.heartbeat for entry in self._state.workers.online()]

    def workers_serving(self, queue: str) -> int:
        return sum(1 for beat in self.workers() if not beat.queues or queue in beat.queues)

    @property
    def counters(self) -> Counter[str]:
        return self._state.counters

    def take_refused_ends(self) -> list[RefusedEnd]:
        refused, self._state.refused_ends = self._state.refused_ends, []
        return refused

    def take_notable(self) -> list[Notable]:
        notable, self._state.notable = self._state.notable, []
        return notable


def _same_request(stored: Job, asked: Job) -> bool:
    return stored.job_type == asked.job_type and stored.spec.arguments == asked.spec.arguments
