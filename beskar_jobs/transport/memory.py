"""The in-memory transport: a client of :class:`MemoryBroker`, speaking MQTT 5 bytes to the broker core without sockets.

It keeps the contract of :mod:`beskar_jobs.ports.transport` as the transport over paho does, including what happens
when the connection is lost (here by :meth:`MemoryBroker.drop_connection`, ``stop``, or a take-over). Connections are
made with a clean start, and never resumed. Transports of one broker may live on event loops in different threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Coroutine, Sequence
from enum import Enum
from typing import Any, Final

from beskar_jobs.model.errors import (
    BeskarError,
    BrokerUnreachable,
    SubscriptionRefused,
    TransportClosed,
    TransportError,
)
from beskar_jobs.ports.transport import InboundMessage, OutboundMessage, TransportListener, TransportOptions
from beskar_jobs.transport.backoff import reconnect_delay
from beskar_jobs.transport.memory_broker import MemoryBroker, find_memory_broker
from beskar_jobs.transport.memory_session import LinkLost, LinkRefused, MemorySession
from beskar_jobs.transport.outbox import Entry, Outbox
from beskar_jobs.transport.urls import redact

__all__ = ["MemoryBroker", "MemoryTransport"]

logger = logging.getLogger(__name__)

_DRAIN: Final = 5.0  # seconds that close() gives to what is queued


class _State(Enum):
    NEW = "not open yet"
    OPENING = "still opening"
    OPEN = "open"
    CLOSED = "closed"


class MemoryTransport:
    """:class:`~beskar_jobs.ports.transport.Transport` to a :class:`MemoryBroker`.

    Args:
        url: the broker's :attr:`~MemoryBroker.url`. A broker that is stopped counts as one that does not answer, which
            may change; one that was never made is an error at once, for nobody else can make it.
    """

    def __init__(self, url: str, options: TransportOptions, listener: TransportListener) -> None:
        self._broker_url = url
        self._url = redact(url)  # as it may be shown
        self._options = options
        self._listener = listener
        self._outbox = Outbox(options.max_outbound, options.max_outbound_bytes)
        self._filters: dict[str, None] = {}
        self._state = _State.NEW
        self._number = 0
        self._attempt = 0
        self._since = 0.0
        self._session: MemorySession | None = None  # established: subscribed and announced
        self._connecting: MemorySession | None = None
        self._reconnecting: asyncio.Task[None] | None = None
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def connected(self) -> bool:
        return self._session is not None

    # Connecting

    async def open(self) -> None:
        if self._state is not _State.NEW:
            raise TransportClosed(f"the transport to {self._url} is {self._state.value}; make a new one")
        self._state = _State.OPENING
        try:
            await self._open()
        except BaseException:
            if self._state is _State.OPENING:
                self._state = _State.NEW
            raise
        self._state = _State.OPEN
        if self._session is None:  # lost again before this task ran
            self._reconnect()

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._options.connect_timeout
        while True:
            try:
                await self._establish()
                return
            except LinkRefused as error:
                pause = self._next_pause()
                if error.final or loop.time() + pause >= deadline:
                    raise BrokerUnreachable(f"cannot connect to {self._url}: {error}") from error
            await asyncio.sleep(pause)
            self._require_not_closed()

    def _next_pause(self) -> float:
        options = self._options
        jitter = random.random()  # spreads reconnects, guards nothing
        self._attempt += 1
        return reconnect_delay(
            self._attempt - 1, first=options.reconnect_first, cap=options.reconnect_cap, jitter=jitter
        )

    async def _establish(self) -> None:
        """Connect, subscribe, announce, send what waits.

        Raises:
            LinkRefused: not this time.
            TransportClosed: closed meanwhile.
        """
        broker = find_memory_broker(self._broker_url)
        if broker is None:
            raise LinkRefused(
                "no in-memory broker of this process has this URL; make one with MemoryBroker "
                "(beskar_jobs.transport.memory), keep it, and take its url",
                final=True,
            )
        number = self._number = self._number + 1
        will = None if self._options.will is None else self._options.will(number)
        events = _Events(self)
        session = events.session = self._connecting = MemorySession(broker, self._options, will, events)
        try:
            await session.connect()
            if self._filters:
                await self._subscribe_again(session)
        except (LinkLost, LinkRefused) as error:
            session.abort()
            self._require_not_closed()
            raise LinkRefused(str(error), final=isinstance(error, LinkRefused) and error.final) from error
        except BaseException:
            session.abort()
            raise
        finally:
            self._connecting = None
        self._require_not_closed()
        self._session = session
        self._since = self._now()
        self._notify(lambda: self._listener.on_connected(number))
        self._wake()
        self._pump()

    async def _subscribe_again(self, session: MemorySession) -> None:
        filters = list(self._filters)
        for text, code in zip(filters, await session.subscribe(filters), strict=True):
            if code >= 0x80:
                logger.error("%s no longer grants the subscription to %r (0x%02x)", self._url, text, code)

    def _reconnect(self) -> None:
        if self._reconnecting is None or self._reconnecting.done():
            self._reconnecting = asyncio.get_running_loop().create_task(
                self._keep_trying(), name="beskar-memory-reconnect"
            )

    async def _keep_trying(self) -> None:
        while self._session is None and self._state is not _State.CLOSED:
            await asyncio.sleep(self._next_pause())
            try:
                await self._establish()
            except TransportError as error:
                logger.debug("still no connection to %s: %s", self._url, error)
            except Exception:  # a Will that cannot be made, for example: it must not end the attempts
                logger.exception("cannot reconnect to %s; trying again", self._url)

    def lost(self, session: MemorySession, reason: str) -> None:
        if session is not self._session:
            return
        self._session = None
        if self._now() - self._since >= self._options.reconnect_cap:
            self._attempt = 0
        self._outbox.put_back(session.unacknowledged.values())
        logger.info("lost the connection to %s: %s; reconnecting", self._url, reason)
        self._notify(lambda: self._listener.on_disconnected(reason))
        self._wake()
        if self._state is _State.OPEN:
            self._reconnect()

    # Subscribing

    async def subscribe(self, filters: Sequence[str]) -> None:
        while filters:
            session = await self._established()
            try:
                codes = await session.subscribe(filters)
            except LinkLost:
                continue
            refused = [text for text, code in zip(filters, codes, strict=True) if code >= 0x80]
            if refused:
                others = [text for text in filters if text not in refused and text not in self._filters]
                if others:
                    with contextlib.suppress(LinkLost):
                        await session.unsubscribe(others)
                raise SubscriptionRefused(f"{self._url} refuses to subscribe to {', '.join(map(repr, refused))}")
            if session is self._session:
                self._filters.update(dict.fromkeys(filters))
                return

    async def unsubscribe(self, filters: Sequence[str]) -> None:
        self._require_open()
        for text in filters:
            self._filters.pop(text, None)
        if self._session is not None and filters:
            with contextlib.suppress(LinkLost):
                await self._session.unsubscribe(filters)

    # Publishing

    def publish(self, messages: Sequence[OutboundMessage]) -> Coroutine[Any, Any, None]:
        # Not async: what is to be sent goes out, or is queued, before anybody awaits.
        try:
            self._require_open()
            ticket = self._outbox.add(messages)
        except BeskarError as error:
            return _fail(error)
        self._pump()
        return ticket.wait()

    def _pump(self) -> None:
        """Send what waits, as far as the window is open, in one piece."""
        waiting = self._outbox.waiting
        while waiting and self._session is not None:
            room = self._session.room
            batch: list[Entry] = []
            while waiting and (room or not waiting[0].message.qos):
                entry = waiting.popleft()
                room -= entry.message.qos
                batch.append(entry)
            if not batch:
                return
            for entry in self._session.publish(batch):
                self._outbox.settle(entry)

    def acknowledged(self, entry: Entry, error: TransportError | None) -> None:
        self._outbox.settle(entry, error)

    def roomy(self) -> None:
        if self._outbox.waiting:
            self._pump()
        elif not self._outbox.messages:
            self._wake()

    def received(self, message: InboundMessage) -> None:
        try:
            self._listener.on_message(message)
        except Exception:
            logger.exception("the listener failed on a message to %r", message.topic)

    # Closing

    async def close(self) -> None:
        if self._state is _State.OPEN:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN):
                    while self._session is not None and self._outbox.messages:
                        await self._change()
        self._end(MemorySession.disconnect)

    def abort(self) -> None:
        self._end(MemorySession.abort)

    def _end(self, leave: Callable[[MemorySession], None]) -> None:
        if self._state is _State.CLOSED:
            return
        self._state = _State.CLOSED
        session, self._session = self._session, None
        if session is not None:
            leave(session)
        if self._connecting is not None:
            self._connecting.abort()
        if self._reconnecting is not None:
            self._reconnecting.cancel()
        sent = [] if session is None else list(session.unacknowledged.values())
        self._outbox.fail_all(sent, TransportClosed(f"the transport to {self._url} closed before the acknowledgement"))
        self._wake()

    # Small parts

    async def _established(self) -> MemorySession:
        while True:
            self._require_open()
            if self._session is not None:
                return self._session
            await self._change()

    async def _change(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _require_open(self) -> None:
        if self._state is not _State.OPEN:
            raise TransportClosed(f"the transport to {self._url} is {self._state.value}")

    def _require_not_closed(self) -> None:
        if self._state is _State.CLOSED:
            raise TransportClosed(f"the transport to {self._url} was closed while it was connecting")

    def _notify(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception:
            logger.exception("the listener of the transport to %s failed", self._url)


class _Events:
    """Passes on what one session tells, and which session it was."""

    session: MemorySession

    def __init__(self, transport: MemoryTransport) -> None:
        self._transport = transport
        self.received = transport.received
        self.acknowledged = transport.acknowledged
        self.roomy = transport.roomy

    def lost(self, reason: str) -> None:
        self._transport.lost(self.session, reason)


async def _fail(error: BeskarError) -> None:
    raise error
