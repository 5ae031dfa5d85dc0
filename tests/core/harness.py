"""A bench for the scheduler session: a storage that is a dict, time that a test moves, and what was said, in order.

Nothing happens by itself. ``advance``, ``read`` and ``commit`` are the steps that a shell takes; ``settle`` takes them
until nothing is left to do. Every message that leaves is encoded and decoded, as on the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import attrs
import msgspec

from beskar_jobs.core.scheduling import Batch, ReadDue, ReadJobs, ReadLane, Reply, SchedulerSession, Send
from beskar_jobs.core.scheduling.records import Read
from beskar_jobs.core.transitions import TIMED
from beskar_jobs.model.job import TERMINAL, Job, JobId, JobStatus, WorkerId
from beskar_jobs.model.presence import HandlerPolicy, HeldAttempt, WorkerHeartbeat
from beskar_jobs.model.retry import NO_RETRY, Retry
from beskar_jobs.ports.clock import Now
from beskar_jobs.ports.storage import Commit, CommitOutcome, Lane
from beskar_jobs.wire.messages import (
    Attempt,
    AttemptEvent,
    Claim,
    ClaimReply,
    ClaimRequest,
    ControlMessage,
    EnqueueCommand,
    EnqueueItem,
    EventBatch,
    Message,
    Rejection,
    StatusItem,
    UpdatesMessage,
)
from beskar_jobs.wire.serializer import JsonSerializer
from beskar_jobs.wire.topics import TopicKind, Topics

T0 = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TOPICS = Topics()
SERIALIZER = JsonSerializer()
REPLY = Reply(TOPICS.client_replies("c1"), b"1")
M = TypeVar("M", bound=Message)


def over_the_wire(message: M) -> M:
    """*message* as its receiver gets it."""
    return SERIALIZER.decode(SERIALIZER.encode(message), type(message))


class DictStorage:
    """The contract of the storage port without an event loop; keeps every state that a job was ever in."""

    def __init__(self) -> None:
        self.jobs: dict[JobId, Job] = {}
        self.history: dict[JobId, list[Job]] = {}

    def commit(self, commit: Commit) -> CommitOutcome:
        existing: list[Job | None] = []
        for job in commit.inserts:
            existing.append(self.jobs.get(job.id))
            if existing[-1] is None:
                self._put(job)
        applied: list[bool] = []
        for change in commit.changes:
            stored = self.jobs.get(change.job.id)
            applied.append(stored is not None and stored.version == change.expected_version)
            if applied[-1]:
                self._put(change.job)
        return CommitOutcome(existing, applied)

    def _put(self, job: Job) -> None:
        self.jobs[job.id] = job
        self.history.setdefault(job.id, []).append(job)

    def get(self, ids: Iterable[JobId]) -> list[Job | None]:
        return [self.jobs.get(job_id) for job_id in ids]

    def ready(self, lane: Lane, limit: int) -> list[Job]:
        ready = (job for job in self.with_status(JobStatus.ENQUEUED) if Lane(job.queue, job.job_type) == lane)
        return sorted(ready, key=lambda job: job.order)[:limit]

    def lanes(self) -> list[tuple[Lane, int]]:
        counts: dict[Lane, int] = {}
        for job in self.with_status(JobStatus.ENQUEUED):
            lane = Lane(job.queue, job.job_type)
            counts[lane] = counts.get(lane, 0) + 1
        return list(counts.items())

    def _timed(self) -> list[Job]:
        timed = (job for job in self.with_status(JobStatus.SCHEDULED) if job.waiting_for in TIMED)
        return sorted(timed, key=lambda job: job.due_at)

    def due(self, now: datetime, limit: int) -> list[Job]:
        return [job for job in self._timed() if job.due_at <= now][:limit]

    def next_due(self, after: datetime | None = None) -> datetime | None:
        return next((job.due_at for job in self._timed() if after is None or job.due_at > after), None)

    def active(self) -> list[Job]:
        return [job for job in self.jobs.values() if job.status.is_active]

    def last_sequence(self) -> int:
        return max((job.spec.sequence for job in self.jobs.values()), default=0)

    def with_status(self, *statuses: JobStatus) -> list[Job]:
        return [job for job in self.jobs.values() if job.status in statuses]

    @property
    def all_ended(self) -> bool:
        return all(job.status in TERMINAL for job in self.jobs.values())


def item(
    job_id: str,
    job_type: str = "t",
    queue: str = "q",
    *,
    arguments: bytes = b"{}",
    delay: float | None = None,
    run_at: datetime | None = None,
    priority: int = 0,
    retry: Retry | None = None,
    timeout: float | None = None,
) -> EnqueueItem:
    return EnqueueItem(
        job_id,
        job_type,
        queue,
        msgspec.Raw(arguments),
        priority=priority,
        delay=delay,
        run_at=run_at,
        retry=retry,
        timeout=timeout,
    )


def beat(
    worker_id: str = "w1",
    incarnation: str = "i1",
    *,
    connection: int = 1,
    online: bool = True,
    slots: int = 4,
    held: Sequence[tuple[str, int]] = (),
    report: str = "",
    draining: bool = False,
    queues: tuple[str, ...] = (),
    types: Mapping[str, HandlerPolicy] | None = None,
    interval: float = 2.0,
) -> WorkerHeartbeat:
    return WorkerHeartbeat(
        WorkerId(worker_id),
        incarnation,
        connection,
        is_online=online,
        draining=draining,
        queues=queues,
        job_types={} if types is None else types,
        active=len(held),
        max_concurrency=slots,
        interval=interval,
        held=tuple(HeldAttempt(JobId(job_id), fence) for job_id, fence in held),
        report=report,
    )


@attrs.define
class Bench:
    """One scheduler session on a :class:`DictStorage`. A new bench on an old storage is a restarted scheduler."""

    storage: DictStorage = attrs.field(factory=DictStorage)
    now: Now = attrs.field(factory=lambda: Now(T0, 1000.0))
    default_retry: Retry = NO_RETRY
    dice: Callable[[], float] = lambda: 0.0
    session: SchedulerSession = attrs.field(init=False)
    sent: list[Send] = attrs.field(factory=list)
    statuses: list[StatusItem] = attrs.field(factory=list)
    reads: list[Read] = attrs.field(factory=list)
    line_lives: bool = True
    echoes_wanted: int = 0

    def __attrs_post_init__(self) -> None:
        self.session = SchedulerSession("s1", TOPICS, self.dice, self.default_retry)
        self.session.load(
            active=self.storage.active(),
            lanes=self.storage.lanes(),
            last_sequence=self.storage.last_sequence(),
            next_due=self.storage.next_due(),
            now=self.now,
        )

    # -- steps ---------------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        self.session.advance(self.now)
        if self.session.take_echo_wanted():
            self.echoes_wanted += 1
            if self.line_lives:
                self.session.on_echo(self.now)
        self.collect()

    def collect(self) -> None:
        """Take what is to be sent."""
        for send in self.session.outbox.take():
            self.sent.append(attrs.evolve(send, message=over_the_wire(send.message)))
        self.statuses += self.session.outbox.take_statuses(1_000_000)

    def take_batch(self) -> Batch | None:
        return self.session.take_batch()

    def finish(self, batch: Batch) -> None:
        """Write *batch*, and say so."""
        self.session.committed(batch, self.storage.commit(batch.commit()), self.now)
        self.collect()

    def commit(self) -> bool:
        batch = self.take_batch()
        if batch is not None:
            self.finish(batch)
        return batch is not None

    def answer(self, read: Read) -> None:
        match read:
            case ReadLane(lane, limit):
                self.session.lane_loaded(lane, self.storage.ready(lane, limit), limit)
            case ReadDue(until, limit):
                jobs = self.storage.due(until, limit)
                following = until if len(jobs) == limit else self.storage.next_due(until)
                self.session.due_loaded(jobs, following, self.now)
            case ReadJobs(questions):
                jobs_read = self.storage.get([question.job_id for question in questions])
                self.session.jobs_loaded(questions, jobs_read, self.now)
        self.collect()

    def read(self) -> bool:
        reads = self.session.take_reads()
        self.reads += reads
        for read in reads:
            self.answer(read)
        return bool(reads)

    def settle(self, most: int = 1000) -> None:
        """Step until nothing is left to do."""
        for _ in range(most):
            self.advance()
            busy = self.read()
            busy |= self.commit()
            if not busy:
                return
        raise AssertionError(f"still busy after {most} steps")

    def sleep(self, seconds: float) -> None:
        """Move time without a step."""
        self.now = Now(self.now.wall + timedelta(seconds=seconds), self.now.monotonic + seconds)

    def run(self, seconds: float, *, beats: Callable[[], None] = lambda: None, step: float = 0.5) -> None:
        """Let time pass in small steps; *beats* is called at each."""
        for _ in range(round(seconds / step)):
            self.sleep(step)
            beats()
            self.settle()

    # -- what others say -----------------------------------------------------------------------------------------------

    def enqueue(self, *items: EnqueueItem, reply: Reply | None = REPLY, watcher: str = "") -> None:
        self.session.on_enqueue(over_the_wire(EnqueueCommand(items=list(items), watcher=watcher)), reply, self.now)

    def enqueue_raw(self, payload: bytes) -> None:
        """A command as anybody may have written it."""
        self.session.on_enqueue(SERIALIZER.decode(payload, EnqueueCommand), REPLY, self.now)

    def beat(self, heartbeat: WorkerHeartbeat) -> None:
        self.session.heard(self.now)
        self.session.on_heartbeat(heartbeat, self.now)

    def accept(self, *attempts: Attempt, worker: str = "w1", incarnation: str = "i1") -> None:
        reply = ClaimReply(worker_id=worker, incarnation=incarnation, accepted=list(attempts))
        self.session.on_claim_reply(over_the_wire(reply), self.now)

    def reject(self, rejection: Rejection, *, worker: str = "w1", incarnation: str = "i1") -> None:
        reply = ClaimReply(worker_id=worker, incarnation=incarnation, rejections=[rejection])
        self.session.on_claim_reply(over_the_wire(reply), self.now)

    def tell(self, *events: AttemptEvent, worker: str = "w1", incarnation: str = "i1") -> None:
        batch = EventBatch(worker_id=worker, incarnation=incarnation, events=list(events))
        self.session.on_events(over_the_wire(batch), self.now)

    def cancel(self, job_id: str, reply: Reply | None = REPLY) -> None:
        self.session.on_cancel(JobId(job_id), "no longer needed", reply, self.now)

    # -- what was said -------------------------------------------------------------------------------------------------

    def take_sent(self) -> list[Send]:
        sent, self.sent = self.sent, []
        return sent

    def replies(self) -> list[Message]:
        """Replies to clients so far."""
        return [send.message for send in self.sent if _kind(send) is TopicKind.CLIENT_REPLIES]

    def claims(self, worker: str | None = None) -> list[Claim]:
        """Claims offered so far, to this worker or to anybody."""
        return [
            claim
            for send in self.sent
            if isinstance(send.message, ClaimRequest) and worker in (None, _name(send))
            for claim in send.message.claims
        ]

    def controls(self, worker: str | None = None) -> list[ControlMessage]:
        return [
            send.message
            for send in self.sent
            if isinstance(send.message, ControlMessage) and worker in (None, _name(send))
        ]

    def acknowledged(self) -> list[Attempt]:
        return [attempt for control in self.controls() for attempt in control.acknowledged]

    def abandoned(self) -> list[Attempt]:
        return [attempt for control in self.controls() for attempt in control.abandon]

    def told_to_cancel(self) -> list[Attempt]:
        return [attempt for control in self.controls() for attempt in control.cancel]

    def report_token(self, worker: str = "w1") -> str:
        """The last report that *worker* was asked for."""
        return next(control.report for control in reversed(self.controls(worker)) if control.report)

    def updates(self, client: str) -> list[StatusItem]:
        return [
            status
            for send in self.sent
            if isinstance(send.message, UpdatesMessage) and _name(send) == client
            for status in send.message.jobs
        ]

    def job(self, job_id: str) -> Job:
        """The job as stored."""
        return self.storage.jobs[JobId(job_id)]

    def status(self, job_id: str) -> JobStatus:
        return self.job(job_id).status

    # -- short cuts ----------------------------------------------------------------------------------------------------

    def running(self, job_id: str = "j1", *, worker: str = "w1") -> Attempt:
        """Bring one new job to RUNNING on a (new or known) worker, and forget what was said on the way."""
        self.beat(beat(worker))
        self.enqueue(item(job_id))
        self.settle()
        attempt = Attempt(job_id, self.job(job_id).fence)
        self.accept(attempt, worker=worker)
        self.settle()
        assert self.status(job_id) is JobStatus.RUNNING
        self.take_sent()
        self.statuses.clear()
        return attempt


def succeeded(attempt: Attempt, result: bytes = b"1") -> AttemptEvent:
    return AttemptEvent("succeeded", attempt.job_id, attempt.fence, result=msgspec.Raw(result))


def _parsed(send: Send) -> tuple[TopicKind, str]:
    topic = TOPICS.parse(send.topic)
    assert topic is not None, send.topic
    return topic.kind, topic.name if topic.names else ""


def _kind(send: Send) -> TopicKind:
    return _parsed(send)[0]


def _name(send: Send) -> str:
    return _parsed(send)[1]
