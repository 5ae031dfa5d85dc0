"""The worker as a pure session: which claims it takes, what it holds, what it still has to tell.

* A claim is decided once. The decision is remembered by job and fence, so that a claim offered again (its answer was
  lost, or it came twice) gets the same answer and starts nothing twice.
* An end stays *unacknowledged* until the scheduler says that it is committed. It is told again after a reconnect, to a
  new scheduler, and when no acknowledgement came in :data:`TELL_AGAIN_AFTER` seconds. Until then the worker holds it.
* The number of slots is a promise: the worker never runs more attempts than that, whoever asks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import attrs
import msgspec

from beskar_jobs.model.job import JobId, WorkerId
from beskar_jobs.model.presence import HandlerPolicy, HeldAttempt, WorkerHeartbeat
from beskar_jobs.wire.messages import (
    Attempt,
    AttemptEvent,
    Claim,
    ClaimReply,
    ClaimRequest,
    ControlMessage,
    EventBatch,
    Rejection,
)

TELL_AGAIN_AFTER: Final = 5.0
MAX_PROGRESS_TEXT: Final = 2_000
REMEMBERED_DECISIONS: Final = 20_000
EVENTS_PER_MESSAGE: Final = 1_000
BYTES_PER_MESSAGE: Final = 4 * 1024 * 1024

RejectionReason = Literal["full", "unknown_type", "queue", "draining", "duplicate", "cancelled"]


@attrs.frozen
class Orders:
    """What a control message asks the runtime to do."""

    cancel: list[Attempt]
    abandon: list[Attempt]
    heartbeat: bool


@attrs.define(eq=False)
class _Unacknowledged:
    event: AttemptEvent
    told_at: float


class WorkerSession:
    """One worker process.

    Args:
        queues: the queues it serves; empty: all.
        handlers: the job types it knows, with what their handlers declare.
        interval: seconds between heartbeats.
    """

    def __init__(
        self,
        worker_id: WorkerId,
        incarnation: str,
        *,
        queues: Iterable[str],
        handlers: Mapping[str, HandlerPolicy],
        max_concurrency: int,
        interval: float,
    ) -> None:
        self.worker_id = worker_id
        self.incarnation = incarnation
        self.draining = False
        self.connection = 0
        self._queues = tuple(sorted(queues))
        self._handlers = dict(handlers)
        self._max_concurrency = max_concurrency
        self._interval = interval
        self._running: dict[JobId, Attempt] = {}
        self._unacknowledged: dict[Attempt, _Unacknowledged] = {}
        self._over: set[Attempt] = set()  # ended or abandoned, but their handlers still run
        self._decisions: OrderedDict[Attempt, RejectionReason | None] = OrderedDict()
        self._to_tell: dict[Attempt, AttemptEvent] = {}
        self._report = ""

    # -- claims --------------------------------------------------------------------------------------------------------

    def on_claims(self, queue: str, request: ClaimRequest) -> tuple[ClaimReply | None, list[Claim]]:
        """The reply (``None``: the request is for an earlier process), and the claims to start now."""
        if request.incarnation != self.incarnation:
            return None, []
        accepted: list[Attempt] = []
        rejections: list[Rejection] = []
        start: list[Claim] = []
        for claim in request.claims:
            attempt = Attempt(claim.job_id, claim.fence)
            if attempt in self._decisions:
                reason = self._decisions[attempt]
            elif attempt in self._unacknowledged or self._running.get(JobId(claim.job_id)) == attempt:
                reason = None  # taken so long ago that the decision is forgotten
            else:
                reason = self._reason_against(queue, claim)
                self._remember(attempt, reason)
                if reason is None:
                    self._running[JobId(claim.job_id)] = attempt
                    start.append(claim)
            if reason is None:
                accepted.append(attempt)
            else:
                rejections.append(Rejection(claim.job_id, claim.fence, reason))
        reply = ClaimReply(
            worker_id=self.worker_id, incarnation=self.incarnation, accepted=accepted, rejections=rejections
        )
        return reply, start

    def _reason_against(self, queue: str, claim: Claim) -> RejectionReason | None:
        if self.draining:
            return "draining"
        if claim.job_type not in self._handlers:
            return "unknown_type"
        if self._queues and queue not in self._queues:
            return "queue"
        if claim.job_id in self._running:
            return "duplicate"
        return "full" if len(self._running) >= self._max_concurrency else None

    def _remember(self, attempt: Attempt, reason: RejectionReason | None) -> None:
        self._decisions[attempt] = reason
        if len(self._decisions) > max(REMEMBERED_DECISIONS, 4 * self._max_concurrency):
            self._decisions.popitem(last=False)

    # -- attempts ------------------------------------------------------------------------------------------------------

    def progress(self, attempt: Attempt, percent: float, message: str) -> None:
        """The handler reported; of several reports between two messages the last one is told, its text cut."""
        if self._running.get(JobId(attempt.job_id)) == attempt and attempt not in self._over:
            self._to_tell[attempt] = AttemptEvent(
                "progress", attempt.job_id, attempt.fence, percent=percent, message=message[:MAX_PROGRESS_TEXT]
            )

    def ended(self, event: AttemptEvent, now: float, *, frees_slot: bool = True) -> None:
        """The attempt ended so. Its slot is free, unless its handler cannot be stopped and still runs."""
        attempt = Attempt(event.job_id, event.fence)
        if attempt not in self._over and self._running.get(JobId(event.job_id)) == attempt:
            self._over.add(attempt)
            untold = self._to_tell.get(attempt)
            if untold is not None:  # a report right before the end: it travels with the end
                event = msgspec.structs.replace(event, percent=untold.percent, message=untold.message)
            self._unacknowledged[attempt] = _Unacknowledged(event, now)
            self._to_tell[attempt] = event
        if frees_slot:
            self.freed(attempt)

    def freed(self, attempt: Attempt) -> None:
        """The attempt does not run any more."""
        if self._running.get(JobId(attempt.job_id)) == attempt:
            del self._running[JobId(attempt.job_id)]
            self._over.discard(attempt)

    def on_control(self, message: ControlMessage) -> Orders:
        """Take in what the scheduler orders."""
        if message.incarnation != self.incarnation:
            return Orders([], [], heartbeat=False)
        for attempt in message.acknowledged:
            self._forget(attempt)
        for attempt in message.abandon:
            self._forget(attempt)
            if self._running.get(JobId(attempt.job_id)) == attempt:
                self._over.add(attempt)
        for attempt in message.cancel:
            if attempt not in self._decisions:
                self._remember(attempt, "cancelled")  # its claim is lost or late, and shall not start it
        if message.report:
            self._report = message.report
        running = self._running
        return Orders(
            [attempt for attempt in message.cancel if running.get(JobId(attempt.job_id)) == attempt],
            [attempt for attempt in message.abandon if running.get(JobId(attempt.job_id)) == attempt],
            heartbeat=bool(message.report),
        )

    def _forget(self, attempt: Attempt) -> None:
        self._unacknowledged.pop(attempt, None)
        self._to_tell.pop(attempt, None)

    # -- telling -------------------------------------------------------------------------------------------------------

    def tell_all_again(self, now: float) -> None:
        """The scheduler may have missed what was told."""
        for attempt, waiting in self._unacknowledged.items():
            waiting.told_at = now
            self._to_tell[attempt] = waiting.event

    def tell_overdue_again(self, now: float) -> None:
        """Repeat the ends whose acknowledgement is overdue."""
        for attempt, waiting in self._unacknowledged.items():
            if now - waiting.told_at >= TELL_AGAIN_AFTER:
                waiting.told_at = now
                self._to_tell[attempt] = waiting.event

    def take_events(self) -> list[EventBatch]:
        """All there is to tell, in messages of bounded size."""
        batches: list[EventBatch] = []
        part: list[AttemptEvent] = []
        size = 0
        for event in self._to_tell.values():
            event_size = _size(event)
            if part and (len(part) >= EVENTS_PER_MESSAGE or size + event_size > BYTES_PER_MESSAGE):
                batches.append(self._batch(part))
                part, size = [], 0
            part.append(event)
            size += event_size
        if part:
            batches.append(self._batch(part))
        self._to_tell.clear()
        return batches

    def _batch(self, events: list[AttemptEvent]) -> EventBatch:
        return EventBatch(worker_id=self.worker_id, incarnation=self.incarnation, events=events)

    def heartbeat(self) -> WorkerHeartbeat:
        held = dict.fromkeys(self._running.values())
        held.update(dict.fromkeys(self._unacknowledged))
        return WorkerHeartbeat(
            self.worker_id,
            self.incarnation,
            self.connection,
            is_online=True,
            draining=self.draining,
            queues=self._queues,
            job_types=self._handlers,
            active=len(self._running),
            max_concurrency=self._max_concurrency,
            interval=self._interval,
            held=tuple(HeldAttempt(JobId(attempt.job_id), attempt.fence) for attempt in held),
            report=self._report,
        )

    def farewell(self, connection: int) -> WorkerHeartbeat:
        """The offline notice: the Will of this connection, and the good-bye of a graceful stop."""
        return WorkerHeartbeat(self.worker_id, self.incarnation, connection, is_online=False)

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def unacknowledged(self) -> int:
        return len(self._unacknowledged)


def _size(event: AttemptEvent) -> int:
    """Bytes of *event* in a message, estimated; text counts threefold, for what is not ASCII."""
    size = 300 + len(bytes(event.result)) + 3 * len(event.message)
    if event.failure is not None:
        failure = event.failure
        names = sum(map(len, failure.error_bases))
        size += 3 * (len(failure.message) + len(failure.traceback) + len(failure.error_type) + names)
    return size
