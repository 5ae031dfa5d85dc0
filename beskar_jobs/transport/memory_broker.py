"""The broker of the in-memory transport: the core of the embedded broker, shared by threads, and faults on demand.

Links (connections without a socket) may live on different event loops in different threads. One lock guards the core;
it is held while bytes pass through it, never while anything of the application runs. What comes out for a link is put
into its inbox, and its loop is woken once per batch. A loop that is closed counts as a dead process: its links are
lost, and their Wills published.

Time: the core's deadlines (session expiry, delayed Wills, expiry of retained messages) are looked at with every use of
the broker, and in :meth:`MemoryBroker.tick`; there is no timer, so that simulated time works as well. A link has no
keep-alive, for it cannot be half open.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Self, cast

from beskar_jobs.broker.core import BrokerCore
from beskar_jobs.broker.routing import Router
from beskar_jobs.broker.sessions import BrokerLimits, Peer
from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.ports.transport import InboundMessage, OutboundMessage

PublishFilter = Callable[[str, OutboundMessage], Sequence[OutboundMessage]]
DeliveryFilter = Callable[[str, InboundMessage], Sequence[InboundMessage]]

_brokers: weakref.WeakValueDictionary[str, MemoryBroker] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


def find_memory_broker(url: str) -> MemoryBroker | None:
    """The broker with this URL, if it is still in use anywhere in the process."""
    return _brokers.get(url)


class MemoryPipe:
    """One connection to a :class:`MemoryBroker`. *wake* is called on *loop* when the inbox has something new.

    Attributes:
        inbox: guarded by the broker's lock, like the attributes below.
        closed: the broker has ended the connection; what is in the inbox still counts.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        self.loop = loop
        self.wake = wake
        self.peer: Peer | None = None
        self.inbox: list[bytes] = []
        self.inbox_size = 0
        self.waking = False
        self.closed = False


class MemoryBroker:
    """An MQTT 5 broker within the process; transports find it by its :attr:`url`.

    Usable at once; ``async with`` and ``with`` stop it at the end. It lives as long as somebody refers to it.

    Args:
        name: makes the URL ``memory://name``; without it a number is used.
        limits: bounds; see :class:`~beskar_jobs.broker.BrokerLimits`.
        now: monotonic seconds; another function makes it a broker in simulated time.

    Attributes:
        intercept: asked for every message that a client publishes, with the client's identifier; what it returns is
            published instead: nothing (lost, though acknowledged to the publisher), the message twice, another.
            Called on the thread of that client.
        intercept_delivery: the same for every message on its way to a client.

    Raises:
        InvalidValue: a broker with this name is in use.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        limits: BrokerLimits | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.url = f"memory://{name or next(_numbers)}"
        self.intercept: PublishFilter | None = None
        self.intercept_delivery: DeliveryFilter | None = None
        self._limits = limits or BrokerLimits()
        self._now = now
        self._lock = threading.Lock()
        self._client_numbers = itertools.count(1)
        self._core: BrokerCore | None = self._make_core(None)
        self._stopped: Router | None = None
        if self.url in _brokers:
            raise InvalidValue(f"an in-memory broker with the URL {self.url} is in use; choose another name")
        _brokers[self.url] = self

    def _make_core(self, router: Router | None) -> BrokerCore:
        return BrokerCore(self._limits, lambda: f"auto-{next(self._client_numbers)}", router)

    @property
    def running(self) -> bool:
        return self._core is not None

    @property
    def connected_clients(self) -> Sequence[str]:
        with self._lock:
            return [] if self._core is None else self._core.connected_clients()

    # Faults, from any thread

    def drop_connection(self, client_id: str) -> bool:
        """Cut the connection of a client, as a reset does: what is on its way to it is lost, its Will is published.

        Returns:
            Whether the client was connected.
        """
        with self._lock:
            core = self._core
            session = None if core is None else core.sessions.get(client_id)
            if core is None or session is None or session.peer is None:
                return False
            link = cast(MemoryPipe, session.peer.context)
            link.inbox.clear()
            self._lose(core, link)
            link.closed = True
            self._wake(link)
            self._distribute(core)
            return True

    def stop(self) -> None:
        """Shut down: all connections end, and none can be made, until :meth:`restart`. No Will is published."""
        with self._lock:
            core, self._core = self._core, None
            if core is None:
                return
            self._stopped = core.router
            core.shut_down()
            self._distribute(core)

    def restart(self, *, keep_retained: bool = True) -> None:
        """Come back, after a :meth:`stop` if there was none; sessions are forgotten, retained messages if asked to."""
        self.stop()
        with self._lock:
            router, self._stopped = self._stopped, None
            self._core = self._make_core(router.successor() if keep_retained and router is not None else None)

    def tick(self) -> None:
        """Look at the deadlines. Only needed where nobody uses the broker while time passes."""
        with self._lock:
            if self._core is not None:
                self._core.tick(self._now())
                self._distribute(self._core)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()

    # For transports

    def connect(self, link: MemoryPipe) -> bool:
        """Accept *link*; ``False`` if the broker is stopped."""
        with self._lock:
            if self._core is None:
                return False
            link.peer = self._core.attach(self.url, link, self._now())
            return True

    def send(self, link: MemoryPipe, data: bytes) -> None:
        """Take bytes from *link*. Nothing happens if its connection is gone."""
        with self._lock:
            core = self._core
            if core is None or link.peer is None or link.closed:
                return
            now = self._now()
            core.tick(now)
            core.receive(link.peer, data, now)
            self._distribute(core)

    def take(self, link: MemoryPipe) -> tuple[bytes, bool]:
        """What has come for *link*, and whether its connection has ended after that."""
        with self._lock:
            link.waking = False
            data = b"".join(link.inbox)
            link.inbox.clear()
            link.inbox_size = 0
            if self._core is not None and link.peer is not None and link.peer.paused:
                self._core.drained(link.peer, self._now())
                self._distribute(self._core)
            return data, link.closed and not link.inbox

    def leave(self, link: MemoryPipe) -> None:
        """The client has closed its end; without a DISCONNECT before, its Will is published."""
        with self._lock:
            link.closed = True
            if self._core is not None:
                self._lose(self._core, link)
                self._distribute(self._core)

    # With the lock held

    def _lose(self, core: BrokerCore, link: MemoryPipe) -> None:
        if link.peer is not None:
            core.lost(link.peer, self._now())

    def _distribute(self, core: BrokerCore) -> None:
        """Move what the core has for its peers into the inboxes, until it has no more."""
        while ready := core.take_ready():
            for peer in ready:
                link = cast(MemoryPipe, peer.context)
                data = peer.take()
                if link.closed:
                    continue
                link.inbox.append(data)
                link.inbox_size += len(data)
                if peer.closing:
                    link.closed = True
                elif link.inbox_size >= self._limits.high_water:
                    peer.paused = True
                elif peer.session is not None and peer.session.queue:
                    core.drained(peer, self._now())
                if not self._wake(link):
                    self._lose(core, link)

    def _wake(self, link: MemoryPipe) -> bool:
        """Have the link's loop look at its inbox; ``False`` if the loop is closed."""
        if link.waking:
            return True
        link.waking = True
        try:
            # The loop that runs in this thread need not be roused through its self-pipe, which costs a system call.
            if asyncio._get_running_loop() is link.loop:
                link.loop.call_soon(link.wake)
            else:
                link.loop.call_soon_threadsafe(link.wake)
        except RuntimeError:
            link.closed = True
            return False
        return True
