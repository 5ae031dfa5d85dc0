"""The asyncio server around the core: sockets, time, and nothing else.

One joined write per peer and turn of the loop: what a turn produces for a peer, however many messages, goes out in one
``send`` in the next turn. A peer that reads slowly is handled in three steps:

1. Its transport's buffer passes the high-water mark: what comes for it is queued, by reference, in its session.
2. The queue reaches its bound: the newest messages are dropped, counted and logged.
3. Nothing could be sent for ``stall_timeout`` seconds: the connection is cut, and the Will is published.

An end of stream is the end of the connection, at once: buffered output is discarded, for nobody would read it, and a
Will goes out in the same turn of the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import secrets
import socket
import time
from typing import Self, cast

from beskar_jobs.broker.core import BrokerCore
from beskar_jobs.broker.sessions import BrokerLimits, Peer

logger = logging.getLogger("beskar_jobs.broker")

_LINGER = 1.0
"""Seconds that a connection gets to take its last bytes after the broker has closed it."""

_BACKLOG = 1024
"""Connections that may wait to be accepted: after a restart all clients come at once."""


def _make_client_id() -> str:
    return f"auto-{secrets.token_hex(8)}"


class EmbeddedBroker:
    """An MQTT 5 broker on the running event loop.

    ``async with EmbeddedBroker() as broker: ...`` listens on a free port of the loopback address; ``broker.url`` says
    which. After :meth:`stop`, :meth:`start` listens again on the same port, as an empty broker.

    Args:
        host: address to listen on.
        port: TCP port; 0: a free one.
        unix_path: listen on this Unix socket, and on no TCP port; *host* and *port* do not count then.
        limits: bounds; see :class:`BrokerLimits`.
        stall_timeout: seconds after which a peer is cut off that takes nothing.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        unix_path: str | os.PathLike[str] | None = None,
        limits: BrokerLimits | None = None,
        stall_timeout: float = 60.0,
    ) -> None:
        self._host = host
        self._port = port
        self._unix_path = None if unix_path is None else os.fspath(unix_path)
        self._limits = limits or BrokerLimits()
        self._stall_timeout = stall_timeout
        self._running: _Running | None = None

    @property
    def port(self) -> int:
        """The TCP port; 0 if the broker has not been started yet, or listens on a Unix socket."""
        return 0 if self._unix_path is not None else self._port

    @property
    def url(self) -> str:
        """What clients connect to, for example ``mqtt://127.0.0.1:18830``."""
        if self._unix_path is not None:
            return f"mqtt+unix://{os.path.abspath(self._unix_path)}"
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._host, self._host)
        return f"mqtt://[{host}]:{self._port}" if ":" in host else f"mqtt://{host}:{self._port}"

    @property
    def dropped_messages(self) -> int:
        """Messages that did not fit into a client's queue, or into the packets it takes, since the last start."""
        return 0 if self._running is None else self._running.core.counters.dropped

    async def start(self) -> None:
        """Listen. Does nothing if it runs already.

        Raises:
            OSError: the address cannot be listened on.
        """
        if self._running is not None:
            return
        running = _Running(self._limits, self._stall_timeout)
        loop = asyncio.get_running_loop()
        if self._unix_path is not None:
            running.server = await loop.create_unix_server(running.accept, self._unix_path, backlog=_BACKLOG)
        else:
            running.server = await loop.create_server(running.accept, self._host, self._port, backlog=_BACKLOG)
            self._port = running.server.sockets[0].getsockname()[1]
        self._running = running
        logger.info("broker listens on %s", self.url)

    async def stop(self) -> None:
        """Tell every client that the server shuts down (0x8B), and close. Takes a second at most."""
        running, self._running = self._running, None
        if running is None:
            return
        await running.stop()
        if self._unix_path is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._unix_path)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


class _Running:
    """A broker between its start and its stop."""

    def __init__(self, limits: BrokerLimits, stall_timeout: float) -> None:
        self.core = BrokerCore(limits, _make_client_id)
        self.limits = limits
        self.stall_timeout = stall_timeout
        self.loop = asyncio.get_running_loop()
        self.server: asyncio.Server | None = None
        self.connections: set[_Connection] = set()
        self._numbers = itertools.count(1)
        self._flush_due = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    def accept(self) -> asyncio.Protocol:
        return _Connection(self, next(self._numbers))

    def changed(self) -> None:
        """The core may have output: flush in the next turn."""
        if not self._flush_due:
            self._flush_due = True
            self.loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_due = False
        for peer in self.core.take_ready():
            cast(_Connection, peer.context).flush()
        at = self.core.next_deadline()
        if at is not None and (self._timer is None or at < self._timer_at):
            if self._timer is not None:
                self._timer.cancel()
            self._timer_at = at
            self._timer = self.loop.call_later(max(0.0, at - time.monotonic()), self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.core.tick(time.monotonic())
        self.changed()

    async def stop(self) -> None:
        assert self.server is not None
        self.server.close()
        self.core.shut_down()
        self._flush()
        if self._timer is not None:
            self._timer.cancel()
        ends = [connection.ended for connection in self.connections]
        if ends:
            await asyncio.wait(ends, timeout=_LINGER)
        for connection in list(self.connections):
            connection.abort()
        await self.server.wait_closed()


class _Connection(asyncio.Protocol):
    """One accepted connection: hands bytes to the core, and takes them from it."""

    def __init__(self, running: _Running, number: int) -> None:
        self._running = running
        self._core = running.core
        self._number = number
        self._transport: asyncio.Transport
        self._peer: Peer
        self._stall: asyncio.TimerHandle | None = None
        self._linger: asyncio.TimerHandle | None = None
        self.ended: asyncio.Future[None] = running.loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=self._running.limits.high_water)
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family in {socket.AF_INET, socket.AF_INET6}:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        address = transport.get_extra_info("peername")
        label = f"{address[0]}:{address[1]}" if isinstance(address, tuple) else f"connection {self._number}"
        self._peer = self._core.attach(label, self, time.monotonic())
        self._running.connections.add(self)
        self._running.changed()

    def data_received(self, data: bytes) -> None:
        self._core.receive(self._peer, data, time.monotonic())
        self._running.changed()

    def eof_received(self) -> bool:
        self._lost()
        self._transport.abort()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost()
        for timer in (self._stall, self._linger):
            if timer is not None:
                timer.cancel()
        self._running.connections.discard(self)
        if not self.ended.done():
            self.ended.set_result(None)

    def pause_writing(self) -> None:
        self._peer.paused = True
        self._stall = self._running.loop.call_later(self._running.stall_timeout, self._cut_off)

    def resume_writing(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
        self._core.drained(self._peer, time.monotonic())
        self._running.changed()

    def flush(self) -> None:
        """Send what the core has for this peer."""
        peer = self._peer
        data = peer.take()
        if data:
            self._transport.write(data)
        if peer.closing:
            if self._linger is None:
                self._transport.close()
                self._linger = self._running.loop.call_later(_LINGER, self.abort)
        elif not peer.paused and peer.session is not None and peer.session.queue:
            self._core.drained(peer, time.monotonic())
            self._running.changed()

    def abort(self) -> None:
        self._transport.abort()

    def _lost(self) -> None:
        self._core.lost(self._peer, time.monotonic())
        self._running.changed()

    def _cut_off(self) -> None:
        logger.warning(
            "connection of %s cut off: it took nothing for %g s", self._peer.label, self._running.stall_timeout
        )
        self._lost()
        self._transport.abort()
