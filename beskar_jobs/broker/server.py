"""The asyncio server around the core: sockets, time, and nothing else.

One joined write per peer and turn of the loop: what a turn produces for a peer, however many messages, goes out in one
``send`` in the next turn. A peer that reads slowly is handled in three steps:

1. Its transport's buffer passes the high-water mark: what comes for it is queued, by reference, in its session.
2. The queue reaches its bound: the newest messages are dropped, counted and logged.
3. Nothing could be sent for ``stall_timeout`` seconds: the connection is cut, and the Will is published.

An end of stream is the end of the connection, at once: buffered output is discarded, for nobody would read it, and a
Will goes out in the same turn of the loop.

Several places may be listened on at once; all lead to the same broker. If one cannot be listened on, none is.

With ``persist`` retained messages and sessions are kept in a file (:mod:`~beskar_jobs.broker.durability`): it is read
before the first connection, and written last at the stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import importlib.util
import itertools
import logging
import math
import os
import secrets
import ssl
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self, cast

import attrs

from beskar_jobs.broker.access import ROLES, AccessRules, Identity, load_roles
from beskar_jobs.broker.accounts import load_accounts
from beskar_jobs.broker.admission import Admission, Gate
from beskar_jobs.broker.connections import LINGER, Connection, TlsAcceptor, WebSocketConnection
from beskar_jobs.broker.core import BrokerCore
from beskar_jobs.broker.durability import DurableJournal, open_journal
from beskar_jobs.broker.framing import MAX_CONNECT_SIZE
from beskar_jobs.broker.guarded import GuardedCore
from beskar_jobs.broker.listeners import BrokerTls, Place, check_places, parse_place
from beskar_jobs.broker.sessions import BrokerLimits, Peer
from beskar_jobs.broker.system_topics import SystemTopics
from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.wire.topics import DEFAULT_PREFIX

logger = logging.getLogger("beskar_jobs.broker")

_BACKLOG = 1024
"""Connections that may wait to be accepted: after a restart all clients come at once."""


def _make_client_id() -> str:
    return f"auto-{secrets.token_hex(8)}"


def _need_websockets(place: Place) -> None:
    if importlib.util.find_spec("websockets") is None:
        raise InvalidValue(f"{place.url} needs the package websockets; install 'beskar-jobs[embedded]'")


def _version() -> str:
    try:
        return importlib.metadata.version("beskar-jobs")
    except importlib.metadata.PackageNotFoundError:  # a copy of the sources
        return "unknown"


def _identity_of(peer: Peer) -> Identity | None:
    return cast(Connection, peer.context).identity


class EmbeddedBroker:
    """An MQTT 5 broker on the running event loop.

    ``async with EmbeddedBroker() as broker: ...`` listens on a free port of the loopback address; ``broker.url`` says
    which. After :meth:`stop`, :meth:`start` listens again on the same port: as an empty broker, or with what *persist*
    has kept.

    Args:
        host: address to listen on.
        port: TCP port; 0: a free one.
        unix_path: listen on this Unix socket, and on no TCP port; *host* and *port* do not count then.
        limits: bounds; see :class:`BrokerLimits`.
        stall_timeout: seconds after which a peer is cut off that takes nothing.
        listeners: places to listen on, in place of the three above, such as ``mqtts://127.0.0.1:0``,
            ``ws://127.0.0.1:0/mqtt`` or ``mqtt+unix:///run/broker.sock``.
        tls: certificate and key for ``mqtts://`` and ``wss://``.
        password_file: accounts, one a line (:mod:`~beskar_jobs.broker.accounts`); nobody else is let in. Read at each
            start.
        acl_file: rights of roles (:func:`~beskar_jobs.broker.access.load_roles`), in place of the usual ones.
        prefix: topic prefix of the job system, for the rights.
        max_connections: connections at the same time; one more is closed at once.
        allow_anonymous_remote: listen beyond this machine although nobody is asked who it is.
        persist: file that keeps retained messages and sessions, made if it is not there; ``None``: nothing is kept. A
            killed broker loses what it did not write yet, the last tenth of a second.
        sys_interval: seconds between the figures below ``$SYS/broker``
            (:mod:`~beskar_jobs.broker.system_topics`); 0: none are published.

    Raises:
        InvalidValue: a listener cannot be meant, lacks its certificate, or would let everybody in; a bad interval.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        unix_path: str | os.PathLike[str] | None = None,
        limits: BrokerLimits | None = None,
        stall_timeout: float = 60.0,
        listeners: Sequence[str] = (),
        tls: BrokerTls | None = None,
        password_file: str | os.PathLike[str] | None = None,
        acl_file: str | os.PathLike[str] | None = None,
        prefix: str = DEFAULT_PREFIX,
        max_connections: int = 10_000,
        allow_anonymous_remote: bool = False,
        persist: str | os.PathLike[str] | None = None,
        sys_interval: float = 10.0,
    ) -> None:
        if not 0 <= sys_interval < math.inf:
            raise InvalidValue(f"sys_interval is {sys_interval}: it is in seconds, 0 for no topics below $SYS")
        if listeners:
            self._places = [parse_place(text) for text in listeners]
        elif unix_path is not None:
            self._places = [Place("mqtt+unix", path=os.fspath(unix_path))]
        else:
            self._places = [Place("mqtt", host, port)]
        authenticated = password_file is not None
        check_places(self._places, tls=tls, authenticated=authenticated, anonymous_remote=allow_anonymous_remote)
        if acl_file is not None and not authenticated:
            raise InvalidValue(
                "an ACL (acl_file, --acl-file) needs accounts: give password_file (--password-file), too"
            )
        self._password_file = None if password_file is None else Path(password_file)
        self._acl_file = None if acl_file is None else Path(acl_file)
        self._prefix = prefix
        self._limits = limits or BrokerLimits()
        self._stall_timeout = stall_timeout
        self._tls = tls
        self._max_connections = max_connections
        self._persist = None if persist is None else Path(persist)
        self._sys_interval = sys_interval
        self._running: _Running | None = None

    @property
    def port(self) -> int:
        """The TCP port of the first listener; 0 if the broker has not been started yet, or it is a Unix socket."""
        return self._places[0].port

    @property
    def url(self) -> str:
        """What clients connect to, for example ``mqtt://127.0.0.1:18830``: the first listener."""
        return self._places[0].url

    @property
    def urls(self) -> list[str]:
        """The URLs of all listeners, in the order given."""
        return [place.url for place in self._places]

    @property
    def dropped_messages(self) -> int:
        """Messages that did not fit into a client's queue, or into the packets it takes, since the last start."""
        return 0 if self._running is None else self._running.core.counters.dropped

    @property
    def denied(self) -> int:
        """Publishes and topic filters refused for want of rights, since the last start."""
        return 0 if self._running is None else self._running.denied

    async def start(self) -> None:
        """Listen. Does nothing if it runs already.

        Raises:
            OSError: an address cannot be listened on.
            InvalidValue: a certificate, a key, the password file or the ACL cannot be used.
            DatabaseFault: the file to persist in cannot be used, or is in use.
        """
        if self._running is not None:
            return
        admission = self._admission()
        context = None if self._tls is None else self._tls.context()
        journal = None if self._persist is None else await open_journal(self._persist)
        running = _Running(self._limits, self._stall_timeout, self._max_connections, admission, journal)
        try:
            running.restore()
            running.publish_figures(self._sys_interval)
            for index, place in enumerate(self._places):
                self._places[index] = await running.listen(place, context)
        except BaseException:
            await running.stop()
            raise
        self._running = running
        logger.info("broker listens on %s", ", ".join(self.urls))

    async def stop(self) -> None:
        """Tell every client that the server shuts down (0x8B), and close. Takes a second at most, and the writing.

        Raises:
            DatabaseFault: not all that was to be kept could be written; everything is closed nevertheless.
        """
        running, self._running = self._running, None
        if running is not None:
            await running.stop()

    def _admission(self) -> Admission | None:
        if self._password_file is None:
            return None
        rules = AccessRules(self._prefix, ROLES if self._acl_file is None else load_roles(self._acl_file))
        return Admission(load_accounts(self._password_file), rules)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


class _Running:
    """A broker between its start and its stop."""

    def __init__(
        self,
        limits: BrokerLimits,
        stall_timeout: float,
        max_connections: int,
        admission: Admission | None,
        journal: DurableJournal | None,
    ) -> None:
        self.limits = limits
        self.stall_timeout = stall_timeout
        self.loop = asyncio.get_running_loop()
        self.connections: set[Connection] = set()
        self.handshakes: set[asyncio.Task[None]] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.gate: Gate | None = None
        self.core: BrokerCore
        self._owners: dict[str, str] = {}
        self._journal = journal
        if admission is None:
            self.core = BrokerCore(limits, _make_client_id, journal=journal)
        else:
            self.gate = Gate(admission, self._owner_of)
            self.core = GuardedCore(limits, _make_client_id, admission.rules, _identity_of, journal)
        self._max_connections = max_connections
        self._servers: list[asyncio.Server] = []
        self._paths: list[tuple[str, int]] = []
        self._numbers = itertools.count(1)
        self._flush_due = False
        self._full = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._system_topics = SystemTopics(self.core, _version(), time.monotonic())
        self._figures: asyncio.TimerHandle | None = None

    def restore(self) -> None:
        """Put back what the journal has kept."""
        if self._journal is not None:
            self._owners = self._journal.restore(self.core, time.monotonic())
            self._journal.owner_of = self._owners_name

    def publish_figures(self, interval: float) -> None:
        """Publish the topics below ``$SYS`` now and every *interval* seconds; 0: not at all."""
        if interval:
            more = {}
            if self.gate is not None:
                more = {"refused/clients": self.gate.refused, "refused/rights": self.denied}
            self._system_topics.publish(time.monotonic(), more)
            self._figures = self.loop.call_later(interval, self.publish_figures, interval)
            self.changed()

    @property
    def denied(self) -> int:
        return self.core.denied if isinstance(self.core, GuardedCore) else 0

    async def listen(self, place: Place, context: ssl.SSLContext | None) -> Place:
        """Listen on *place*; the place as it has become, with its port."""

        def connect() -> Connection:
            number = next(self._numbers)
            if not place.is_websocket:
                return Connection(self, number)
            from beskar_jobs.broker.websocket import WebSocketStream  # noqa: PLC0415  # a slow library for few

            stream = WebSocketStream(place.path, MAX_CONNECT_SIZE, trusts_names=self.gate is not None)
            return WebSocketConnection(self, number, stream)

        def accept() -> asyncio.Protocol:
            if not place.uses_tls:
                return connect()
            assert context is not None  # check_places() has seen to it
            return TlsAcceptor(self, context, connect, self.handshakes)

        if place.is_websocket:
            _need_websockets(place)
        if place.is_unix:
            server = await self.loop.create_unix_server(accept, place.path, backlog=_BACKLOG)
            self._servers.append(server)
            self._paths.append((place.path, os.stat(place.path).st_ino))
            return place
        server = await self.loop.create_server(accept, place.host, place.port, backlog=_BACKLOG)
        self._servers.append(server)
        return attrs.evolve(place, port=server.sockets[0].getsockname()[1])

    def _owners_name(self, client_id: str) -> str | None:
        return self._owners.get(client_id)

    def _owner_of(self, client_id: str) -> str | None:
        return self._owners.get(client_id) if client_id in self.core.sessions else None

    def admitted(self, identity: Identity) -> None:
        """The client was let in: its client identifier is its user's, as long as there is a session."""
        if len(self._owners) > 2 * len(self.core.sessions) + 1000:
            self._owners = {name: user for name, user in self._owners.items() if name in self.core.sessions}
        self._owners[identity.client_id] = identity.user

    def has_room(self) -> bool:
        if len(self.connections) + len(self.handshakes) < self._max_connections:
            self._full = False
            return True
        if not self._full:
            self._full = True
            logger.warning("the broker has its %d connections; further ones are closed", self._max_connections)
        return False

    def came(self, connection: Connection) -> None:
        self.connections.add(connection)

    def went(self, connection: Connection) -> None:
        self.connections.discard(connection)

    def changed(self) -> None:
        """The core may have output: flush in the next turn."""
        if not self._flush_due:
            self._flush_due = True
            self.loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_due = False
        for peer in self.core.take_ready():
            cast(Connection, peer.context).flush()
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
        try:
            await self._close()
        finally:
            if self._journal is not None:
                await self._journal.close()

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        for task in [*self.handshakes, *self.tasks]:
            task.cancel()
        self.core.shut_down()
        self._flush()
        ends = [connection.ended for connection in self.connections]
        if ends:
            await asyncio.wait(ends, timeout=LINGER)
        for connection in list(self.connections):
            connection.abort()
        tasks = [*self.handshakes, *self.tasks]
        if tasks:
            await asyncio.wait(tasks, timeout=LINGER)
        if self.gate is not None:
            self.gate.close()
        for server in self._servers:
            await server.wait_closed()
        for timer in (self._timer, self._figures):
            if timer is not None:
                timer.cancel()
        for path, inode in self._paths:
            with contextlib.suppress(FileNotFoundError):
                if os.stat(path).st_ino == inode:  # not that of a broker which came in the meantime
                    os.unlink(path)
