"""Workers come, go silent, die, return: what that means for the jobs they had.

* A process that is lost (Will, deadline, or a newer process under its id) loses all its attempts at once.
* A process that (re)appears is asked for a *report*: a heartbeat made after everything sent before it was seen. A
  RUNNING job that the report does not show is lost; a DISPATCHED one is simply offered again.
* While this scheduler has no connection itself, or its line is suspect (:mod:`.link`), nobody is lost.
* An attempt that a heartbeat shows, and that is not the current one of its job, is abandoned.
"""

from __future__ import annotations

from typing import Final

from beskar_jobs.core import transitions
from beskar_jobs.core.scheduling.dispatching import Dispatching
from beskar_jobs.core.scheduling.link import LinkWatch
from beskar_jobs.core.scheduling.records import Purpose, Question, Tracked, WorkerCame, WorkerGone
from beskar_jobs.core.scheduling.state import SchedulerState
from beskar_jobs.core.workers import WorkerEntry
from beskar_jobs.model.job import Job, JobId, JobStatus, WorkerRef
from beskar_jobs.model.presence import HeldAttempt, WorkerHeartbeat
from beskar_jobs.ports.clock import Now
from beskar_jobs.wire.messages import Attempt

START_GRACE: Final = 6.0
"""Seconds that workers have to show themselves, after a scheduler's start or its return to the broker, before their
jobs count as lost. More than the longest pause between two of their attempts to connect (``reconnect_cap``)."""
CONTRADICTION: Final = 1.0
"""Seconds that a worker has to contradict an offline notice that the broker kept from before this scheduler's start."""
REPORT_TIMEOUT: Final = 2.0
OVERSLEPT: Final = 1.0
"""Seconds by which a deadline may be found passed. More than that, and it was this process that slept (a stopped
process, a suspended host): heartbeats wait unread, and nobody is lost for it."""
LAST_LOOK: Final = 0.2
"""Seconds between a deadline and the verdict. A process that was stopped for a moment may find its timers due before it
has read what came in meanwhile; so a passed deadline is looked at twice, with time to read in between."""


class Presence:
    def __init__(self, state: SchedulerState, dispatching: Dispatching) -> None:
        self._state = state
        self._dispatching = dispatching
        self._unseen: dict[WorkerRef, float] = {}
        self._reports = 0
        self._expected: dict[WorkerRef, tuple[str, float, set[HeldAttempt]]] = {}
        self._cut_off = False
        self._verdict_at: float | None = None
        self.link = LinkWatch()

    def expect(self, now: Now) -> None:
        """After a start: the workers that storage names have a while to show themselves."""
        self._unseen = dict.fromkeys(self._state.ledger.worker_refs(), now.monotonic + START_GRACE)

    def on_heartbeat(self, heartbeat: WorkerHeartbeat, now: Now) -> None:
        ref = WorkerRef(heartbeat.worker_id, heartbeat.incarnation)
        before = self._state.workers.find(ref)
        change = self._state.workers.on_heartbeat(heartbeat, now.monotonic)
        stranger = before is None and not heartbeat.is_online  # a notice kept by the broker; old news, mostly
        if change.lost is not None and not (stranger and not self._state.ledger.with_worker(change.lost)):
            if stranger:
                # Which connection the notice is of cannot be told; if its worker lives, it contradicts at once.
                self._unseen[ref] = min(self._unseen.get(ref, float("inf")), now.monotonic + CONTRADICTION)
            elif not heartbeat.is_online and self.link.distrusts_wills(now.monotonic):
                self._unseen[ref] = now.monotonic + START_GRACE
            else:
                self._lost(change.lost, change.lost_reason, now, before if change.lost == ref else None)
        if change.arrived is not None:
            if before is None:
                self._state.notable.append(WorkerCame(heartbeat))
            self._arrived(change.arrived, now)
        entry = self._state.workers.find(ref)
        if entry is not None and entry.heartbeat is heartbeat:
            self._compare(entry, now)

    def _arrived(self, entry: WorkerEntry, now: Now) -> None:
        ref = entry.ref
        self._unseen.pop(ref, None)
        for other in self._state.ledger.worker_refs():
            # Only of earlier ones: this may be a stale notice of a process that has a successor.
            if other.worker_id == ref.worker_id and other.incarnation < ref.incarnation:
                self._lost(other, "its worker was started anew", now)
        self.ask_report(entry, now)
        for tracked in self._state.ledger.with_worker(ref):
            self._take_up(tracked, entry, now)

    def _take_up(self, tracked: Tracked, entry: WorkerEntry, now: Now) -> None:
        """What is in hand is with a worker that is there."""
        job = tracked.job
        entry.held.add(job.id)
        if job.status is JobStatus.DISPATCHED and tracked.claim_sent:
            self._dispatching.offer(job, now)
        elif job.cancel_requested:
            self._state.outbox.control(entry.ref).cancel.append(Attempt(job.id, job.fence))

    def adopt(self, job: Job, now: Now) -> None:
        """Take up an active job that storage shows, and that was not in hand: it is another scheduler's claim."""
        tracked = self._state.ledger.track(job)
        tracked.claim_sent = True
        if job.worker is None:
            return
        entry = self._state.workers.find(job.worker)
        if entry is None:
            self._unseen.setdefault(job.worker, now.monotonic + START_GRACE)
        else:
            self._take_up(tracked, entry, now)
            self.ask_report(entry, now)

    def ask_report(self, entry: WorkerEntry, now: Now) -> None:
        """Have this worker show what it holds."""
        running = {
            HeldAttempt(tracked.job.id, tracked.job.fence)
            for tracked in self._state.ledger.with_worker(entry.ref)
            if tracked.job.status is JobStatus.RUNNING
        }
        self._reports += 1
        token = f"report-{self._reports}-{now.monotonic:.3f}"
        self._expected[entry.ref] = (token, now.monotonic + REPORT_TIMEOUT, running)
        self._state.outbox.control(entry.ref).report = token

    def cut_off(self) -> None:
        """This scheduler hears nobody, so nobody's silence means anything."""
        self._cut_off = True

    def connected(self, now: Now) -> None:
        """It hears again. All have a fresh deadline; messages may have been lost both ways, so all are asked."""
        self._cut_off = False
        self.link.connected(now.monotonic)
        self._renew_all(now)
        for entry in self._state.workers.online():
            self._arrived(entry, now)

    def echoed(self, now: Now) -> None:
        """The scheduler's own presence came back from the broker."""
        if self.link.echoed(now.monotonic):
            self._state.counters["broker stood still"] += 1
            self._renew_all(now)

    def _renew_all(self, now: Now) -> None:
        """Give everybody a fresh deadline: it was not their silence.

        Workers may have been cut off too, and come back by a back-off of their own, whatever their heartbeat's
        interval.
        """
        self._verdict_at = None
        self._state.workers.renew_all(now.monotonic, at_least=START_GRACE)
        self._unseen = dict.fromkeys(self._unseen, now.monotonic + START_GRACE)

    def _compare(self, entry: WorkerEntry, now: Now) -> None:
        """Hold what the heartbeat shows against what is in hand."""
        ref = entry.ref
        shown = set(entry.heartbeat.held)
        expected = self._expected.get(ref)
        if expected is not None:
            token, deadline, running = expected
            if entry.heartbeat.report == token:
                del self._expected[ref]
                for attempt in running - shown:
                    self._lose(attempt.job_id, attempt.fence, ref, "its worker does not hold it any more", now)
            elif now.monotonic >= deadline:
                self.ask_report(entry, now)
        for attempt in shown:
            tracked = self._state.ledger.get(attempt.job_id)
            if tracked is None:
                self._state.questions.append(
                    Question(Purpose.HELD, attempt.job_id, Attempt(attempt.job_id, attempt.fence), ref)
                )
            elif tracked.job.status.is_active:
                self._dispatching.accepted(Attempt(attempt.job_id, attempt.fence), ref, now)

    def advance(self, now: Now) -> None:
        """Lose those whose time is over."""
        if self._cut_off:
            return
        deadline = self._judgement_at()
        if deadline is not None and self.link.wants_echo(now.monotonic):
            self._state.echo_wanted = True
        if self.link.is_suspect(now.monotonic) or deadline is None or now.monotonic < deadline:
            return
        if now.monotonic - deadline > OVERSLEPT:
            self._state.counters["overslept"] += 1
            self._renew_all(now)
        elif self._verdict_at is None:
            self._verdict_at = now.monotonic + LAST_LOOK
        else:
            passed, self._verdict_at = self._verdict_at - LAST_LOOK, None
            for ref in self._state.workers.expire(passed):
                self._lost(ref, "its worker has gone silent", now)
            for ref in [ref for ref, unseen_until in self._unseen.items() if unseen_until <= passed]:
                self._lost(ref, "its worker did not show itself", now)

    def next_deadline(self, now: Now) -> float | None:
        if self._cut_off:
            return None
        # A suspect line is not judged by, so no judgement falls due before it has cleared up.
        judgement = None if self.link.is_suspect(now.monotonic) else self._judgement_at()
        echo = None if self._judgement_at() is None else self.link.next_deadline()
        return min((deadline for deadline in (judgement, echo) if deadline is not None), default=None)

    def _judgement_at(self) -> float | None:
        """When somebody's time is over, or is to be looked at once more."""
        if self._verdict_at is not None:
            return self._verdict_at
        deadlines = list(self._unseen.values())
        if (workers := self._state.workers.next_deadline()) is not None:
            deadlines.append(workers)
        return min(deadlines, default=None)

    def _lost(self, ref: WorkerRef, reason: str, now: Now, entry: WorkerEntry | None = None) -> None:
        self._unseen.pop(ref, None)
        self._expected.pop(ref, None)
        self._state.counters["workers lost"] += 1
        had = list(self._state.ledger.with_worker(ref))
        for tracked in had:
            self._lose(tracked.job.id, tracked.job.fence, ref, f"{reason} ({ref.worker_id})", now)
        restarted = sum(1 for tracked in had if tracked.job.status is JobStatus.ENQUEUED)
        in_order = entry is not None and entry.heartbeat.draining and not had
        self._state.notable.append(WorkerGone(ref, reason, in_order, len(had), restarted))

    def _lose(self, job_id: JobId, fence: int, ref: WorkerRef, reason: str, now: Now) -> None:
        tracked = self._state.ledger.get(job_id)
        if tracked is None or tracked.job.fence != fence or tracked.job.worker != ref:
            return
        entry = self._state.workers.find(ref)
        if entry is not None:
            entry.held.discard(job_id)
        if tracked.job.status is JobStatus.DISPATCHED and not tracked.claim_sent:
            # Nobody has heard of it yet, so nothing crashed on it.
            self._state.ledger.write(transitions.not_held(tracked.job, fence, reason, now.wall))
            return
        self._state.counters["attempts lost"] += 1
        self._state.ledger.write(transitions.lose(tracked.job, reason, now.wall))
