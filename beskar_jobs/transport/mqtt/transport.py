"""The transport to any MQTT 5 broker: a connection that comes back by itself, and what outlives a single connection.

One :class:`~beskar_jobs.transport.mqtt.connection.Connection` at a time does the talking. What is kept here, over all
of them, is the list of subscriptions, the queue of what is to be sent, and the number of the connection. Sessions are
never resumed (clean start, expiry 0): after each connect the filters are subscribed again, the listener is told, and
then what was not acknowledged is sent again, in order.

The back-off doubles with every attempt and starts anew only after a connection that held for as long as its cap, so
that a broker which accepts and drops at once (a take-over, a message it cannot bear) is not hammered. An outage is
logged twice: when the connection is lost, and when it is back; a broker that does not answer at the start, once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import ssl
from collections.abc import Callable, Coroutine, Sequence
from enum import Enum
from typing import Any, Final

from beskar_jobs.model.errors import (
    BeskarError,
    BrokerUnreachable,
    InvalidValue,
    SubscriptionRefused,
    TransportClosed,
    TransportError,
)
from beskar_jobs.ports.transport import InboundMessage, OutboundMessage, TransportListener, TransportOptions
from beskar_jobs.transport.backoff import reconnect_delay
from beskar_jobs.transport.mqtt.connection import Connection, ConnectionLost
from beskar_jobs.transport.mqtt.dialling import ConnectFailed
from beskar_jobs.transport.outbox import Entry, Outbox
from beskar_jobs.transport.urls import BrokerUrl, parse_broker_url

logger = logging.getLogger(__name__)

_DRAIN: Final = 5.0  # seconds that close() gives to what is queued
_FILTERS_AT_ONCE: Final = 1000  # in one SUBSCRIBE, so that the packet stays below any broker's limit


class _State(Enum):
    NEW = "not open yet"
    OPENING = "still opening"
    OPEN = "open"
    CLOSED = "closed"


class MqttTransport:
    """:class:`~beskar_jobs.ports.transport.Transport` over paho-mqtt.

    Args:
        url: ``mqtt://``, ``mqtts://``, ``ws://``, ``wss://`` or ``mqtt+unix://``, with ``user:password@`` if need be.
        fast_path: leave PUBLISH and PUBACK to code of our own (:mod:`beskar_jobs.transport.mqtt.packet_socket`), where
            the installed paho allows it; ``False``: everything through paho's public API.

    Raises:
        InvalidValue: the URL breaks a rule, or a TLS file cannot be read.
    """

    def __init__(
        self, url: str, options: TransportOptions, listener: TransportListener, *, fast_path: bool = True
    ) -> None:
        self._url = parse_broker_url(url)
        self._options = options
        self._listener = listener
        self._fast_path = fast_path
        self._tls = _tls_context(self._url, options)
        self._outbox = Outbox(options.max_outbound, options.max_outbound_bytes)
        self._filters: dict[str, None] = {}
        self._state = _State.NEW
        self._number = 0
        self._attempt = 0
        self._connection: Connection | None = None  # established: subscribed and announced
        self._dialling: Connection | None = None
        self._since = 0.0
        self._supervisor: asyncio.Task[None] | None = None
        self._changed: list[asyncio.Future[None]] = []  # who waits for a connection, its loss, or an empty queue

    @property
    def connected(self) -> bool:
        return self._connection is not None

    # -- opening and reconnecting

    async def open(self) -> None:
        if self._state is not _State.NEW:
            raise TransportClosed(f"the transport to {self._url.redacted} is {self._state.value}; make a new one")
        self._state = _State.OPENING
        try:
            await self._open(self._now() + self._options.connect_timeout)
        except BaseException:
            if self._state is _State.OPENING:
                self._state = _State.NEW
            raise

    async def _open(self, deadline: float) -> None:
        told = False
        while True:
            try:
                await self._establish(deadline - self._now())
                return
            except ConnectFailed as error:
                self._require_not_closed()
                pause = self._next_pause()
                if error.final or self._now() + pause >= deadline:
                    way_out = "" if error.final else "; is a broker running there? 'beskar broker' starts one"
                    raise BrokerUnreachable(f"cannot connect to {self._url.redacted}: {error}{way_out}") from error
                left = deadline - self._now()
                if not told and left > 1.0:  # who waits for less than a second need not be told why
                    told = True
                    logger.warning("connecting to %s (for up to %.0f s): %s", self._url.redacted, left, error)
            await asyncio.sleep(pause)
            self._require_not_closed()

    def _next_pause(self) -> float:
        options = self._options
        jitter = random.random()  # spreads reconnects, guards nothing
        pause = reconnect_delay(self._attempt, first=options.reconnect_first, cap=options.reconnect_cap, jitter=jitter)
        self._attempt += 1
        return pause

    async def _establish(self, timeout: float) -> None:
        """Connect, subscribe, announce, send; all within *timeout* seconds.

        Raises:
            ConnectFailed: not this time.
            TransportClosed: closed meanwhile.
        """
        number = self._number + 1
        events = _Events(self)
        will = self._options.will(number) if self._options.will is not None else None
        connection = Connection(self._url, self._options, self._tls, will, events, fast=self._fast_path)
        events.connection = self._dialling = connection
        deadline = self._now() + timeout
        try:
            await connection.dial(timeout)
            # From here on the broker may know the Will with this number, so no other connection may use it.
            self._number = number
            async with asyncio.timeout_at(deadline):
                await connection.handshake()
                self._require_not_closed()
                await self._subscribe_again(connection)
        except TimeoutError:
            connection.abort()
            raise ConnectFailed(f"the broker did not answer within {timeout:.1f} s") from None
        except ConnectionLost as error:
            raise ConnectFailed(str(error)) from error
        except BaseException:
            connection.abort()
            raise
        finally:
            self._dialling = None
        self._require_not_closed()
        if connection.ended:
            raise ConnectFailed("the connection was lost at once")
        self._state = _State.OPEN
        self._connection = connection
        self._since = self._now()
        self._notify(lambda: self._listener.on_connected(number))
        self._wake()
        self._pump()

    async def _subscribe_again(self, connection: Connection) -> None:
        every = list(self._filters)
        for start in range(0, len(every), _FILTERS_AT_ONCE):
            filters = every[start : start + _FILTERS_AT_ONCE]
            for text, code in zip(filters, await connection.subscribe(filters), strict=True):
                if code >= 0x80:
                    logger.error("%s no longer grants the subscription to %r (0x%02x)", self._url.redacted, text, code)

    def _reconnect(self) -> None:
        if self._supervisor is None or self._supervisor.done():
            self._supervisor = asyncio.get_running_loop().create_task(self._keep_trying(), name="beskar-mqtt-reconnect")

    async def _keep_trying(self) -> None:
        started = self._now()
        while self._connection is None and self._state is not _State.CLOSED:
            await asyncio.sleep(self._next_pause())
            try:
                await self._establish(self._options.connect_timeout)
            except TransportError as error:
                logger.debug("still no connection to %s: %s", self._url.redacted, error)
            except Exception:  # a Will that cannot be made, for example: it must not end the attempts
                logger.exception("cannot reconnect to %s; trying again", self._url.redacted)
        if self._connection is not None:
            logger.info("connected again to %s after %.1f s", self._url.redacted, self._now() - started)

    def _lost(self, connection: Connection, reason: str) -> None:
        if connection is not self._connection:
            return
        self._connection = None
        if self._now() - self._since >= self._options.reconnect_cap:
            self._attempt = 0
        self._outbox.put_back(connection.unacknowledged.values())
        connection.unacknowledged = {}
        self._wake()
        logger.warning("lost the connection to %s: %s; reconnecting", self._url.redacted, reason)
        self._notify(lambda: self._listener.on_disconnected(reason))
        self._reconnect()

    # -- subscribing

    async def subscribe(self, filters: Sequence[str]) -> None:
        while filters:
            connection = await self._established()
            try:
                codes = await connection.subscribe(filters)
            except ConnectionLost:
                continue
            except ValueError as error:
                raise InvalidValue(f"one of the topic filters {list(filters)} is not valid: {error}") from error
            refused = [text for text, code in zip(filters, codes, strict=True) if code >= 0x80]
            if refused:
                others = [text for text in filters if text not in refused and text not in self._filters]
                if others and connection is self._connection:
                    with contextlib.suppress(ConnectionLost):
                        await connection.unsubscribe(others)
                raise SubscriptionRefused(
                    f"{self._url.redacted} refuses to subscribe to {', '.join(map(repr, refused))}; "
                    "may this user read there?"
                )
            if connection is self._connection:
                self._filters.update(dict.fromkeys(filters))
                return

    async def unsubscribe(self, filters: Sequence[str]) -> None:
        self._require_open()
        for text in filters:
            self._filters.pop(text, None)
        connection = self._connection
        if connection is not None and filters:  # else: not subscribed again, which is all that is wanted
            with contextlib.suppress(ConnectionLost):
                await connection.unsubscribe(filters)

    # -- publishing

    def publish(self, messages: Sequence[OutboundMessage]) -> Coroutine[Any, Any, None]:
        # Not async: what is to be sent is queued, and with luck handed over, before anybody awaits.
        try:
            self._require_open()
            ticket = self._outbox.add(messages)
        except BeskarError as error:
            return _fail(error)
        self._pump()
        return ticket.wait()

    def _pump(self) -> None:
        """Hand over what waits, as far as the connection takes it."""
        connection = self._connection
        waiting = self._outbox.waiting
        while waiting and connection is not None and connection.room:
            entry = waiting[0]
            if entry.message.qos and not connection.window_open:
                return
            if self._outbox.suspects and connection.unacknowledged:
                return
            waiting.popleft()
            error = connection.publish(entry)
            if error is not None or not entry.message.qos:
                self._outbox.settle(entry, error)

    # -- closing

    async def close(self) -> None:
        if self._state is _State.CLOSED:
            return
        if self._state is _State.OPEN:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN):
                    while self._connection is not None and not self._all_sent(self._connection):
                        await self._change()
        self._end(lambda connection: connection.disconnect())
        if self._supervisor is not None:
            await asyncio.wait([self._supervisor], timeout=1)

    def _all_sent(self, connection: Connection) -> bool:
        return not self._outbox.messages and connection.drained

    def abort(self) -> None:
        self._end(lambda connection: connection.abort())

    def _end(self, leave: Callable[[Connection], None]) -> None:
        if self._state is _State.CLOSED:
            return
        self._state = _State.CLOSED
        connection, self._connection = self._connection, None
        if connection is not None:
            leave(connection)
        if self._dialling is not None:
            self._dialling.abort()
        if self._supervisor is not None:
            self._supervisor.cancel()
        sent: list[Entry] = [] if connection is None else list(connection.unacknowledged.values())
        self._outbox.fail_all(
            sent, TransportClosed(f"the transport to {self._url.redacted} was closed before the acknowledgement")
        )
        self._wake()

    # -- small parts

    async def _established(self) -> Connection:
        while True:
            self._require_open()
            if self._connection is not None:
                return self._connection
            await self._change()

    async def _change(self) -> None:
        """Return when something has changed that a waiter may care for."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._changed.append(future)
        await future

    def _wake(self) -> None:
        waiters, self._changed = self._changed, []
        for future in waiters:
            if not future.done():
                future.set_result(None)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _require_open(self) -> None:
        if self._state is not _State.OPEN:
            raise TransportClosed(f"the transport to {self._url.redacted} is {self._state.value}")

    def _require_not_closed(self) -> None:
        if self._state is _State.CLOSED:
            raise TransportClosed(f"the transport to {self._url.redacted} was closed while it was connecting")

    def _notify(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception:
            logger.exception("the listener of the transport to %s failed", self._url.redacted)

    def received(self, message: InboundMessage) -> None:
        try:
            self._listener.on_message(message)
        except Exception:
            logger.exception("the listener failed on a message to %r", message.topic)

    def acknowledged(self, entry: Entry, error: TransportError | None) -> None:
        self._outbox.settle(entry, error)
        if self._outbox.waiting:
            self._pump()
        elif self._changed:
            self._wake()

    def roomy(self) -> None:
        if self._outbox.waiting:
            self._pump()
        elif self._changed:
            self._wake()


class _Events:
    """Passes on what one connection tells, and which connection it was."""

    connection: Connection

    def __init__(self, transport: MqttTransport) -> None:
        self._transport = transport
        self.received = transport.received
        self.acknowledged = transport.acknowledged
        self.roomy = transport.roomy

    def lost(self, reason: str) -> None:
        self._transport._lost(self.connection, reason)


async def _fail(error: BeskarError) -> None:
    raise error


def _tls_context(url: BrokerUrl, options: TransportOptions) -> ssl.SSLContext | None:
    if not url.uses_tls:
        return None
    try:
        context = ssl.create_default_context(cafile=options.ca_file)
        if options.cert_file is not None:
            context.load_cert_chain(options.cert_file, options.key_file)
    except OSError as error:
        files = ", ".join(file for file in (options.ca_file, options.cert_file, options.key_file) if file)
        raise InvalidValue(f"cannot read the TLS files ({files}): {error}") from error
    return context
