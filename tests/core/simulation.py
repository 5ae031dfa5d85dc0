"""A whole cluster in one thread: the real scheduler and worker sessions, a dict for a storage, and a broker that is
only a delay. One seed decides everything: what is lost, doubled, late; who crashes when; how long handlers run.

What a run checks while it goes on (an ``AssertionError`` ends it):

* an attempt, a job and its fence, is started once in the whole cluster, by one process;
* no worker process ever runs more than its slots;
* a job's stored versions grow, its fence never falls, and an ended job never changes again.

After a while the faults end; :meth:`Cluster.verify` then holds the rest: every job that a client was promised is there,
every job ended, a result is the one of the attempt whose fence is stored, and nothing is left in anybody's memory.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import pairwise

import attrs
import msgspec

from beskar_jobs.core.scheduling import Batch, ReadDue, ReadJobs, ReadLane, Reply, SchedulerSession, Send
from beskar_jobs.core.scheduling.records import Read
from beskar_jobs.core.working import WorkerSession
from beskar_jobs.model.job import FailureKind, JobFailure, JobId, JobStatus, WorkerId
from beskar_jobs.model.presence import HandlerPolicy, WorkerHeartbeat
from beskar_jobs.model.retry import Retry
from beskar_jobs.ports.clock import Now
from beskar_jobs.ports.storage import CommitOutcome
from beskar_jobs.wire.messages import (
    Attempt,
    AttemptEvent,
    CancelReply,
    Claim,
    ClaimReply,
    ClaimRequest,
    ControlMessage,
    EnqueueCommand,
    EnqueueReply,
    EventBatch,
    Message,
    UpdatesMessage,
)
from beskar_jobs.wire.topics import TopicKind
from tests.core.harness import T0, TOPICS, DictStorage, item

INTERVAL = 2.0
HEARTBEAT_EXPIRY = 10.0
CLIENT_PATIENCE = 1.5
TYPES = {
    "plain": HandlerPolicy(max_crashes=1000),
    "flaky": HandlerPolicy(retry=Retry(5, delays=[0.1, 1.0], jitter=0.5), max_crashes=1000),
    "fragile": HandlerPolicy(restart_on_crash=False),
    "budget": HandlerPolicy(retry=Retry(1), max_crashes=2),
}


@attrs.frozen
class Faults:
    """How bad the world is, until *until*.

    Attributes:
        lost, doubled: probability per message.
        lag: longest delay of a message in seconds; storage is about as slow.
        worker_crashes, worker_cuts, scheduler_crashes, scheduler_sleeps: how many, at random times. A scheduler that
            sleeps (a stopped process) hears everything late, at once.
        drains: workers that stop gracefully, and come back as new processes.
        cancels, unstoppable: probability per job; the handler of the latter outlives its time-out.
    """

    until: float = 25.0
    lost: float = 0.0
    doubled: float = 0.0
    lag: float = 0.01
    worker_crashes: int = 0
    worker_cuts: int = 0
    scheduler_crashes: int = 0
    scheduler_sleeps: int = 0
    drains: int = 0
    cancels: float = 0.0
    unstoppable: float = 0.0


class Worker:
    """One worker process, and what its handlers do."""

    def __init__(self, cluster: Cluster, worker_id: str, slots: int, types: list[str]) -> None:
        self.cluster = cluster
        self.worker_id = WorkerId(worker_id)
        self.slots = slots
        self.alive = True
        self.connected = True
        self.told: set[Attempt] = set()
        self.stopped: set[Attempt] = set()
        self.schedulers: set[int] = set()
        self.session = WorkerSession(
            self.worker_id,
            f"{cluster.next_number():06}",
            queues=(),
            handlers={job_type: TYPES[job_type] for job_type in types},
            max_concurrency=slots,
            interval=INTERVAL,
        )
        self.session.connection = 1
        self.types = types
        self.beat()

    def beat(self) -> None:
        if self.alive:
            self.session.tell_overdue_again(self.cluster.time)
            self.say_heartbeat()
            self.flush()
            self.cluster.at(INTERVAL, self.beat)

    def say_heartbeat(self) -> None:
        if self.connected:
            self.cluster.publish_presence(self, self.session.heartbeat())

    def flush(self) -> None:
        for batch in self.session.take_events():
            self.cluster.to_scheduler(self, batch)

    def on_message(self, queue: str, message: Message) -> None:
        if not (self.alive and self.connected):
            return
        if isinstance(message, ClaimRequest):
            reply, start = self.session.on_claims(queue, message)
            for claim in start:
                self._start(claim)
            assert self.session.running <= self.slots, f"{self.worker_id} runs more than {self.slots}"
            if reply is not None:
                self.cluster.to_scheduler(self, reply)
        elif isinstance(message, ControlMessage):
            for attempt in message.acknowledged:
                stored = self.cluster.storage.jobs[JobId(attempt.job_id)]
                still_open = stored.fence == attempt.fence and stored.status.is_active
                assert not still_open, f"{attempt} is acknowledged before its end is stored"
            orders = self.session.on_control(message)
            for attempt in orders.cancel:
                self._stop(attempt, "cancelled")
            for attempt in orders.abandon:
                self._stop(attempt, None)
            if orders.heartbeat:
                self.say_heartbeat()
        self.flush()

    def on_scheduler(self, number: int) -> None:
        """A scheduler started."""
        if self.alive and self.connected and number not in self.schedulers:
            self.schedulers.add(number)
            self.session.tell_all_again(self.cluster.time)
            self.flush()

    def _start(self, claim: Claim) -> None:
        attempt = Attempt(claim.job_id, claim.fence)
        self.cluster.note_start(attempt, self)
        rng = self.cluster.rng
        end = rng.choice([0.0, rng.uniform(0.0, 0.5), rng.uniform(0.0, 6.0)])
        if rng.random() < 0.3:
            self.cluster.at(end * 0.5, lambda: self._report(attempt))
        if claim.job_type in ("flaky", "budget") and rng.random() < 0.4:
            failure = JobFailure(FailureKind.EXCEPTION, "no luck", "E", ("E",))
            event = AttemptEvent("failed", *_of(attempt), failure=failure)
        else:
            result = msgspec.Raw(f'"{attempt.job_id}/{attempt.fence}"'.encode())
            event = AttemptEvent("succeeded", *_of(attempt), result=result)
        if (
            rng.random() < self.cluster.faults.unstoppable
        ):  # a handler that cannot be stopped runs out of time: told now, its slot free later
            late = JobFailure(FailureKind.TIMEOUT, "ran too long")
            self.cluster.at(end, lambda: self._end(AttemptEvent("failed", *_of(attempt), failure=late), frees=False))
            self.cluster.at(end + 1.0, lambda: self._end(event))
        else:
            self.cluster.at(end, lambda: self._end(event))

    def _report(self, attempt: Attempt) -> None:
        if self.alive:
            self.session.progress(attempt, 50.0, "half")
            self.flush()

    def _stop(self, attempt: Attempt, kind: str | None) -> None:
        if kind is None:
            self.stopped.add(attempt)
            self.cluster.at(0.01, lambda: self.session.freed(attempt))
        elif self.cluster.rng.random() < 0.8:
            self.cluster.at(0.01, lambda: self._end(AttemptEvent("cancelled", *_of(attempt))))

    def release_all(self) -> None:
        for attempt in list(self.session.heartbeat().held):
            self._end(AttemptEvent("released", attempt.job_id, attempt.fence))

    def _end(self, event: AttemptEvent, *, frees: bool = True) -> None:
        if not self.alive:
            return
        attempt = Attempt(event.job_id, event.fence)
        if attempt in self.told or attempt in self.stopped:
            if frees:
                self.session.freed(attempt)
            return
        self.told.add(attempt)
        self.session.ended(event, self.cluster.time, frees_slot=frees)
        self.flush()


def _of(attempt: Attempt) -> tuple[str, int]:
    return attempt.job_id, attempt.fence


class Cluster:
    """Everything; :meth:`run` it, then :meth:`verify`."""

    def __init__(self, seed: int, faults: Faults, *, jobs: int = 30, workers: int = 3) -> None:
        self.rng = random.Random(seed)
        self.faults = faults
        self.time = 0.0
        self.numbers = 0
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.storage = DictStorage()
        self.started: dict[Attempt, Worker] = {}
        self.retained: dict[str, tuple[float, WorkerHeartbeat]] = {}
        self.link_free: dict[tuple[str, str], float] = {}
        self.promised: set[str] = set()
        self.unanswered_cancels: set[str] = set()
        self.asleep_until = 0.0
        self.rejections = 0
        self.ends_told: Counter[str] = Counter()
        self.enqueues: Counter[str] = Counter()
        self.session: SchedulerSession
        self.generation = 0
        self.scheduler_up = False
        self.committing = False
        self.under_way: Batch | None = None
        self.wake_at = float("inf")
        self.start_scheduler()
        self.workers: dict[str, Worker] = {}
        for index in range(workers):
            types = list(TYPES) if index == 0 else self.rng.sample(list(TYPES), 2)
            self._new_worker(f"w{index}", self.rng.randint(1, 4), types)
        self._plan(jobs)

    def _plan(self, jobs: int) -> None:
        rng, faults = self.rng, self.faults
        for index in range(jobs):
            job_id = f"j{index}"
            delay = rng.choice([None, None, rng.uniform(0, 10)])
            wanted = item(
                job_id, rng.choice(list(TYPES)), rng.choice(["a", "b"]), delay=delay, priority=rng.choice([0, 0, 5])
            )
            start = rng.uniform(0, faults.until * 0.7)
            command = EnqueueCommand(items=[wanted], watcher="c")
            self.at(start, partial(self._enqueue, command))
            if rng.random() < faults.cancels:
                self.at(start + rng.uniform(0, 8), partial(self._cancel, job_id))
        for _ in range(faults.worker_crashes):
            self.at(rng.uniform(0, faults.until), self._crash_worker)
        for _ in range(faults.worker_cuts):
            self.at(rng.uniform(0, faults.until), self._cut_worker)
        for _ in range(faults.scheduler_crashes):
            self.at(rng.uniform(0, faults.until), self._crash_scheduler)
        for _ in range(faults.scheduler_sleeps):
            self.at(rng.uniform(0, faults.until), self._put_scheduler_to_sleep)
        for _ in range(faults.drains):
            self.at(rng.uniform(0, faults.until), self._drain_worker)

    # -- time ----------------------------------------------------------------------------------------------------------

    def next_number(self) -> int:
        self.numbers += 1
        return self.numbers

    def at(self, delay: float, action: Callable[[], None]) -> None:
        heapq.heappush(self.events, (self.time + delay, self.next_number(), action))

    @property
    def now(self) -> Now:
        return Now(T0 + timedelta(seconds=self.time), 1000.0 + self.time)

    @property
    def in_trouble(self) -> bool:
        return self.time < self.faults.until

    def run(self, until: float = 200.0) -> None:
        """Until all jobs ended and all is told, or until *until*."""
        look = self.faults.until
        while self.events and self.time < until:
            self.time, _, action = heapq.heappop(self.events)
            action()
            if self.time > look:
                look = self.time + 3.0
                if self._is_over():
                    return

    def _is_over(self) -> bool:
        return (
            self.storage.all_ended
            and self.promised == self.asked
            and not self.unanswered_cancels
            and not any(worker.session.unacknowledged or worker.session.running for worker in self.workers.values())
        )

    @property
    def asked(self) -> set[str]:
        return {str(job_id) for job_id in self.storage.jobs} | self.promised

    # -- the broker ----------------------------------------------------------------------------------------------------

    def _carry(self, link: tuple[str, str], deliver: Callable[[], None]) -> None:
        """One message: in order on its link, or lost, or twice - the second time at any later time."""
        rng, faults = self.rng, self.faults
        lag = rng.uniform(0.0005, faults.lag if self.in_trouble else 0.01)
        arrival = max(self.link_free.get(link, 0.0), self.time + lag)
        self.link_free[link] = arrival
        if not (self.in_trouble and rng.random() < faults.lost):
            self.at(arrival - self.time, deliver)
        if self.in_trouble and rng.random() < faults.doubled:
            self.at(arrival - self.time + rng.expovariate(1.0), deliver)

    def to_scheduler(self, worker: Worker, message: ClaimReply | EventBatch) -> None:
        if isinstance(message, ClaimReply):
            self.rejections += len(message.rejections)
        if worker.connected:
            self._carry((worker.worker_id, "s"), lambda: self._scheduler_hears(message))

    def _when_awake(self, action: Callable[[], None]) -> bool:
        """Whether the scheduler can be spoken to now; if it sleeps, *action* comes when it wakes."""
        if self.time < self.asleep_until:
            self.at(self.asleep_until - self.time, action)
            return False
        return self.scheduler_up

    def _scheduler_hears(self, message: Message) -> None:
        if not self._when_awake(lambda: self._scheduler_hears(message)):
            return
        if isinstance(message, ClaimReply):
            self.session.on_claim_reply(message, self.now)
        elif isinstance(message, EventBatch):
            self.session.on_events(message, self.now)
        self.step()

    def publish_presence(self, worker: Worker, heartbeat: WorkerHeartbeat) -> None:
        def hear() -> None:
            if self._when_awake(hear):
                self.session.on_heartbeat(heartbeat, self.now)
                self.step()

        def deliver() -> None:
            self.retained[heartbeat.worker_id] = (self.time, heartbeat)
            hear()
            process = self.workers.get(heartbeat.worker_id)
            if not heartbeat.is_online and process is not None and process.alive:
                process.say_heartbeat()  # the last will of an earlier process or connection

        self._carry((worker.worker_id, "s"), deliver)

    def _send(self, send: Send) -> None:
        topic = TOPICS.parse(send.topic)
        assert topic is not None
        message = send.message
        if topic.kind in (TopicKind.DISPATCH, TopicKind.CONTROL):
            name = topic.names[-1] if topic.kind is TopicKind.DISPATCH else topic.name
            queue = topic.names[0] if topic.kind is TopicKind.DISPATCH else ""
            self._carry(("s", name), lambda: self.workers[name].on_message(queue, message))
        elif topic.kind is TopicKind.CLIENT_REPLIES:
            job_id = (send.correlation or b"").decode()
            self._carry(("s", "c"), lambda: self._client_hears(job_id, message))
        else:
            assert isinstance(message, UpdatesMessage)
            self.ends_told.update(status.id for status in message.jobs if status.status.is_terminal)

    # -- clients -------------------------------------------------------------------------------------------------------

    def _enqueue(self, command: EnqueueCommand) -> None:
        """Ask, and ask again until there is an answer."""
        job_id = command.items[0].id
        if job_id in self.promised:
            return
        reply = Reply(TOPICS.client_replies("c"), job_id.encode())

        def deliver() -> None:
            if self._when_awake(deliver):
                self.enqueues[job_id] += 1
                self.session.on_enqueue(command, reply, self.now)
                self.step()

        self._carry(("c", "s"), deliver)
        self.at(CLIENT_PATIENCE, lambda: self._enqueue(command))

    def _cancel(self, job_id: str) -> None:
        if job_id not in self.promised:
            return
        self.unanswered_cancels.add(job_id)
        self._ask_cancel(job_id)

    def _ask_cancel(self, job_id: str) -> None:
        if job_id not in self.unanswered_cancels:
            return
        reply = Reply(TOPICS.client_replies("c"), job_id.encode())

        def deliver() -> None:
            if self._when_awake(deliver):
                self.session.on_cancel(JobId(job_id), "not wanted", reply, self.now)
                self.step()

        self._carry(("c", "s"), deliver)
        self.at(CLIENT_PATIENCE, lambda: self._ask_cancel(job_id))

    def _client_hears(self, job_id: str, message: Message) -> None:
        if isinstance(message, EnqueueReply):
            assert not message.error, message
            assert all(exception.outcome == "exists" for exception in message.exceptions), message
            assert JobId(job_id) in self.storage.jobs, f"{job_id} was promised before it was stored"
            self.promised.add(job_id)
        elif isinstance(message, CancelReply):
            stored = self.storage.jobs[JobId(job_id)]
            assert not message.error, message
            if message.outcome == "cancelled":
                assert stored.status is JobStatus.CANCELLED
            elif message.outcome == "finished":
                assert stored.status.is_terminal, f"{job_id} was called finished before it was stored so"
            else:
                assert message.outcome == "requested", message
                assert stored.cancel_requested or stored.status.is_terminal
            self.unanswered_cancels.discard(job_id)

    # -- the scheduler's shell -----------------------------------------------------------------------------------------

    def start_scheduler(self) -> None:
        self.generation += 1
        self.scheduler_up, self.committing, self.wake_at = True, False, float("inf")
        rng = self.rng
        self.session = SchedulerSession("s", TOPICS, lambda: rng.uniform(-1.0, 1.0))
        self.session.load(
            active=self.storage.active(),
            lanes=self.storage.lanes(),
            last_sequence=self.storage.last_sequence(),
            next_due=self.storage.next_due(),
            now=self.now,
        )
        generation = self.generation
        for published, heartbeat in list(self.retained.values()):
            if self.time - published < HEARTBEAT_EXPIRY:
                self.at(0.01, partial(self._retained_heartbeat, generation, heartbeat))
        for name in list(getattr(self, "workers", ())):
            self._carry(("s", name), partial(self._announce, name, generation))
        self.step()

    def _announce(self, name: str, generation: int) -> None:
        self.workers[name].on_scheduler(generation)

    def _retained_heartbeat(self, generation: int, heartbeat: WorkerHeartbeat) -> None:
        if self.scheduler_up and generation == self.generation:
            self.session.on_heartbeat(heartbeat, self.now)
            self.step()

    def step(self) -> None:
        session = self.session
        session.advance(self.now)
        if session.take_echo_wanted():
            session.on_echo(self.now)
        for read in session.take_reads():
            self._read(read)
        for send in session.outbox.take():
            self._send(send)
        session.outbox.take_statuses(1_000_000)
        self._commit()
        deadline = session.next_deadline(self.now)
        wake = float("inf") if deadline is None else deadline - 1000.0
        if session.next_due is not None:
            wake = min(wake, (session.next_due - T0).total_seconds())
        wake = max(wake, self.time)
        if wake < self.wake_at or self.wake_at <= self.time:
            self.wake_at = wake
            if wake != float("inf"):
                generation = self.generation
                self.at(wake - self.time, lambda: self._wake(generation))

    def _wake(self, generation: int) -> None:
        if (
            self._when_awake(lambda: self._wake(generation))
            and generation == self.generation
            and self.wake_at <= self.time
        ):
            self.wake_at = float("inf")
            self.step()

    def _storage_delay(self) -> float:
        return self.rng.uniform(0.0, self.faults.lag if self.in_trouble else 0.01)

    def _commit(self) -> None:
        if self.committing:
            return
        session, generation = self.session, self.generation
        batch = session.take_batch()
        if batch is None:
            return
        self.committing = True

        def write() -> None:
            if self.under_way is batch:
                self.under_way = None
                outcome = self.storage.commit(batch.commit())
                self.at(self._storage_delay(), lambda: done(outcome))

        def done(outcome: CommitOutcome) -> None:
            if self._when_awake(lambda: done(outcome)) and generation == self.generation:
                self.committing = False
                session.committed(batch, outcome, self.now)
                self.step()

        self.under_way = batch
        self.at(self._storage_delay(), write)

    def _read(self, read: Read) -> None:
        """The answer is taken now and arrives later: stale, if something was committed meanwhile."""
        session, generation, storage = self.session, self.generation, self.storage

        def later(answer: Callable[[], None]) -> None:
            def arrive() -> None:
                if self._when_awake(arrive) and generation == self.generation:
                    answer()
                    self.step()

            self.at(self._storage_delay(), arrive)

        if self.in_trouble and self.rng.random() < self.faults.lost / 4:
            later(lambda: session.reading_failed(read))
            return
        match read:
            case ReadLane(lane, limit):
                ready = storage.ready(lane, limit)
                later(lambda: session.lane_loaded(lane, ready, limit))
            case ReadDue(until, limit):
                jobs = storage.due(until, limit)
                following = until if len(jobs) == limit else storage.next_due(until)
                later(lambda: session.due_loaded(jobs, following, self.now))
            case ReadJobs(questions):
                found = storage.get([question.job_id for question in questions])
                later(lambda: session.jobs_loaded(questions, found, self.now))

    # -- faults --------------------------------------------------------------------------------------------------------

    def _new_worker(self, worker_id: str, slots: int, types: list[str]) -> None:
        self.workers[worker_id] = Worker(self, worker_id, slots, types)

    def _crash_worker(self) -> None:
        worker = self.rng.choice(list(self.workers.values()))
        worker.alive = False
        will = worker.session.farewell(worker.session.connection)
        # The broker may notice late, even after the next process under this id has come.
        self.at(self.rng.choice([0.001, 0.5, 8.0]), lambda: self.publish_presence(worker, will))
        restart = self.rng.choice([0.05, 2.0, 7.0])
        self.at(restart, lambda: self._restart(worker))

    def _restart(self, worker: Worker) -> None:
        if self.workers[worker.worker_id] is worker:
            self._new_worker(worker.worker_id, worker.slots, worker.types)

    def _cut_worker(self) -> None:
        """The connection is gone for a while; the process lives on."""
        worker = self.rng.choice(list(self.workers.values()))
        if not (worker.alive and worker.connected):
            return
        worker.connected = False
        will = worker.session.farewell(worker.session.connection)
        self.at(self.rng.choice([0.001, 0.5, 8.0]), lambda: self.publish_presence(worker, will))
        self.at(self.rng.choice([0.05, 1.0, 12.0]), lambda: self._reconnect(worker))

    def _reconnect(self, worker: Worker) -> None:
        worker.connected = True
        worker.session.connection += 1
        worker.session.tell_all_again(self.time)
        if worker.alive:
            worker.say_heartbeat()
            worker.flush()

    def _crash_scheduler(self) -> None:
        if self.scheduler_up:
            self.scheduler_up, self.asleep_until = False, 0.0
            batch, self.under_way = self.under_way, None
            if batch is not None and self.rng.random() < 0.5:  # it had just reached the storage
                self.storage.commit(batch.commit())
            self.at(self.rng.choice([0.01, 1.0, 9.0]), self.start_scheduler)

    def _put_scheduler_to_sleep(self) -> None:
        if self.scheduler_up:
            self.asleep_until = self.time + self.rng.choice([0.5, 3.0, 8.0, 20.0])

    def _drain_worker(self) -> None:
        """A graceful stop: no more claims, what runs is released, then good-bye."""
        worker = self.rng.choice(list(self.workers.values()))
        if not (worker.alive and worker.connected):
            return
        worker.session.draining = True
        worker.say_heartbeat()
        self.at(1.0, lambda: self._release_all(worker))

    def _release_all(self, worker: Worker) -> None:
        if not worker.alive:
            return
        worker.release_all()
        self.at(1.0, lambda: self._say_good_bye(worker))

    def _say_good_bye(self, worker: Worker) -> None:
        if worker.alive:
            worker.alive = False
            self.publish_presence(worker, worker.session.farewell(worker.session.connection))
            self.at(0.5, lambda: self._restart(worker))

    # -- what must hold ------------------------------------------------------------------------------------------------

    def note_start(self, attempt: Attempt, worker: Worker) -> None:
        assert attempt not in self.started, f"{attempt} is started twice"
        self.started[attempt] = worker
        stored = self.storage.jobs[JobId(attempt.job_id)]
        assert attempt.fence <= stored.fence, f"{attempt} starts before its claim is stored"
        if not (self.faults.lost or self.faults.worker_cuts or self.faults.drains):
            assert stored.status is not JobStatus.CANCELLED, f"{attempt} starts after it was cancelled"

    def verify(self) -> None:
        """All that must hold once the cluster has come to rest."""
        storage = self.storage
        stuck = [f"{job.id} {job.status} {job.worker}" for job in storage.jobs.values() if not job.status.is_terminal]
        assert not stuck, f"still not ended at {self.time:.1f} s: {stuck}"
        assert self.promised <= {str(job_id) for job_id in storage.jobs}
        assert not self.unanswered_cancels
        for job_id, states in storage.history.items():
            for before, after in pairwise(states):
                assert after.version > before.version, job_id
                assert after.fence >= before.fence, job_id
                assert not before.status.is_terminal, f"{job_id} changed after its end"
            last = states[-1]
            if last.status is JobStatus.SUCCEEDED:
                assert last.result == f'"{job_id}/{last.fence}"'.encode(), f"{job_id} has another attempt's result"
                assert Attempt(job_id, last.fence) in self.started
            assert 0 <= last.attempt <= last.fence
        if not self.faults.scheduler_crashes:
            for name in map(str, storage.jobs):  # who enqueues an ended job again is told again
                assert 1 <= self.ends_told[name] <= self.enqueues[name], f"the end of {name} is told"
        self.verify_memory()
        for worker in self.workers.values():
            assert worker.session.running == 0, f"{worker.worker_id} still runs something"
            assert worker.session.unacknowledged == 0, f"{worker.worker_id} waits for an acknowledgement"

    def verify_memory(self) -> None:
        """No public name shows what shall be empty."""
        state = self.session._state
        assert len(state.ledger) == 0, "the ledger still has jobs"
        assert not self.session.outbox._watchers
        for queue in state.lanes.queues():
            for lane, head in state.lanes.in_queue(queue):
                assert head.first() is None, f"{lane} still offers {head.first()}"
        assert all(not entry.held for entry in state.workers.online()), "a slot was not given back"
