"""The broker without sockets: bytes and monotonic time go in, bytes and closings come out.

The rules are those of MQTT 5.0. A shell (the asyncio server, the in-memory transport) does for each connection:

* :meth:`BrokerCore.attach`, then :meth:`~BrokerCore.receive` with what came in, :meth:`~BrokerCore.lost` at its end;
* after each call, and as often as it likes: :meth:`~BrokerCore.take_ready`, and for each peer in it send
  ``peer.take()``, close the connection if ``peer.closing``, and call :meth:`~BrokerCore.drained` unless congested;
* :meth:`~BrokerCore.tick` when :meth:`~BrokerCore.next_deadline` has come.

The core is not thread-safe; a shell with threads puts a lock around it. Nothing in it blocks or calls back.

Failure modes. What a peer does wrong (malformed bytes, a broken rule, silence) costs that peer its connection, with a
reason code where the protocol has room for one, and its Will is published. A peer that does not read has its messages
queued up to a bound; see :mod:`beskar_jobs.broker.sessions`. What is over another bound is refused; see
:mod:`beskar_jobs.broker.limits`. The core keeps everything in memory: a broker that stops forgets its sessions and its
retained messages, unless the shell hands them on or a journal (:mod:`beskar_jobs.broker.journal`) keeps them.

Not done: topic aliases towards clients, enhanced authentication (4.12).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import mqtt5
from mqtt5 import (
    ConnAckPacket,
    ConnAckReasonCode,
    ConnectPacket,
    DisconnectPacket,
    DisconnectReasonCode,
)

from beskar_jobs.broker.acknowledging import acknowledge
from beskar_jobs.broker.deadlines import Deadlines
from beskar_jobs.broker.framing import MAX_CONNECT_SIZE, PeerFault, decode, packet_end
from beskar_jobs.broker.journal import Journal
from beskar_jobs.broker.limits import BrokerLimits, Counters, Statistics
from beskar_jobs.broker.messages import Message
from beskar_jobs.broker.publishing import accept_publish, check_response_topic, publish_will
from beskar_jobs.broker.routing import Router
from beskar_jobs.broker.sessions import NEVER, Peer, Session, Subscription
from beskar_jobs.broker.shared import hand_on
from beskar_jobs.broker.subscribing import subscribe, unsubscribe

logger = logging.getLogger("beskar_jobs.broker")

_PINGRESP = b"\xd0\x00"
_KEEP_ALIVE_GRACE = 1.5  # 3.1.2.10


class BrokerCore:
    """State and rules of one broker.

    Args:
        limits: bounds.
        make_client_id: makes the identifier of a client that brings none.
        router: where subscriptions and retained messages live; given to go on with those of an earlier broker.
        journal: told of what is to outlive this broker.
    """

    def __init__(
        self,
        limits: BrokerLimits,
        make_client_id: Callable[[], str],
        router: Router | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.limits = limits
        self.router = router or Router()
        self.sessions: dict[str, Session] = {}
        self.counters = Counters()
        self._make_client_id = make_client_id
        self._ready: list[Peer] = []
        self._peers: set[Peer] = set()
        self._deadlines = Deadlines()
        self._journal = journal
        self.router.bind(self._deadlines, limits, self.counters, journal)

    # Connections

    def attach(self, label: str, context: object, now: float) -> Peer:
        """A connection was accepted. *label* names it in the log; *context* comes back as ``peer.context``."""
        peer = Peer(label, context, self._ready, now)
        self._peers.add(peer)
        peer.watch(self._deadlines, now + self.limits.connect_timeout, lambda _: self._check_connect(peer))
        return peer

    def receive(self, peer: Peer, data: bytes, now: float) -> None:
        """Bytes have come in from *peer*."""
        if peer.closing:
            return
        peer.last_seen = now
        peer.bytes_received += len(data)
        if peer.partial:
            peer.partial += data
            if len(peer.partial) < peer.needed:
                return
            data = bytes(peer.partial)
            peer.partial.clear()
        try:
            rest = self._consume(peer, data, now)
        except PeerFault as fault:
            logger.info("connection of %s closed: %s", self._name(peer), fault)
            self._refuse(peer, fault, data)
            self._part(peer, now)
        except Exception:
            # A fault of ours, but it must not cost the others: every peer shares this core.
            logger.exception("connection of %s closed: the broker failed to handle what it sent", self._name(peer))
            peer.close(DisconnectReasonCode.IMPLEMENTATION_SPECIFIC_ERROR if peer.session is not None else None)
            self._part(peer, now)
        else:
            if rest < len(data) and not peer.closing:
                peer.partial += memoryview(data)[rest:]

    def lost(self, peer: Peer, now: float) -> None:
        """The connection is gone. Without a DISCONNECT before, this publishes the Will."""
        peer.closing = True
        if peer in self._peers:
            self._peers.remove(peer)
            peer.gone(self._deadlines, self.counters)
        self._part(peer, now)

    def drained(self, peer: Peer, now: float) -> None:
        """The transport of *peer* takes more: send on what is queued."""
        peer.paused = False
        if peer.session is not None and peer.session.queue:
            peer.session.pump(now)

    def take_ready(self) -> list[Peer]:
        """The peers that have output or are to be closed; each stands in one list at most until it is taken."""
        ready = self._ready[:]
        self._ready.clear()
        return ready

    def disconnect(self, client_id: str, reason: DisconnectReasonCode, now: float) -> bool:
        """End the connection of a client, by administration; its Will is published. Whether there was one."""
        session = self.sessions.get(client_id)
        if session is None or session.peer is None:
            return False
        peer = session.peer
        peer.close(reason)
        self._part(peer, now)
        return True

    def shut_down(self) -> None:
        """Tell every peer that the server goes (0x8B). No Will is published: the broker is gone for everybody."""
        for peer in self._peers:
            peer.close(DisconnectReasonCode.SERVER_SHUTTING_DOWN if peer.session is not None else None)
            peer.session = None

    def publish(self, message: Message, *, retain: bool = False) -> int:
        """Publish as the broker itself, below ``$SYS`` too; how many sessions it went to."""
        return self.router.publish(message, retain, None)

    def statistics(self) -> Statistics:
        """What there is, and what was counted. Costs time in proportion to the sessions."""
        counters = self.counters
        return Statistics(
            clients=sum(session.peer is not None for session in self.sessions.values()),
            sessions=len(self.sessions),
            subscriptions=self.router.subscription_count,
            retained_messages=self.router.retained_count,
            retained_bytes=self.router.retained_bytes,
            queued_messages=sum(len(session.queue) for session in self.sessions.values()),
            published=counters.published,
            delivered=counters.delivered,
            dropped=counters.dropped,
            expired=counters.expired,
            refused=counters.refused,
            handed_on=counters.handed_on,
            wills=counters.wills,
            bytes_received=counters.bytes_received + sum(peer.bytes_received for peer in self._peers),
            bytes_sent=counters.bytes_sent + sum(peer.bytes_sent for peer in self._peers),
        )

    # What a journal has kept; to be put back before the first connection

    def restore_retained(self, message: Message) -> None:
        self.router.restore_retained(message)

    def restore_session(self, client_id: str, expiry_interval: int, expires_at: float | None, now: float) -> Session:
        """A session whose client is away; *expires_at*: ``None`` if never. The journal is not told of any of this."""
        session = self.sessions[client_id] = Session(client_id, self.limits, self.counters)
        session.expiry_interval = expiry_interval
        session.expires_at = expires_at
        if expires_at is not None:
            self._deadlines.add(max(now, expires_at), lambda at: self._check_session(session, at))
        return session

    def restore_subscription(self, pattern: str, subscription: Subscription) -> None:
        self.router.add(pattern, subscription)

    def restored(self) -> None:
        """All is back: from here on the journal is told."""
        for session in self.sessions.values():
            session.journal = self._journal

    # Time

    def next_deadline(self) -> float | None:
        """Monotonic seconds at which :meth:`tick` has something to look at."""
        return self._deadlines.next()

    def tick(self, now: float) -> None:
        """Do what is due: keep-alive, connect timeout, delayed Wills, end of sessions, expiry of retained messages."""
        self._deadlines.run(now)

    def _check_connect(self, peer: Peer) -> float | None:
        if peer.session is None and not peer.closing:
            logger.info("connection of %s closed: no CONNECT in %g s", peer.label, self.limits.connect_timeout)
            peer.close(None)
        return None

    def _check_keep_alive(self, peer: Peer, now: float) -> float | None:
        if peer.closing:
            return None
        lapses = peer.last_seen + _KEEP_ALIVE_GRACE * peer.keep_alive
        if now < lapses:
            return lapses
        logger.info("connection of %s closed: silent for %.1f s", self._name(peer), now - peer.last_seen)
        peer.close(DisconnectReasonCode.KEEP_ALIVE_TIMEOUT)
        self._part(peer, now)
        return None

    def _check_session(self, session: Session, now: float) -> float | None:
        """Will delay and session expiry of a client that is away (3.1.3.2.2, 3.1.2.11.2)."""
        if session.peer is not None or self.sessions.get(session.client_id) is not session:
            return None
        if session.will_at is not None and now >= session.will_at:
            self._publish_will(session, now)
        if session.expires_at is not None and now >= session.expires_at:
            self._end(session, now)
            return None
        pending = [at for at in (session.will_at, session.expires_at) if at is not None]
        return min(pending) if pending else None

    # Packets

    def _consume(self, peer: Peer, data: bytes, now: float) -> int:
        """Handle the complete packets in *data*; where the incomplete rest starts."""
        end = len(data)
        limit = self.limits.max_packet_size
        start = 0
        while end - start >= 2 and not peer.closing:
            bounds = packet_end(data, start)
            if bounds is None:
                peer.needed = 0
                return start
            body, stop = bounds
            if stop - start > (limit if peer.session is not None else min(limit, MAX_CONNECT_SIZE)):
                raise PeerFault(
                    DisconnectReasonCode.PACKET_TOO_LARGE, f"a packet of {stop - start} bytes is over the limit"
                )
            if stop > end:
                peer.needed = stop - start
                return start
            first = data[start]
            kind = first >> 4
            session = peer.session
            if session is None:
                self._on_connect(peer, self._decode_connect(kind, data[start:stop], body - start), now)
            elif kind == 3:
                self._on_publish(peer, session, data[start:stop], body - start, now)
            elif kind == 4 and stop - body == 2:
                session.acknowledged(int.from_bytes(data[body:stop]), now)
            else:
                self._on_other(peer, session, decode(data[start:stop], body - start), now)
            start = stop
        peer.needed = 0
        return start

    def _decode_connect(self, kind: int, packet: bytes, body: int) -> ConnectPacket:
        if kind != 1:
            raise PeerFault(DisconnectReasonCode.PROTOCOL_ERROR, "the first packet is not CONNECT")
        decoded = decode(packet, body)
        assert isinstance(decoded, ConnectPacket)
        return decoded

    def _on_connect(self, peer: Peer, packet: ConnectPacket, now: float) -> None:
        if packet.authentication_method is not None:
            peer.send(ConnAckPacket(reason_code=ConnAckReasonCode.BAD_AUTHENTICATION_METHOD).write())
            peer.close(None)
            return
        if not packet.receive_max or packet.max_packet_size == 0:  # 3.1.2.11.3, 3.1.2.11.4
            peer.send(ConnAckPacket(reason_code=ConnAckReasonCode.PROTOCOL_ERROR).write())
            peer.close(None)
            return
        if packet.will is not None:
            check_response_topic(packet.will.response_topic)
        client_id = packet.client_id or self._make_client_id()
        session = self.sessions.get(client_id)
        if session is not None and session.peer is not None:
            older = session.peer
            logger.info("client %r connected again from %s; %s is told so", client_id, peer.label, older.label)
            older.close(DisconnectReasonCode.SESSION_TAKEN_OVER)
            self._part(older, now)
            session = self.sessions.get(client_id)
        if session is not None and packet.clean_start:
            self._end(session, now)
            session = None
        present = session is not None
        if session is None:
            if len(self.sessions) >= self.limits.max_sessions:
                self.counters.refused += 1
                logger.warning("client %r not let in: there are %d sessions already", client_id, len(self.sessions))
                peer.send(ConnAckPacket(reason_code=ConnAckReasonCode.QUOTA_EXCEEDED).write())
                peer.close(None)
                return
            session = self.sessions[client_id] = Session(client_id, self.limits, self.counters)
        session.expiry_interval = packet.session_expiry_interval
        session.will = packet.will
        if self._journal is not None:
            self._note(session, self._journal)
        peer.session = session
        most = self.limits.max_keep_alive
        peer.keep_alive = min(packet.keep_alive or most, most) if most else packet.keep_alive
        peer.receive_max = packet.receive_max
        peer.max_packet_size = packet.max_packet_size
        peer.wants_reasons = packet.request_problem_info
        if peer.keep_alive:
            lapses = now + _KEEP_ALIVE_GRACE * peer.keep_alive
            peer.watch(self._deadlines, lapses, lambda at: self._check_keep_alive(peer, at))
        peer.send(
            ConnAckPacket(
                session_present=present,
                assigned_client_id=None if packet.client_id else client_id,
                server_keep_alive=None if peer.keep_alive == packet.keep_alive else peer.keep_alive,
                receive_max=self.limits.receive_max,
                topic_alias_max=self.limits.topic_alias_max,
                max_packet_size=self.limits.max_packet_size,
            ).write()
        )
        session.attach(peer, now)
        for group in session.groups:
            group.rescue(now)

    def _note(self, session: Session, journal: Journal) -> None:
        """Have the journal follow the session from here on, or forget it, as it outlives its connection or not."""
        if session.expiry_interval:
            session.journal = journal
            session.expires_at = None
            journal.session_changed(session)
        elif session.journal is not None:
            session.journal = None
            journal.session_ended(session.client_id)

    def _on_publish(self, peer: Peer, session: Session, raw: bytes, body: int, now: float) -> None:
        accept_publish(self.router, peer, raw, body, now)

    def _on_other(self, peer: Peer, session: Session, packet: mqtt5.Packet, now: float) -> None:
        match packet:
            case mqtt5.PubAckPacket() | mqtt5.PubRecPacket() | mqtt5.PubRelPacket() | mqtt5.PubCompPacket():
                acknowledge(peer, session, packet, now)
            case mqtt5.SubscribePacket():
                subscribe(self.router, peer, session, packet, now)
            case mqtt5.UnsubscribePacket():
                unsubscribe(self.router, peer, session, packet)
            case mqtt5.PingReqPacket():
                peer.send(_PINGRESP)
            case DisconnectPacket():
                self._on_disconnect(peer, session, packet, now)
            case _:
                raise PeerFault(
                    DisconnectReasonCode.PROTOCOL_ERROR, f"a client does not send {type(packet).__name__} here"
                )

    def _on_disconnect(self, peer: Peer, session: Session, packet: DisconnectPacket, now: float) -> None:
        interval = packet.session_expiry_interval
        if interval is not None:
            if interval and not session.expiry_interval:
                raise PeerFault(
                    DisconnectReasonCode.PROTOCOL_ERROR, "a DISCONNECT revives a session that CONNECT let expire"
                )
            session.expiry_interval = interval
        if packet.reason_code == DisconnectReasonCode.NORMAL_DISCONNECTION:
            session.will = None  # 3.14.4
        peer.close(None)
        self._part(peer, now)

    # Ends

    def _refuse(self, peer: Peer, fault: PeerFault, data: bytes) -> None:
        """Say why, as far as the protocol has words for it before and after CONNACK (4.13)."""
        if peer.session is not None:
            peer.close(fault.reason, str(fault))
            return
        if data[:1] == b"\x10":
            level = data.find(b"\x00\x04MQTT") + 6
            if level >= 6 and data[level : level + 1] in {b"\x03", b"\x04"}:
                peer.send(b"\x20\x02\x00\x01")  # "unacceptable protocol version", in the words of MQTT 3.1.1
            elif fault.reason == DisconnectReasonCode.PACKET_TOO_LARGE:
                peer.send(ConnAckPacket(reason_code=ConnAckReasonCode.PACKET_TOO_LARGE).write())
            else:
                peer.send(ConnAckPacket(reason_code=ConnAckReasonCode.MALFORMED_PACKET).write())
        peer.close(None)

    def _part(self, peer: Peer, now: float) -> None:
        """Peer and session part; what the session still owes (Will, expiry) is done or put on the agenda."""
        session = peer.session
        if session is None or session.peer is not peer:
            return
        session.detach()
        interval = session.expiry_interval
        if session.will is not None:
            delay = min(session.will.will_delay_interval, interval)
            if delay:
                session.will_at = now + delay
            else:
                self._publish_will(session, now)
        hand_on(session, now)
        if not interval:
            self._end(session, now)
            return
        if interval != NEVER:
            session.expires_at = now + interval
        if session.journal is not None:
            session.journal.session_changed(session)
        self._deadlines.add(now, lambda at: self._check_session(session, at))

    def _end(self, session: Session, now: float) -> None:
        """The session ends, and with it a Will that was waiting (3.1.3.2.2)."""
        if session.will_at is not None:
            self._publish_will(session, now)
        if self.sessions.get(session.client_id) is session:
            del self.sessions[session.client_id]
        hand_on(session, now, ended=True)
        if session.journal is not None:
            session.journal.session_ended(session.client_id)
            session.journal = None
        for pattern in list(session.subscriptions):
            self.router.remove(pattern, session)

    def _publish_will(self, session: Session, now: float) -> None:
        will = session.will
        session.will = None
        session.will_at = None
        if will is None:
            return
        self.counters.wills += 1
        publish_will(self.router, session.client_id, will, session, now)

    def _name(self, peer: Peer) -> str:
        return peer.label if peer.session is None else f"client {peer.session.client_id!r} at {peer.label}"

    def connected_clients(self) -> Sequence[str]:
        """The identifiers of the clients that are connected."""
        return [client_id for client_id, session in self.sessions.items() if session.peer is not None]
