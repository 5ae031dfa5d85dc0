"""One accepted connection of the embedded broker: hands bytes to the core, and takes them from it.

The time to CONNECT counts from the moment the connection is accepted, so that the handshakes of TLS and WebSocket are
in it. A connection over the broker's bound is closed without a word, before any handshake; one in its TLS handshake
counts. Where accounts are asked for, a gate holds back what comes until the client is let in.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, cast

from mqtt5 import ConnAckPacket, ConnAckReasonCode, ConnectPacket, DisconnectReasonCode

from beskar_jobs.broker.access import Identity
from beskar_jobs.broker.admission import Gate
from beskar_jobs.broker.core import BrokerCore
from beskar_jobs.broker.framing import MAX_CONNECT_SIZE, PeerFault, decode, packet_end
from beskar_jobs.broker.sessions import BrokerLimits, Peer

if TYPE_CHECKING:
    from beskar_jobs.broker.websocket import WebSocketStream  # its library loads only where it is used

logger = logging.getLogger("beskar_jobs.broker")

_CONNECT = 0x10

LINGER = 1.0
"""Seconds that a connection gets to take its last bytes after the broker has closed it."""


class Owner(Protocol):
    """What a connection needs of the server."""

    core: BrokerCore
    limits: BrokerLimits
    loop: asyncio.AbstractEventLoop
    stall_timeout: float
    gate: Gate | None
    tasks: set[asyncio.Task[None]]

    def changed(self) -> None:
        """The core may have output."""

    def came(self, connection: Connection) -> None: ...

    def went(self, connection: Connection) -> None: ...

    def admitted(self, identity: Identity) -> None: ...

    def has_room(self) -> bool:
        """Whether another connection may be taken in."""
        ...


class Connection(asyncio.Protocol):
    """A connection over TCP, TLS or a Unix socket.

    Attributes:
        ended: done when it is gone.
        certificate_name: common name in the certificate that the client showed; ``None`` if it showed none.
        identity: who it is, once it was let in by a gate.
    """

    def __init__(self, owner: Owner, number: int) -> None:
        self._owner = owner
        self._core = owner.core
        self._number = number
        self._accepted = time.monotonic()
        self._transport: asyncio.Transport
        self.peer: Peer | None = None
        self._stall: asyncio.TimerHandle | None = None
        self._linger: asyncio.TimerHandle | None = None
        self._early: list[bytes] = []
        self._gone = False
        self.certificate_name: str | None = None
        self.identity: Identity | None = None
        self._gate = owner.gate
        self._held = bytearray()
        self._knocked = False
        self.ended: asyncio.Future[None] = owner.loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._gone:
            return
        if not self._owner.has_room():
            self._transport.abort()
            return
        self._transport.set_write_buffer_limits(high=self._owner.limits.high_water)
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family in {socket.AF_INET, socket.AF_INET6}:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        address = transport.get_extra_info("peername")
        label = f"{address[0]}:{address[1]}" if isinstance(address, tuple) else f"connection {self._number}"
        self.certificate_name = _common_name(transport.get_extra_info("peercert"))
        self.peer = self._core.attach(label, self, self._accepted)
        self._owner.came(self)
        self._owner.changed()
        early, self._early = self._early, []
        for data in early:
            self.data_received(data)

    def data_received(self, data: bytes) -> None:
        if self.peer is None:  # what came with the end of a TLS handshake
            self._early.append(data)
            return
        self._feed(self.peer, data)
        self._owner.changed()

    def eof_received(self) -> bool:
        self._gone = True
        self._lost()
        if self.peer is not None:
            self._transport.abort()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone = True
        self._lost()
        for timer in (self._stall, self._linger):
            if timer is not None:
                timer.cancel()
        self._owner.went(self)
        if not self.ended.done():
            self.ended.set_result(None)

    def pause_writing(self) -> None:
        if self.peer is not None:
            self.peer.paused = True
            self._stall = self._owner.loop.call_later(self._owner.stall_timeout, self._cut_off)

    def resume_writing(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
        if self.peer is not None:
            self._core.drained(self.peer, time.monotonic())
            self._owner.changed()

    def flush(self) -> None:
        """Send what the core has for this peer."""
        peer = self.peer
        assert peer is not None
        data = peer.take()
        if data:
            self._write(data)
        if peer.closing:
            if self._linger is None:
                self._end()
                self._linger = self._owner.loop.call_later(LINGER, self.abort)
        elif not peer.paused and peer.session is not None and peer.session.queue:
            self._core.drained(peer, time.monotonic())
            self._owner.changed()

    def abort(self) -> None:
        self._transport.abort()

    def _feed(self, peer: Peer, data: bytes) -> None:
        if self._gate is None:
            self._core.receive(peer, data, time.monotonic())
            return
        self._held += data
        if self._knocked or peer.closing:
            return
        if self._held[0] != _CONNECT:
            logger.info("connection of %s closed: the first packet is not CONNECT", peer.label)
            peer.close(None)
            return
        try:
            packet = _whole_connect(self._held)
        except PeerFault:
            # Malformed, or too large: the core comes to the same finding, and has the words for it.
            self._knocked = True
            self._core.receive(peer, bytes(self._held), time.monotonic())
            return
        if packet is not None:
            self._knocked = True
            self._transport.pause_reading()
            task = self._owner.loop.create_task(self._knock(self._gate, peer, packet))
            self._owner.tasks.add(task)
            task.add_done_callback(self._owner.tasks.discard)

    async def _knock(self, gate: Gate, peer: Peer, packet: ConnectPacket) -> None:
        verdict = await gate.judge(packet, self.certificate_name, peer.label)
        if peer.closing:
            return
        if isinstance(verdict, ConnAckReasonCode):
            peer.send(ConnAckPacket(reason_code=verdict).write())
            peer.close(None)
        else:
            self.identity = verdict
            self._owner.admitted(verdict)
            self._gate = None
            self._core.receive(peer, bytes(self._held), time.monotonic())
            self._held.clear()
            self._transport.resume_reading()
        self._owner.changed()

    def _write(self, data: bytes) -> None:
        self._transport.write(data)

    def _end(self) -> None:
        self._transport.close()

    def _lost(self) -> None:
        if self.peer is not None:
            self._core.lost(self.peer, time.monotonic())
            self._owner.changed()

    def _cut_off(self) -> None:
        label = "" if self.peer is None else self.peer.label
        logger.warning("connection of %s cut off: it took nothing for %g s", label, self._owner.stall_timeout)
        self._lost()
        self._transport.abort()


class WebSocketConnection(Connection):
    """The same over a WebSocket."""

    def __init__(self, owner: Owner, number: int, stream: WebSocketStream) -> None:
        super().__init__(owner, number)
        self._stream = stream
        self._admitted = False

    def data_received(self, data: bytes) -> None:
        peer = self.peer
        if peer is None:
            self._early.append(data)
            return
        if self._stream.closed:
            return
        if not self._admitted and peer.session is not None:
            self._admitted = True
            self._stream.admit(self._owner.limits.max_packet_size)
        for piece in self._stream.receive(data):
            self._feed(peer, piece)
        answer = self._stream.to_send()
        if answer:
            self._transport.write(answer)
        if self._stream.closed:
            self._lost()
            self._transport.close()
            if self._linger is None:
                self._linger = self._owner.loop.call_later(LINGER, self.abort)
        self._owner.changed()

    def _write(self, data: bytes) -> None:
        framed = self._stream.wrap(data)
        if framed and not self._transport.is_closing():
            self._transport.write(framed)

    def _end(self) -> None:
        if not self._transport.is_closing():
            last = self._stream.finish()
            if last:
                self._transport.write(last)
        self._transport.close()


class TlsAcceptor(asyncio.Protocol):
    """A connection whose TLS handshake is going on; *make* makes what follows."""

    def __init__(
        self, owner: Owner, context: ssl.SSLContext, make: Callable[[], Connection], pending: set[asyncio.Task[None]]
    ) -> None:
        self._owner = owner
        self._context = context
        self._make = make
        self._pending = pending
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        stream = cast(asyncio.Transport, transport)
        if not self._owner.has_room():
            stream.abort()
            return
        # Nothing may be read before the handshake takes over: it would be lost.
        stream.pause_reading()
        self._task = self._owner.loop.create_task(self._shake_hands(stream, self._make()))
        self._pending.add(self._task)
        self._task.add_done_callback(self._pending.discard)

    async def _shake_hands(self, transport: asyncio.Transport, connection: Connection) -> None:
        try:
            secure = await self._owner.loop.start_tls(
                transport,
                connection,
                self._context,
                server_side=True,
                ssl_handshake_timeout=self._owner.limits.connect_timeout,
                ssl_shutdown_timeout=LINGER,
            )
        except (OSError, asyncio.CancelledError) as error:  # ssl.SSLError is an OSError, a timeout is one, too
            logger.info("TLS handshake with %s failed: %s", transport.get_extra_info("peername"), error)
            transport.abort()
            return
        if secure is None:
            transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._pending.discard(task)  # from here on it counts as a connection
        connection.connection_made(secure)


def _whole_connect(data: bytearray) -> ConnectPacket | None:
    """The CONNECT that *data* starts with; ``None`` if it is not complete.

    Raises:
        PeerFault: it is malformed or too large.
    """
    bounds = None if len(data) < 2 else packet_end(data, 0)
    if bounds is None:
        return None
    body, stop = bounds
    if stop > MAX_CONNECT_SIZE:
        raise PeerFault(DisconnectReasonCode.PACKET_TOO_LARGE, f"a CONNECT of {stop} bytes is over the limit")
    if stop > len(data):
        return None
    packet = decode(bytes(memoryview(data)[:stop]), body)
    assert isinstance(packet, ConnectPacket)
    return packet


def _common_name(certificate: object) -> str | None:
    if not isinstance(certificate, dict):
        return None
    for pairs in certificate.get("subject", ()):
        for key, value in pairs:
            if key == "commonName":
                return str(value)
    return None
