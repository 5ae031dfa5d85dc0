"""What the broker keeps per connection (:class:`Peer`) and per client identifier (:class:`Session`).

Flow of a delivery: straight into the peer's outbox while the peer takes what it is given; into the session's queue
while it does not: it is away, its transport is congested, its outbox has reached the high-water mark, or its Receive
Maximum is in flight (4.9). The queue is bounded in messages and bytes. What does not fit is dropped, the newest first,
counted in :attr:`Session.dropped` and logged once per session and connection. Messages retained before a subscription
was made do not count against the bound: they are references to what is kept anyway.

Within a session everything stays in order; QoS 0 does not overtake.
"""

from __future__ import annotations

import logging
from collections import deque

import attrs
from mqtt5 import DisconnectPacket, DisconnectReasonCode, Will

from beskar_jobs.broker.framing import PeerFault
from beskar_jobs.broker.messages import Message

logger = logging.getLogger("beskar_jobs.broker")

NEVER = 0xFFFFFFFF
"""Session Expiry Interval of a session that does not expire (3.1.2.11.2)."""


@attrs.frozen
class BrokerLimits:
    """Bounds of the broker.

    Attributes:
        max_packet_size: bytes of a packet that a client may send.
        max_queued_messages: messages that wait for one session.
        max_queued_bytes: the same, in payload bytes.
        high_water: bytes handed to a peer's transport at once; the rest stays queued as references.
        connect_timeout: seconds from connection to CONNECT.
        receive_max: QoS 2 publishes of one client that may be unfinished.
        topic_alias_max: topic aliases that a client may set.
    """

    max_packet_size: int = 64 * 1024 * 1024
    max_queued_messages: int = 100_000
    max_queued_bytes: int = 256 * 1024 * 1024
    high_water: int = 1024 * 1024
    connect_timeout: float = 10.0
    receive_max: int = 65_535
    topic_alias_max: int = 64


class Counters:
    """What a broker counts over all its sessions, those that have ended included."""

    __slots__ = ("dropped",)

    def __init__(self) -> None:
        self.dropped = 0


class Peer:
    """One connection, without its socket: what came in and is incomplete, what goes out and is not taken yet.

    Attributes:
        label: who it is, for the log.
        context: whatever the shell wants to find again.
        ready: the broker's list of peers that have output; a peer enters it when its outbox stops being empty.
        paused: its transport is congested; set by the shell.
    """

    __slots__ = (
        "aliases",
        "closing",
        "context",
        "keep_alive",
        "label",
        "last_seen",
        "max_packet_size",
        "needed",
        "outbox",
        "outbox_size",
        "partial",
        "paused",
        "ready",
        "receive_max",
        "session",
    )

    def __init__(self, label: str, context: object, ready: list[Peer], now: float) -> None:
        self.label = label
        self.context = context
        self.ready = ready
        self.outbox: list[bytes] = []
        self.outbox_size = 0
        self.closing = False
        self.paused = False
        self.partial = bytearray()
        self.needed = 0
        self.last_seen = now
        self.keep_alive = 0
        self.receive_max = 65_535
        self.max_packet_size: int | None = None
        self.aliases: dict[int, str] = {}
        self.session: Session | None = None

    def send(self, data: bytes) -> None:
        if not self.outbox:
            self.ready.append(self)
        self.outbox.append(data)
        self.outbox_size += len(data)

    def take(self) -> bytes:
        """All that is to be sent now, as one piece; the outbox is empty afterwards."""
        data = self.outbox[0] if len(self.outbox) == 1 else b"".join(self.outbox)
        self.outbox.clear()
        self.outbox_size = 0
        return data

    def resolve_alias(self, alias: int, topic: str, highest: int) -> str:
        """The topic of a PUBLISH with a topic alias (3.3.2.3.4); *topic*, if not empty, sets it.

        Raises:
            PeerFault: the alias is over *highest*, or was never set.
        """
        if not 0 < alias <= highest:
            raise PeerFault(DisconnectReasonCode.TOPIC_ALIAS_INVALID, f"topic alias {alias} is out of range")
        if topic:
            self.aliases[alias] = topic
            return topic
        known = self.aliases.get(alias)
        if known is None:
            raise PeerFault(DisconnectReasonCode.PROTOCOL_ERROR, f"topic alias {alias} was never set")
        return known

    def close(self, reason: DisconnectReasonCode | None) -> None:
        """Mark for closing, after what is in the outbox; with a DISCONNECT if there is a *reason* to tell."""
        if self.closing:
            return
        self.closing = True
        # An empty piece makes the peer ready as well, so that the shell learns of the closing.
        self.send(b"" if reason is None else DisconnectPacket(reason_code=reason).write())


class Subscription:
    """One filter of one session (3.8.3.1)."""

    __slots__ = ("identifier", "no_local", "qos", "retain_as_published", "session")

    def __init__(
        self, session: Session, qos: int, *, no_local: bool, retain_as_published: bool, identifier: int | None
    ) -> None:
        self.session = session
        self.qos = qos
        self.no_local = no_local
        self.retain_as_published = retain_as_published
        self.identifier = identifier


class Delivery:
    """A message for one session: waiting in its queue, or in flight. ``packet_id`` is 0 until it is first sent."""

    __slots__ = ("message", "packet_id", "qos", "retain", "subscription_ids")

    def __init__(self, message: Message, qos: int, retain: bool, subscription_ids: tuple[int, ...]) -> None:
        self.message = message
        self.qos = qos
        self.retain = retain
        self.subscription_ids = subscription_ids
        self.packet_id = 0


class Session:
    """The state under one client identifier (4.1).

    Attributes:
        dropped: messages that did not fit into the queue, or into the client's Maximum Packet Size.
        in_flight: by packet identifier, what was sent and is not acknowledged; ``None``: QoS 2, released.
        received_ids: packet identifiers of QoS 2 messages received and not released.
    """

    __slots__ = (
        "_counters",
        "_limits",
        "_next_id",
        "_outstanding",
        "_queued_bytes",
        "_reported",
        "client_id",
        "dropped",
        "expires_at",
        "expiry_interval",
        "in_flight",
        "peer",
        "queue",
        "received_ids",
        "subscriptions",
        "will",
        "will_at",
    )

    def __init__(self, client_id: str, limits: BrokerLimits, counters: Counters) -> None:
        self.client_id = client_id
        self._counters = counters
        self._limits = limits
        self._next_id = 1
        self._outstanding = 0
        self._queued_bytes = 0
        self._reported = False
        self.peer: Peer | None = None
        self.subscriptions: dict[str, Subscription] = {}
        self.queue: deque[Delivery] = deque()
        self.in_flight: dict[int, Delivery | None] = {}
        self.received_ids: set[int] = set()
        self.expiry_interval = 0
        self.expires_at: float | None = None
        self.will: Will | None = None
        self.will_at: float | None = None
        self.dropped = 0

    def attach(self, peer: Peer, now: float) -> None:
        """Go on over *peer*: what was in flight is queued again, first, under its identifier (4.4)."""
        self.peer = peer
        self.expires_at = None
        self.will_at = None
        self._reported = False
        released = [packet_id for packet_id, delivery in self.in_flight.items() if delivery is None]
        self._outstanding = len(released)
        for packet_id in released:
            peer.send(b"\x62\x02" + packet_id.to_bytes(2))
        again = [delivery for delivery in self.in_flight.values() if delivery is not None]
        self.queue.extendleft(reversed(again))
        self._queued_bytes += sum(delivery.message.size for delivery in again)
        self.pump(now)

    def detach(self) -> None:
        """The connection is gone. QoS 0 is not kept for a client that is away (4.4 keeps QoS 1 and 2)."""
        self.peer = None
        kept = [delivery for delivery in self.queue if delivery.qos and not delivery.packet_id]
        self.queue = deque(kept)
        self._queued_bytes = sum(delivery.message.size for delivery in kept)

    def deliver(
        self,
        message: Message,
        qos: int,
        retain: bool,
        subscription_ids: tuple[int, ...],
        now: float,
        *,
        bounded: bool = True,
    ) -> None:
        peer = self.peer
        if peer is None:
            if qos:
                self._enqueue(Delivery(message, qos, retain, subscription_ids), bounded=bounded)
            return
        if (
            self.queue
            or peer.paused
            or peer.outbox_size >= self._limits.high_water
            or (qos and len(self.in_flight) >= peer.receive_max)
        ):
            self._enqueue(Delivery(message, qos, retain, subscription_ids), bounded=bounded)
        elif qos:
            self._send_acknowledged(peer, Delivery(message, qos, retain, subscription_ids), now)
        else:
            frame, _ = message.frame(0, retain, subscription_ids, now)
            if self._fits(peer, len(frame), message):
                peer.send(frame)

    def pump(self, now: float) -> None:
        """Send what is queued, as far as the peer takes it."""
        peer = self.peer
        if peer is None or peer.closing:
            return
        queue = self.queue
        while queue and not peer.paused and peer.outbox_size < self._limits.high_water:
            delivery = queue[0]
            # All that goes out again stands first, so a new delivery finds in flight exactly what this peer was sent.
            in_flight = self._outstanding if delivery.packet_id else len(self.in_flight)
            if delivery.qos and in_flight >= peer.receive_max:
                return
            queue.popleft()
            message = delivery.message
            self._queued_bytes -= message.size
            if message.expired(now):
                self.in_flight.pop(delivery.packet_id, None)
            elif delivery.qos:
                self._send_acknowledged(peer, delivery, now)
            else:
                frame, _ = message.frame(0, delivery.retain, delivery.subscription_ids, now)
                if self._fits(peer, len(frame), message):
                    peer.send(frame)

    def acknowledged(self, packet_id: int, now: float) -> None:
        """PUBACK, PUBCOMP, or a PUBREC that refuses: the message is done with."""
        if packet_id in self.in_flight:
            del self.in_flight[packet_id]
            if self._outstanding:
                self._outstanding -= 1
            if self.queue:
                self.pump(now)

    def received(self, packet_id: int) -> bool:
        """PUBREC: from now on only the release is repeated. Whether the identifier is known."""
        if packet_id not in self.in_flight:
            return False
        self.in_flight[packet_id] = None
        return True

    def _send_acknowledged(self, peer: Peer, delivery: Delivery, now: float) -> None:
        message = delivery.message
        head, tail = message.frame(delivery.qos, delivery.retain, delivery.subscription_ids, now)
        size = len(head) + 2 + len(tail)
        if not self._fits(peer, size, message):
            self.in_flight.pop(delivery.packet_id, None)
            return
        packet_id = delivery.packet_id
        if packet_id:
            if packet_id not in self.in_flight:
                return  # acknowledged before it was sent again: the first sending had arrived
            head = bytes((head[0] | 0x08,)) + head[1:]
        else:
            packet_id = self._next_id
            while packet_id in self.in_flight:
                packet_id = packet_id % 65_535 + 1
            self._next_id = packet_id % 65_535 + 1
            delivery.packet_id = packet_id
            self.in_flight[packet_id] = delivery
        self._outstanding += 1
        if not peer.outbox:
            peer.ready.append(peer)
        peer.outbox += (head, packet_id.to_bytes(2), tail)
        peer.outbox_size += size

    def _fits(self, peer: Peer, size: int, message: Message) -> bool:
        if peer.max_packet_size is None or size <= peer.max_packet_size:
            return True
        self._drop(message, f"it has {size} bytes, the client takes {peer.max_packet_size}")  # 3.1.2.11.4
        return False

    def _enqueue(self, delivery: Delivery, *, bounded: bool) -> None:
        message = delivery.message
        limits = self._limits
        if bounded and (
            len(self.queue) >= limits.max_queued_messages or self._queued_bytes + message.size > limits.max_queued_bytes
        ):
            self._drop(message, f"{len(self.queue)} messages ({self._queued_bytes} bytes) wait for this client already")
            return
        self.queue.append(delivery)
        self._queued_bytes += message.size

    def _drop(self, message: Message, why: str) -> None:
        self.dropped += 1
        self._counters.dropped += 1
        if not self._reported:
            self._reported = True
            logger.warning(
                "message on %r for client %r dropped: %s; further drops are only counted",
                message.topic,
                self.client_id,
                why,
            )
