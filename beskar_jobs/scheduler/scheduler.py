"""``JobScheduler``: brings messages, storage and time to the session, and performs what it decides.

Everything happens on one event loop. Whatever comes in during a turn of the loop is taken in first; then one *step*
deals with all of it: the session advances, messages leave, the commit hop and the status hop wake if they sleep. There
is no polling: between steps the scheduler sleeps until a message, a commit, or the next deadline.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Coroutine, Iterable
from types import TracebackType
from typing import Final, Self

import attrs

from beskar_jobs.core.scheduling import ReadDue, ReadJobs, ReadLane, ReadRecurring, SchedulerSession, Send
from beskar_jobs.core.scheduling.records import Read
from beskar_jobs.model.errors import (
    BeskarError,
    InvalidValue,
    PayloadInvalid,
    PublishRefused,
    TransportError,
)
from beskar_jobs.model.names import checked_name
from beskar_jobs.model.presence import SchedulerPresence
from beskar_jobs.model.retry import NO_RETRY, Retry
from beskar_jobs.ports.clock import Clock, Timer
from beskar_jobs.ports.storage import JobStorage
from beskar_jobs.ports.transport import InboundMessage, OutboundMessage
from beskar_jobs.runtime.clock import SystemClock
from beskar_jobs.runtime.connection import Broker, ConnectionSettings, RoleConnection
from beskar_jobs.runtime.identity import new_incarnation, process_name
from beskar_jobs.scheduler.commands import Commands
from beskar_jobs.scheduler.committing import CommitHop
from beskar_jobs.scheduler.news import tell
from beskar_jobs.scheduler.statuses import StatusHop
from beskar_jobs.storage import create_storage
from beskar_jobs.transport.urls import redact
from beskar_jobs.wire.messages import (
    ClaimReply,
    EventBatch,
    QueryReply,
    RecurringReply,
    SchedulerPresenceMessage,
    WorkerPresenceMessage,
)
from beskar_jobs.wire.topics import ParsedTopic, TopicKind

logger: Final = logging.getLogger("beskar_jobs.scheduler")

DEFAULT_RETENTION: Final = 24 * 3600
STOP_TIMEOUT: Final = 5.0
READ_AGAIN_AFTER: Final = 0.5
LONGEST_SLEEP: Final = 10.0
"""Seconds that the wall clock is left unwatched while it has something to bring about."""
LARGE_REPLY: Final = 16 * 1024
"""Bytes; a larger answer to a query is sent by itself, since a broker may refuse it."""


class JobScheduler:
    """Takes jobs in, stores them, and gives them to workers.

    Args:
        broker: URL of the broker, or an object with a ``url`` (``EmbeddedBroker``).
        storage: URL (``memory://``, ``sqlite:///jobs.db``) or a storage object.
        scheduler_id: name of this scheduler; one is made up if it is left out.
        default_retry: retry policy of jobs for which neither enqueue nor handler names one.
        status_retention: seconds that the status of a job stays with the broker after its last change; 1 day.
        settings: how to reach the broker.
        clock: the time; for tests.

    Raises:
        InvalidValue: an option breaks its rule.
    """

    def __init__(
        self,
        broker: Broker,
        *,
        storage: str | JobStorage = "memory://",
        scheduler_id: str | None = None,
        default_retry: Retry = NO_RETRY,
        status_retention: int = DEFAULT_RETENTION,
        settings: ConnectionSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.scheduler_id = checked_name("scheduler id", scheduler_id or process_name())
        if status_retention < 1:
            raise InvalidValue(f"status_retention is at least 1 second, not {status_retention}")
        self._incarnation = new_incarnation()
        self._storage = create_storage(storage) if isinstance(storage, str) else storage
        self._storage_name = redact(storage) if isinstance(storage, str) else type(storage).__name__
        self._clock = clock or SystemClock()
        self._connection = RoleConnection(
            broker,
            f"scheduler-{self.scheduler_id}-{self._incarnation}",
            settings or ConnectionSettings(),
            self,
            logger,
            will=lambda connection: self._presence(connection, is_online=False),
        )
        dice = random.Random()
        self._session = SchedulerSession(
            self.scheduler_id, self._connection.topics, lambda: dice.uniform(-1.0, 1.0), default_retry
        )
        self._commits = CommitHop(self._session, self._storage, self._clock, logger, self._step)
        self._commands = Commands(self._session, self._storage, self._connection, self._spawn, self._step_soon)
        self._statuses = StatusHop(self._session.outbox, self._connection, status_retention, self._step_soon)
        self._tasks: set[asyncio.Task[None]] = set()
        self._step_scheduled = False
        self._timer: Timer | None = None
        self._timer_at = float("inf")
        self._running = False

    @property
    def connected(self) -> bool:
        """Connected to the broker and subscribed."""
        return self._running and self._connection.connected

    @property
    def counters(self) -> dict[str, int]:
        """What happened how often since the start, by name."""
        return {**self._session.counters, **{f"ignored {kind}": n for kind, n in self._connection.ignored.items()}}

    async def start(self) -> None:
        """Open the storage, connect, take up what was left.

        Raises:
            StorageError: the storage cannot be opened.
            BrokerUnreachable: nobody answered at the broker's address in time.
        """
        await self._storage.open()
        try:
            self._session.load(
                active=await self._storage.active(),
                lanes=await self._storage.lanes(),
                last_sequence=await self._storage.last_sequence(),
                next_due=await self._storage.next_due(),
                recurring=await self._storage.recurring(),
                now=self._clock.now(),
            )
            self._running = True
            topics = self._connection.topics
            await self._connection.open(
                [
                    topics.heartbeat("+"),
                    topics.events("+"),
                    topics.scheduler_replies(self.scheduler_id),
                    topics.enqueue(),
                    topics.cancel("+"),
                    topics.query(),
                    topics.recurring(),
                    topics.scheduler(self.scheduler_id),
                ]
            )
            # Only now does anybody learn that there is a scheduler: it hears all who answer to that.
            await self._connection.publish([self._presence(self._statuses.connects, is_online=True)])
        except BaseException:
            self._running = False
            self._connection.abort()
            await self._storage.close()
            raise
        self._step()
        logger.info(
            "scheduler %s is ready: broker %s, prefix %r, storage %s, process %d",
            *(self.scheduler_id, self._connection.url, self._connection.topics.prefix, self._storage_name, os.getpid()),
        )

    async def stop(self) -> None:
        """Commit what was taken in, say good-bye, disconnect. Bounded: some seconds at most."""
        if not self._running:
            return
        self._step()
        await self._commits.finish(STOP_TIMEOUT)
        self._step()
        await self._statuses.finish(STOP_TIMEOUT)
        self._running = False
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        self._connection.send([self._presence(self._statuses.connects, is_online=False)])
        await asyncio.sleep(0)
        await self._connection.close()
        await self._storage.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()

    def _presence(self, connection: int, *, is_online: bool) -> OutboundMessage:
        presence = SchedulerPresence(self.scheduler_id, self._incarnation, connection, is_online)
        return OutboundMessage(
            self._connection.topics.scheduler(self.scheduler_id),
            self._connection.serializer.encode(SchedulerPresenceMessage(scheduler=presence)),
            retain=True,
        )

    # -- events --------------------------------------------------------------------------------------------------------

    def on_connected(self, connection: int) -> None:
        again = self._statuses.connects > 0
        self._statuses.connects = connection
        self._session.on_connected(self._clock.now())
        if again:
            logger.warning("connected to the broker again")
            self._connection.send([self._presence(connection, is_online=True)])
            self._step_soon()

    def on_disconnected(self, reason: str) -> None:
        logger.warning("the connection to the broker is gone: %s", reason)
        self._session.on_disconnected()

    def on_topic(self, topic: ParsedTopic, message: InboundMessage) -> None:
        if not self._running:
            return
        now = self._clock.now()
        self._session.heard(now)
        decode = self._connection.serializer.decode
        match topic.kind:
            case TopicKind.EVENTS:
                events = decode(message.payload, EventBatch)
                _check_sender(topic, events.worker_id)
                self._session.on_events(events, now)
            case TopicKind.SCHEDULER_REPLIES:
                self._session.on_claim_reply(decode(message.payload, ClaimReply), now)
            case TopicKind.HEARTBEAT:
                heartbeat = decode(message.payload, WorkerPresenceMessage).worker
                _check_sender(topic, heartbeat.worker_id)
                self._session.on_heartbeat(heartbeat, now)
            case TopicKind.ENQUEUE | TopicKind.CANCEL | TopicKind.QUERY | TopicKind.RECURRING:
                self._commands.on_command(topic, message, now)
            case TopicKind.SCHEDULER:
                presence = decode(message.payload, SchedulerPresenceMessage).scheduler
                if presence.incarnation == self._incarnation and not message.retain:
                    self._session.on_echo(now)
            case _:
                return
        for refused in self._session.take_refused_ends():
            logger.warning(
                "refused the end of attempt %d of job %s from worker %s: that attempt does not hold the job",
                refused.attempt.fence,
                refused.attempt.job_id,
                refused.worker.worker_id,
            )
        self._step_soon()

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _step_soon(self) -> None:
        """One step after all that has come in with this turn of the loop."""
        if not self._step_scheduled:
            self._step_scheduled = True
            asyncio.get_running_loop().call_soon(self._step)

    def _step(self) -> None:
        self._step_scheduled = False
        if not self._running:
            return
        self._session.advance(self._clock.now())
        for read in self._session.take_reads():
            self._spawn(self._read(read))
        self._send(self._session.outbox.take())
        if self._session.take_echo_wanted():
            self._connection.send([self._presence(self._statuses.connects, is_online=True)])
        if notable := self._session.take_notable():
            tell(notable, logger)
        self._commits.wake()
        self._statuses.wake(busy=self._commits.busy)
        self._set_timer()

    def _send(self, sends: Iterable[Send]) -> None:
        batch: list[OutboundMessage] = []
        for send in sends:
            message = self._outbound(send)
            if isinstance(send.message, QueryReply | RecurringReply) and len(message.payload) > LARGE_REPLY:
                self._spawn(self._send_large(message))
            else:
                batch.append(message)
        self._connection.send(batch)

    async def _send_large(self, reply: OutboundMessage) -> None:
        """Whoever asked is told if the broker takes no answer of this size, rather than left to ask again."""
        try:
            await self._connection.publish([reply])
        except PublishRefused as problem:
            error = self._connection.serializer.encode(QueryReply(error=f"the answer cannot be sent: {problem}"))
            self._connection.send([attrs.evolve(reply, payload=error)])
            self._connection.complain("publish", f"an answer to a query was not sent: {problem}")
        except TransportError as problem:
            self._connection.complain("publish", f"an answer to a query was not sent: {problem}")

    def _outbound(self, send: Send) -> OutboundMessage:
        return OutboundMessage(
            send.topic,
            self._connection.serializer.encode(send.message),
            response_topic=send.response_topic,
            correlation=send.correlation,
        )

    def _set_timer(self) -> None:
        now = self._clock.now()
        at = self._session.next_deadline(now) or float("inf")
        if (due := self._session.next_due) is not None:
            # A wall clock that is set forward, or has run on while the machine slept, is noticed soon.
            at = min(at, now.monotonic + min((due - now.wall).total_seconds(), LONGEST_SLEEP))
        # A timer that rings early does no harm: the step finds nothing to do and sets it anew.
        if at < self._timer_at or self._timer_at <= now.monotonic:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_at = at
            self._timer = None if at == float("inf") else self._clock.call_later(at - now.monotonic, self._on_timer)

    def _on_timer(self) -> None:
        self._timer, self._timer_at = None, float("inf")
        self._step()

    # -- storage reads -------------------------------------------------------------------------------------------------

    async def _read(self, read: Read) -> None:
        try:
            match read:
                case ReadLane(lane, limit):
                    self._session.lane_loaded(lane, await self._storage.ready(lane, limit), limit)
                case ReadDue(until, limit):
                    jobs = await self._storage.due(until, limit)
                    following = until if len(jobs) == limit else await self._storage.next_due(until)
                    self._session.due_loaded(jobs, following, self._clock.now())
                case ReadRecurring(name):
                    self._session.recurring.loaded(name, await self._storage.recurring([name]))
                case ReadJobs(questions):
                    jobs_by_question = await self._storage.get([question.job_id for question in questions])
                    self._session.jobs_loaded(questions, jobs_by_question, self._clock.now())
        except BeskarError as problem:
            self._connection.complain("storage", f"a reading failed and is done again: {problem}")
            await asyncio.sleep(READ_AGAIN_AFTER)
            self._session.reading_failed(read)
        self._step_soon()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _check_sender(topic: ParsedTopic, worker_id: str) -> None:
    """A broker's ACL holds a worker to its own topics; a payload that names another is a forgery or a bug."""
    if topic.name != worker_id:
        raise PayloadInvalid(f"the payload says it is from worker {worker_id[:200]!r}")
