"""A connection that comes back by itself, and what outlives a single one: the common part of all transports.

One :class:`~beskar_jobs.transport.link.Link` at a time does the talking. What is kept here, over all of them, is the
list of subscriptions, the queue of what is to be sent, and the number of the connection. Sessions are never resumed
(clean start, expiry 0): after each connect the filters are subscribed again, the listener is told, and then what was
not acknowledged is sent again, in order.

The back-off doubles with every attempt and starts anew only after a connection that held for as long as its cap, so
that a broker which accepts and drops at once (a take-over, a message it cannot bear) is not hammered. An outage is
logged twice: when the connection is lost, and when it is back; a broker that does not answer at the start, once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from abc import ABC, abstractmethod
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
from beskar_jobs.transport.link import ConnectFailed, ConnectionLost, Link, LinkEvents
from beskar_jobs.transport.outbox import Entry, Outbox

logger = logging.getLogger(__name__)

_DRAIN: Final = 5.0  # seconds that close() gives to what is queued
_FILTERS_AT_ONCE: Final = 1000  # in one SUBSCRIBE, so that the packet stays below any broker's limit


class _State(Enum):
    NEW = "not open yet"
    OPENING = "still opening"
    OPEN = "open"
    CLOSED = "closed"


class ReconnectingTransport(ABC):
    """:class:`~beskar_jobs.ports.transport.Transport`, but for the making of a link.

    Args:
        address: the URL as it may be shown.
        advice: what to do when nobody answers there, for the error's text.
    """

    def __init__(self, address: str, options: TransportOptions, listener: TransportListener, *, advice: str) -> None:
        self._address = address
        self._options = options
        self._listener = listener
        self._advice = advice
        self._outbox = Outbox(options.max_outbound, options.max_outbound_bytes)
        self._filters: dict[str, None] = {}
        self._state = _State.NEW
        self._number = 0
        self._attempt = 0
        self._link: Link | None = None  # established: subscribed and announced
        self._dialling: Link | None = None
        self._since = 0.0
        self._supervisor: asyncio.Task[None] | None = None
        self._changed: list[asyncio.Future[None]] = []  # who waits for a connection, its loss, or an empty queue

    @abstractmethod
    def _make_link(self, will: OutboundMessage | None, events: LinkEvents) -> Link:
        """A new link, not dialled yet.

        Raises:
            ConnectFailed: there is nothing to dial.
        """

    @property
    def connected(self) -> bool:
        return self._link is not None

    # -- opening and reconnecting --------------------------------------------------------------------------------------

    async def open(self) -> None:
        if self._state is not _State.NEW:
            raise TransportClosed(f"the transport to {self._address} is {self._state.value}; make a new one")
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
                    way_out = "" if error.final else f"; {self._advice}"
                    text = f"cannot connect to {self._address}: {error}{way_out}"
                    raise BrokerUnreachable(text, denied=error.denied) from error
                left = deadline - self._now()
                if not told and left > 1.0:  # who waits for less than a second need not be told why
                    told = True
                    logger.warning("connecting to %s (for up to %.0f s): %s", self._address, left, error)
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
        link = self._make_link(self._options.will(number) if self._options.will is not None else None, events)
        events.link = self._dialling = link
        deadline = self._now() + timeout
        try:
            await link.dial(timeout)
            # From here on the broker may know the Will with this number, so no other connection may use it.
            self._number = number
            async with asyncio.timeout_at(deadline):
                await link.handshake()
                self._require_not_closed()
                await self._subscribe_again(link)
        except TimeoutError:
            link.abort()
            raise ConnectFailed(f"the broker did not answer within {timeout:.1f} s") from None
        except ConnectionLost as error:
            raise ConnectFailed(str(error)) from error
        except BaseException:
            link.abort()
            raise
        finally:
            self._dialling = None
        self._require_not_closed()
        if link.ended:
            raise ConnectFailed("the connection was lost at once")
        self._state = _State.OPEN
        self._link = link
        self._since = self._now()
        self._notify(lambda: self._listener.on_connected(number))
        self._wake()
        self._pump()

    async def _subscribe_again(self, link: Link) -> None:
        every = list(self._filters)
        for start in range(0, len(every), _FILTERS_AT_ONCE):
            filters = every[start : start + _FILTERS_AT_ONCE]
            for text, code in zip(filters, await link.subscribe(filters), strict=True):
                if code >= 0x80:
                    logger.error("%s no longer grants the subscription to %r (0x%02x)", self._address, text, code)

    def _reconnect(self) -> None:
        if self._supervisor is None or self._supervisor.done():
            self._supervisor = asyncio.get_running_loop().create_task(self._keep_trying(), name="beskar-reconnect")

    async def _keep_trying(self) -> None:
        started = self._now()
        while self._link is None and self._state is not _State.CLOSED:
            await asyncio.sleep(self._next_pause())
            try:
                await self._establish(self._options.connect_timeout)
            except TransportError as error:
                logger.debug("still no connection to %s: %s", self._address, error)
            except Exception:  # a Will that cannot be made, for example: it must not end the attempts
                logger.exception("cannot reconnect to %s; trying again", self._address)
        if self._link is not None:
            logger.info("connected again to %s after %.1f s", self._address, self._now() - started)

    def _lost(self, link: Link, reason: str) -> None:
        if link is not self._link:
            return
        self._link = None
        if self._now() - self._since >= self._options.reconnect_cap:
            self._attempt = 0
        self._outbox.put_back(link.unacknowledged.values())
        self._wake()
        logger.warning("lost the connection to %s: %s; reconnecting", self._address, reason)
        self._notify(lambda: self._listener.on_disconnected(reason))
        self._reconnect()

    # -- subscribing ---------------------------------------------------------------------------------------------------

    async def subscribe(self, filters: Sequence[str]) -> None:
        while filters:
            link = await self._established()
            try:
                codes = await link.subscribe(filters)
            except ConnectionLost:
                continue
            refused = [text for text, code in zip(filters, codes, strict=True) if code >= 0x80]
            if refused:
                others = [text for text in filters if text not in refused and text not in self._filters]
                if others and link is self._link:
                    with contextlib.suppress(ConnectionLost):
                        await link.unsubscribe(others)
                texts = ", ".join(map(repr, refused))
                raise SubscriptionRefused(f"{self._address} refuses to subscribe to {texts}; may this user read there?")
            if link is self._link:
                self._filters.update(dict.fromkeys(filters))
                return

    async def unsubscribe(self, filters: Sequence[str]) -> None:
        self._require_open()
        for text in filters:
            self._filters.pop(text, None)
        link = self._link
        if link is not None and filters:  # else: not subscribed again, which is all that is wanted
            with contextlib.suppress(ConnectionLost):
                await link.unsubscribe(filters)

    # -- publishing ----------------------------------------------------------------------------------------------------

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
        """Hand over what waits, as far as the link takes it."""
        if self._link is not None:
            self._link.hand_over(self._outbox)

    # -- closing -------------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        if self._state is _State.CLOSED:
            return
        if self._state is _State.OPEN:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN):
                    while self._link is not None and not self._all_sent(self._link):
                        await self._change()
        self._end(lambda link: link.disconnect())
        if self._supervisor is not None:
            await asyncio.wait([self._supervisor], timeout=1)

    def _all_sent(self, link: Link) -> bool:
        return not self._outbox.messages and link.drained

    def abort(self) -> None:
        self._end(lambda link: link.abort())

    def _end(self, leave: Callable[[Link], None]) -> None:
        if self._state is _State.CLOSED:
            return
        self._state = _State.CLOSED
        link, self._link = self._link, None
        if link is not None:
            leave(link)
        if self._dialling is not None:
            self._dialling.abort()
        if self._supervisor is not None:
            self._supervisor.cancel()
        sent: list[Entry] = [] if link is None else list(link.unacknowledged.values())
        self._outbox.fail_all(
            sent, TransportClosed(f"the transport to {self._address} was closed before the acknowledgement")
        )
        self._wake()

    # -- small parts ---------------------------------------------------------------------------------------------------

    async def _established(self) -> Link:
        while True:
            self._require_open()
            if self._link is not None:
                return self._link
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
            raise TransportClosed(f"the transport to {self._address} is {self._state.value}")

    def _require_not_closed(self) -> None:
        if self._state is _State.CLOSED:
            raise TransportClosed(f"the transport to {self._address} was closed while it was connecting")

    def _notify(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception:
            logger.exception("the listener of the transport to %s failed", self._address)


class _Events:
    """Takes in what one link tells, and knows which link it was."""

    link: Link

    def __init__(self, transport: ReconnectingTransport) -> None:
        self._transport = transport
        self._deliver = transport._listener.on_message
        self._outbox = transport._outbox
        self.acknowledged = transport._outbox.settle

    def received(self, message: InboundMessage) -> None:
        try:
            self._deliver(message)
        except Exception:
            logger.exception("the listener failed on a message to %r", message.topic)

    def roomy(self) -> None:
        if self._outbox.waiting:
            self._transport._pump()
        elif self._transport._changed:
            self._transport._wake()

    def lost(self, reason: str) -> None:
        self._transport._lost(self.link, reason)


async def _fail(error: BeskarError) -> None:
    raise error
