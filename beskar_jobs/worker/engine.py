"""The engine thread: everything of a worker that talks to the broker, on an event loop of its own.

Whatever handlers have to tell is put into one deque from any thread; the first to put something in wakes the engine,
which then takes all that is there. Messages leave once per turn of the loop, replies to claims before events, so that
the scheduler hears of an attempt's acceptance before its end.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

from beskar_jobs.core.working import WorkerSession
from beskar_jobs.model.errors import BeskarError, WorkerReplaced
from beskar_jobs.model.presence import WorkerHeartbeat
from beskar_jobs.ports.clock import Clock, Timer
from beskar_jobs.ports.transport import InboundMessage, OutboundMessage
from beskar_jobs.runtime.connection import Broker, ConnectionSettings, RoleConnection
from beskar_jobs.wire.messages import (
    Attempt,
    AttemptEvent,
    Claim,
    ClaimRequest,
    ControlMessage,
    SchedulerPresenceMessage,
    WorkerPresenceMessage,
)
from beskar_jobs.wire.topics import DEFAULT_PREFIX, ParsedTopic, TopicKind
from beskar_jobs.worker.declaring import Declaring
from beskar_jobs.worker.engine_thread import EngineThread
from beskar_jobs.worker.execution import AttemptOutcomes, Execution, StopReason

logger: Final = logging.getLogger("beskar_jobs.worker")

FAREWELL_EXPIRY: Final = 3600
"""Seconds that the offline notice of a worker stays with the broker; ids that never return leave nothing behind."""
ACKNOWLEDGE_TIMEOUT: Final = 5.0
SCHEDULER_EXPECTED: Final = 3.0
"""Seconds after which a worker that has heard of no scheduler says so; one that runs is heard of at once."""
T = TypeVar("T")


class WorkerEngine(AttemptOutcomes):
    """Owns session and connection; its public methods are for other threads, unless they say otherwise.

    Args:
        declaring: what the handlers declare by ``@recurring``.
        interval: seconds between heartbeats.
        on_failure: called (on the engine thread) when this worker must stop, with the reason.
    """

    def __init__(
        self,
        broker: Broker,
        session: WorkerSession,
        settings: ConnectionSettings,
        clock: Clock,
        *,
        declaring: Declaring,
        interval: float,
        on_failure: Callable[[BeskarError], object],
    ) -> None:
        self._broker = broker
        self._session = session
        self._settings = settings
        self._clock = clock
        self._declaring = declaring
        self._interval = interval
        self._on_failure = on_failure
        self._thread = EngineThread(f"beskar-engine-{session.worker_id}", self._on_death)
        self._loop = self._thread.loop
        self._news: deque[Callable[[], None]] = deque()
        self._awake = False
        self._awake_lock = threading.Lock()
        self._execution: Execution | None = None
        self._connection: RoleConnection | None = None
        self._out: list[OutboundMessage] = []
        self._flush_scheduled = False
        self._heartbeat_timer: Timer | None = None
        self._scheduler_incarnations: dict[str, str] = {}
        self._quiet = asyncio.Event()
        self._closing = False
        self._retiring: asyncio.Task[None] | None = None
        self._lonely = False

    # -- the thread ----------------------------------------------------------------------------------------------------

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run *work* on the engine thread, and wait for it here.

        Raises:
            BeskarError: the engine has died.
        """
        return await self._thread.call(work)

    def end(self) -> None:
        """End the thread."""
        self._thread.end()

    @property
    def died(self) -> bool:
        """The event loop is gone, which ``on_failure`` has been told."""
        return self._thread.died is not None

    def _on_death(self, problem: BeskarError) -> None:
        self._drop()
        self._on_failure(problem)

    def crash_now(self) -> None:
        """Be gone without a word, as a killed process is; returns when the connection is dropped."""
        self._thread.submit(self.crash()).result(timeout=5.0)
        self.end()

    # -- outcomes, from any thread -------------------------------------------------------------------------------------

    def progress(self, attempt: Attempt, percent: float, message: str) -> None:
        self._put(lambda: self._session.progress(attempt, percent, message))

    def ended(self, event: AttemptEvent, *, frees_slot: bool) -> None:
        self._put(lambda: self._on_end(event, frees_slot=frees_slot))

    def freed(self, attempt: Attempt) -> None:
        self._put(lambda: self._on_freed(attempt))

    def _on_end(self, event: AttemptEvent, *, frees_slot: bool) -> None:
        if frees_slot:
            self._require_execution().forget_time(Attempt(event.job_id, event.fence))
        self._session.ended(event, self._clock.now().monotonic, frees_slot=frees_slot)

    def _on_freed(self, attempt: Attempt) -> None:
        self._require_execution().forget_time(attempt)
        self._session.freed(attempt)

    def _put(self, news: Callable[[], None]) -> None:
        self._news.append(news)
        with self._awake_lock:
            if self._awake:
                return
            self._awake = True
        try:
            self._loop.call_soon_threadsafe(self._take_news)
        except RuntimeError:
            logger.debug("news of an attempt after the worker's end")

    def _take_news(self) -> None:
        with self._awake_lock:
            self._awake = False
        while self._news:
            self._news.popleft()()
        self._flush_soon()

    # -- life, on the engine thread ------------------------------------------------------------------------------------

    async def open(self, execution: Execution) -> None:
        """Connect, and be there.

        Raises:
            BrokerUnreachable: nobody answered in time.
        """
        self._execution = execution
        session = self._session
        self._connection = connection = RoleConnection(
            self._broker,
            f"worker-{session.worker_id}-{session.incarnation}",
            self._settings,
            self,
            logger,
            will=lambda number: self._presence(session.farewell(number), expiry=FAREWELL_EXPIRY),
        )
        topics = connection.topics
        await connection.open(
            [
                topics.dispatch("+", session.worker_id),
                topics.control(session.worker_id),
                topics.heartbeat(session.worker_id),
                topics.scheduler("+"),
            ]
        )
        self._beat()
        self._clock.call_later(SCHEDULER_EXPECTED, self._look_for_scheduler)

    def _look_for_scheduler(self) -> None:
        if not self._scheduler_incarnations and not self._closing:
            self._lonely = True
            prefix = self._settings.prefix
            logger.warning(
                "no scheduler on prefix %r of %s yet, so no jobs come; 'beskar scheduler%s' starts one",
                *(prefix, self.url, "" if prefix == DEFAULT_PREFIX else f" --prefix {prefix}"),
            )

    async def drain(self, grace: float, release_grace: float) -> None:
        """Take no more; let what runs end within *grace* seconds, release the rest, see all acknowledged."""
        session, execution = self._session, self._require_execution()
        if self._closing:
            return
        session.draining = True
        self._say_heartbeat()
        if session.running:
            logger.info("waiting for %s, up to %g s", _counted(session.running, "running job"), grace)
        if not await self._wait_quiet(lambda: session.running == 0, grace):
            still = _counted(session.running, "job")
            logger.warning("%s did not end within %g s: back to the queue, no attempt counted", still, grace)
            execution.stop_all(StopReason.RELEASE)
            await self._wait_quiet(lambda: session.running == 0, release_grace)
            execution.release_rest()
        if not await self._wait_quiet(lambda: session.unacknowledged == 0, ACKNOWLEDGE_TIMEOUT):
            logger.warning(
                "no scheduler has acknowledged the ends of %s; what none has heard runs again on another worker",
                _counted(session.unacknowledged, "attempt"),
            )

    async def close(self) -> None:
        """Say good-bye, so that no Will is needed, and disconnect."""
        if self._retiring is not None:
            await self._retiring
            return
        self._closing = True
        if self._heartbeat_timer is not None:
            self._heartbeat_timer.cancel()
        if self._connection is not None:
            farewell = self._presence(self._session.farewell(self._session.connection), expiry=FAREWELL_EXPIRY)
            self._connection.send([farewell])
            await asyncio.sleep(0)
            await self._connection.close()
        self._require_execution().close()

    async def crash(self) -> None:
        """Drop the connection, and abandon what runs."""
        self._drop()

    def _drop(self) -> None:
        self._closing = True
        if self._heartbeat_timer is not None:
            self._heartbeat_timer.cancel()
        if self._connection is not None:
            self._connection.abort()
        if self._execution is not None:
            self._execution.stop_all(StopReason.ABANDON)

    async def _wait_quiet(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Whether *condition* came true within *timeout* seconds; looked at whenever something happened."""
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    self._quiet.clear()
                    await self._quiet.wait()
        except TimeoutError:
            return condition()
        return True

    def _require_execution(self) -> Execution:
        assert self._execution is not None, "the engine was not opened"
        return self._execution

    def _require_connection(self) -> RoleConnection:
        assert self._connection is not None, "the engine was not opened"
        return self._connection

    @property
    def url(self) -> str:
        """The broker's URL, as it may be shown."""
        return self._require_connection().url

    @property
    def connected(self) -> bool:
        return not self.died and self._connection is not None and self._connection.connected

    # -- messages ------------------------------------------------------------------------------------------------------

    def on_connected(self, connection: int) -> None:
        again = self._session.connection > 0
        self._session.connection = connection
        if again:
            logger.warning("connected to the broker again")
            self._session.tell_all_again(self._clock.now().monotonic)
            self._declaring.next_at = 0.0
            self._beat()

    def on_disconnected(self, reason: str) -> None:
        logger.warning("the connection to the broker is gone: %s", reason)

    def on_topic(self, topic: ParsedTopic, message: InboundMessage) -> None:
        if self._closing:
            return
        connection = self._require_connection()
        decode = connection.serializer.decode
        match topic.kind:
            case TopicKind.DISPATCH:
                self._on_claims(topic.names[0], message)
            case TopicKind.CONTROL:
                self._on_control(decode(message.payload, ControlMessage))
            case TopicKind.HEARTBEAT:
                self._on_own_presence(decode(message.payload, WorkerPresenceMessage).worker, retained=message.retain)
            case TopicKind.SCHEDULER:
                self._on_scheduler(decode(message.payload, SchedulerPresenceMessage))
            case _:
                pass

    def _on_claims(self, queue: str, message: InboundMessage) -> None:
        connection = self._require_connection()
        request = connection.serializer.decode(message.payload, ClaimRequest)
        reply_topic = None if message.response_topic is None else connection.topics.parse(message.response_topic)
        if message.response_topic is None or reply_topic is None or reply_topic.kind is not TopicKind.SCHEDULER_REPLIES:
            connection.complain("claim", "ignored a claim request that names no scheduler to answer to")
            return
        reply, start = self._session.on_claims(queue, request)
        if reply is not None:
            self._out.append(
                OutboundMessage(
                    message.response_topic, connection.serializer.encode(reply), correlation=message.correlation
                )
            )
            self._start(queue, start)
            self._flush_soon()

    def _start(self, queue: str, claims: Sequence[Claim]) -> None:
        if claims:
            self._require_execution().start(queue, claims)

    def _on_control(self, message: ControlMessage) -> None:
        orders = self._session.on_control(message)
        execution = self._require_execution()
        if orders.cancel:
            execution.stop(orders.cancel, StopReason.CANCEL)
        if orders.abandon:
            logger.warning("abandoned %d attempts: this worker has lost their jobs", len(orders.abandon))
            execution.stop(orders.abandon, StopReason.ABANDON)
        if orders.heartbeat:
            # A scheduler asks for a report when it may have missed something, such as the ends of attempts.
            self._session.tell_all_again(self._clock.now().monotonic)
            self._say_heartbeat()
        self._quiet.set()

    def _on_own_presence(self, heartbeat: WorkerHeartbeat, *, retained: bool) -> None:
        """What the heartbeat topic of this worker's id says: ours, a stale notice, or another process."""
        session = self._session
        if not heartbeat.is_online:
            self._say_heartbeat()  # the last will of an earlier process or connection; we are here
        elif heartbeat.incarnation > session.incarnation and not retained:
            self._retire(
                WorkerReplaced(
                    f"another process runs as worker {session.worker_id!r} (started later, as "
                    f"{heartbeat.incarnation}); this one stops. Give each process its own --worker-id"
                )
            )
        elif heartbeat.incarnation < session.incarnation and not retained:
            self._say_heartbeat()  # an older process under this id is alive: seeing us, it stops

    def _retire(self, problem: BeskarError) -> None:
        """Stop for good. The heartbeat topic is the successor's now, so there is no farewell, and no Will either."""
        self._closing = True
        if self._heartbeat_timer is not None:
            self._heartbeat_timer.cancel()
        self._require_execution().stop_all(StopReason.ABANDON)
        self._retiring = self._loop.create_task(self._require_connection().close())
        self._on_failure(problem)

    def _on_scheduler(self, message: SchedulerPresenceMessage) -> None:
        scheduler = message.scheduler
        known = self._scheduler_incarnations.get(scheduler.scheduler_id)
        if scheduler.is_online and known != scheduler.incarnation:
            self._scheduler_incarnations[scheduler.scheduler_id] = scheduler.incarnation
            if self._lonely:
                self._lonely = False
                logger.info("scheduler %s is there", scheduler.scheduler_id)
            self._session.tell_all_again(self._clock.now().monotonic)
            self._declare()
            self._flush_soon()

    # -- sending -------------------------------------------------------------------------------------------------------

    def _flush_soon(self) -> None:
        if not self._flush_scheduled:
            self._flush_scheduled = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_scheduled = False
        connection = self._require_connection()
        messages, self._out = self._out, []
        topic = connection.topics.events(self._session.worker_id)
        encode = connection.serializer.encode
        messages.extend(OutboundMessage(topic, encode(batch)) for batch in self._session.take_events())
        connection.send(messages)
        self._quiet.set()

    def _beat(self) -> None:
        """Say that we are here, repeat what is overdue, and come back in an interval."""
        if self._heartbeat_timer is not None:
            self._heartbeat_timer.cancel()
        if self._closing:
            return
        self._heartbeat_timer = self._clock.call_later(self._interval, self._beat)
        monotonic = self._clock.now().monotonic
        self._session.tell_overdue_again(monotonic)
        self._say_heartbeat()
        if monotonic >= self._declaring.next_at:
            self._declare()

    def _declare(self) -> None:
        connection = self._require_connection()
        if self._scheduler_incarnations and connection.connected:
            self._out.append(self._declaring.message(connection, self._clock.now().monotonic))

    def _say_heartbeat(self) -> None:
        # While the broker is away heartbeats would only pile up; the reconnect sends a fresh one.
        if self._require_connection().connected:
            expiry = max(10, round(5 * self._interval))
            self._out.append(self._presence(self._session.heartbeat(), expiry=expiry))
        self._flush_soon()

    def _presence(self, heartbeat: WorkerHeartbeat, expiry: int) -> OutboundMessage:
        connection = self._require_connection()
        return OutboundMessage(
            connection.topics.heartbeat(heartbeat.worker_id),
            connection.serializer.encode(WorkerPresenceMessage(worker=heartbeat)),
            retain=True,
            expiry=expiry,
        )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
