"""From ready jobs to claims: who is offered what, and what the answer means.

A claim goes out only after it is committed (DISPATCHED, with a new fence). If the answer does not come, the same claim
is offered again to the same worker, which remembers how it decided; it is never offered to a second worker while the
first may hold it. That ends when the worker answers, or is lost.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection
from typing import Final

from beskar_jobs.core import transitions
from beskar_jobs.core.lanes import REFILL, LaneHead
from beskar_jobs.core.policy import resolve_policy
from beskar_jobs.core.scheduling.records import Purpose, Question, ReadLane
from beskar_jobs.core.scheduling.state import SchedulerState
from beskar_jobs.core.workers import WorkerEntry
from beskar_jobs.model.job import Job, JobId, JobStatus, WorkerId, WorkerRef
from beskar_jobs.ports.clock import Now
from beskar_jobs.ports.storage import Lane
from beskar_jobs.wire.messages import Attempt, ClaimReply, Rejection

CLAIM_TIMEOUT: Final = 2.0
"""Seconds after which an unanswered claim is offered again."""


class Dispatching:
    def __init__(self, state: SchedulerState) -> None:
        self._state = state
        self._unanswered: deque[tuple[float, JobId, int]] = deque()

    def dispatch(self, now: Now) -> None:
        """Give every free slot a job, as long as there are jobs for it."""
        free = self._state.workers.total_free_slots()
        known = self._state.workers.known_types() if free > 0 else None
        for queue in self._state.lanes.queues() if free > 0 else ():
            free = self._dispatch_queue(queue, free, known, now)
            if free <= 0:
                return

    def _dispatch_queue(self, queue: str, free: int, known: Collection[str] | None, now: Now) -> int:
        heap: list[tuple[tuple[object, ...], int, Lane, LaneHead, list[WorkerEntry]]] = []
        for index, (lane, head) in enumerate(self._state.lanes.in_queue(queue)):
            if known is not None and lane.job_type not in known:
                continue  # a lane that waits for its worker must cost next to nothing: there may be thousands
            candidates = self._state.workers.candidates(lane)
            if candidates and (first := self._first(lane, head)) is not None:
                heap.append((first.order, index, lane, head, candidates))
        heapq.heapify(heap)
        while heap and free > 0:
            _, index, lane, head, candidates = heap[0]
            worker = self._state.workers.choose(candidates)
            if worker is None:
                heapq.heappop(heap)
                continue
            job = head.pop()
            if job is not None and self._state.ledger.get(job.id) is None:
                self._claim(job, worker, now)
                free -= 1
            if (first := self._first(lane, head)) is None:
                heapq.heappop(heap)
            else:
                heapq.heapreplace(heap, (first.order, index, lane, head, candidates))
        return free

    def _first(self, lane: Lane, head: LaneHead) -> Job | None:
        if head.wants_refill():
            self._state.reads.append(ReadLane(lane, REFILL))
        return head.first()

    def _claim(self, job: Job, worker: WorkerEntry, now: Now) -> None:
        policy = job.policy or resolve_policy(job.spec, worker.declared(job.job_type), self._state.default_retry)
        worker.held.add(job.id)
        self._state.ledger.write(transitions.claim(job, worker.ref, policy, now.wall))

    def offer(self, job: Job, now: Now) -> None:
        """Send the committed claim of *job*, for the first time or again.

        The claim of a job that is cancelled meanwhile is offered all the same, for the worker may have it already; but
        behind the cancellation, so that a worker to which it is news refuses it.
        """
        if job.cancel_requested and job.worker is not None:
            self._state.outbox.control(job.worker).cancel.append(Attempt(job.id, job.fence))
        self._state.outbox.claim(job)
        self._unanswered.append((now.monotonic + CLAIM_TIMEOUT, job.id, job.fence))

    def offer_again(self, now: Now) -> None:
        """Repeat the claims whose answer is overdue."""
        while self._unanswered and self._unanswered[0][0] <= now.monotonic:
            _, job_id, fence = self._unanswered.popleft()
            tracked = self._state.ledger.get(job_id)
            if tracked is None or tracked.job.status is not JobStatus.DISPATCHED or tracked.job.fence != fence:
                continue
            if tracked.job.worker is not None and self._state.workers.find(tracked.job.worker) is not None:
                self._state.counters["claims repeated"] += 1
                self.offer(tracked.job, now)

    def next_deadline(self) -> float | None:
        return self._unanswered[0][0] if self._unanswered else None

    def on_claim_reply(self, reply: ClaimReply, now: Now) -> None:
        ref = WorkerRef(WorkerId(reply.worker_id), reply.incarnation)
        worker = self._state.workers.heard_from(ref, now.monotonic)
        for attempt in reply.accepted:
            self.accepted(attempt, ref, now)
        for rejection in reply.rejections:
            self._rejected(rejection, ref, worker, now)

    def accepted(self, attempt: Attempt, ref: WorkerRef, now: Now) -> None:
        """The worker says that it holds *attempt*."""
        tracked = self._state.ledger.get(JobId(attempt.job_id))
        if tracked is None:
            self._state.questions.append(Question(Purpose.HELD, JobId(attempt.job_id), attempt, ref))
        elif tracked.job.fence != attempt.fence or tracked.job.worker not in (ref, None):
            self._state.counters["stale attempts abandoned"] += 1
            self._state.outbox.control(ref).abandon.append(attempt)
        elif tracked.job.status is JobStatus.DISPATCHED and tracked.claim_sent:
            self._state.ledger.write(transitions.accept(tracked.job, attempt.fence, now.wall))

    def _rejected(self, rejection: Rejection, ref: WorkerRef, worker: WorkerEntry | None, now: Now) -> None:
        tracked = self._state.ledger.get(JobId(rejection.job_id))
        if tracked is None or tracked.job.worker != ref or tracked.job.fence != rejection.fence:
            return
        job = tracked.job
        if job.status is not JobStatus.DISPATCHED or not tracked.claim_sent:
            return
        self._state.counters["claims rejected"] += 1
        if worker is not None:
            worker.held.discard(job.id)
            if rejection.reason in ("unknown_type", "queue"):
                worker.refused.add(Lane(job.queue, job.job_type))
            elif rejection.reason != "cancelled":
                worker.full_until_heartbeat = True
        reason = f"rejected by {ref.worker_id}: {rejection.reason}"
        self._state.ledger.write(transitions.not_held(job, rejection.fence, reason, now.wall))
