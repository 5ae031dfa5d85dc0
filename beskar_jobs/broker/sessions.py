"""What the broker keeps per client identifier: subscriptions, and what is owed to the client (MQTT 5.0, 4.1).

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
from collections.abc import Callable
from typing import TYPE_CHECKING

from mqtt5 import Will

from beskar_jobs.broker.journal import Journal
from beskar_jobs.broker.limits import BrokerLimits, Counters
from beskar_jobs.broker.messages import Message
from beskar_jobs.broker.peers import Peer

if TYPE_CHECKING:
    from beskar_jobs.broker.shared import SharedGroup

__all__ = ["NEVER", "BrokerLimits", "Counters", "Delivery", "Peer", "Session", "Subscription"]

logger = logging.getLogger("beskar_jobs.broker")

NEVER = 0xFFFFFFFF
"""Session Expiry Interval of a session that does not expire (3.1.2.11.2)."""


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

    @property
    def identifiers(self) -> tuple[int, ...]:
        return () if self.identifier is None else (self.identifier,)


class Delivery:
    """A message for one session: waiting in its queue, or in flight.

    Attributes:
        packet_id: 0 until it is first sent.
        group: the shared subscription it came by, as long as it may go to another member.
        number: for a journal to use.
    """

    __slots__ = ("group", "message", "number", "packet_id", "qos", "retain", "subscription_ids")

    def __init__(
        self,
        message: Message,
        qos: int,
        retain: bool,
        subscription_ids: tuple[int, ...],
        group: SharedGroup | None = None,
    ) -> None:
        self.group = group
        self.number = 0
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
        handed_on: packet identifiers in flight whose messages have gone to another member of a shared subscription.
        received_ids: packet identifiers of QoS 2 messages received and not released.
        journal: told of what is owed to the session, if that outlives the connection and there is a journal.
        groups: the shared subscriptions it is a member of.
        stuck: it holds messages of a shared subscription and makes no progress.
        watched: a deadline looks whether it makes progress.
        progress_at: monotonic seconds when it last acknowledged or took a message, as far as it is in a group.
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
        "groups",
        "handed_on",
        "in_flight",
        "journal",
        "peer",
        "progress_at",
        "queue",
        "received_ids",
        "stuck",
        "subscriptions",
        "watched",
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
        self.journal: Journal | None = None
        self.groups: set[SharedGroup] = set()
        self.handed_on: set[int] = set()
        self.stuck = False
        self.watched = False
        self.progress_at = 0.0

    @property
    def takes_more(self) -> bool:
        """Whether a message would go out at once."""
        peer = self.peer
        return not (
            peer is None
            or self.queue
            or peer.paused
            or peer.closing
            or peer.outbox_size >= self._limits.high_water
            or len(self.in_flight) >= peer.receive_max
        )

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
        self.stuck = False
        for packet_id in self.handed_on:
            self.in_flight.pop(packet_id, None)
        self.handed_on.clear()
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
        group: SharedGroup | None = None,
    ) -> None:
        peer = self.peer
        if peer is None:
            if qos:
                self._enqueue(Delivery(message, qos, retain, subscription_ids, group), bounded=bounded)
            return
        if (
            self.queue
            or peer.paused
            or peer.outbox_size >= self._limits.high_water
            or (qos and len(self.in_flight) >= peer.receive_max)
        ):
            self._enqueue(Delivery(message, qos, retain, subscription_ids, group), bounded=bounded)
        elif qos:
            delivery = Delivery(message, qos, retain, subscription_ids, group)
            if self.journal is not None:
                self.journal.owed(self, delivery)
            self._send_acknowledged(peer, delivery, now)
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
            if self.groups:
                self.progress_at = now
            if message.expired(now):
                self._counters.expired += 1
                self._forget(delivery)
            elif delivery.qos:
                self._send_acknowledged(peer, delivery, now)
            else:
                frame, _ = message.frame(0, delivery.retain, delivery.subscription_ids, now)
                if self._fits(peer, len(frame), message):
                    peer.send(frame)

    def acknowledged(self, packet_id: int, now: float) -> None:
        """PUBACK, PUBCOMP, or a PUBREC that refuses: the message is done with."""
        if packet_id in self.in_flight:
            delivery = self.in_flight.pop(packet_id)
            if self._outstanding:
                self._outstanding -= 1
            if self.groups or self.handed_on:
                self.progress_at = now
                self.stuck = False
                if packet_id in self.handed_on:
                    self.handed_on.remove(packet_id)
                    delivery = None  # settled when it was handed on
            if self.journal is not None and delivery is not None:
                self.journal.settled(self, delivery)
            if self.queue:
                self.pump(now)

    def received(self, packet_id: int) -> bool:
        """PUBREC: from now on only the release is repeated. Whether the identifier is known."""
        if packet_id not in self.in_flight:
            return False
        delivery = self.in_flight[packet_id]
        if self.journal is not None and delivery is not None:
            self.journal.settled(self, delivery)
        self.in_flight[packet_id] = None
        return True

    def owes_shared(self) -> bool:
        """Whether it has messages of a shared subscription that it has not done."""
        if not self.groups:
            return False
        in_flight = self.in_flight.values()
        return any(each is not None and each.group is not None for each in in_flight) or any(
            each.group is not None for each in self.queue
        )

    def take_out(self, goes: Callable[[Delivery], bool]) -> list[Delivery]:
        """Remove what *goes*, in order. What the present connection has been sent keeps its place in the window."""
        taken: list[Delivery] = []
        waiting = {each.packet_id for each in self.queue}
        for packet_id, delivery in list(self.in_flight.items()):
            if delivery is not None and goes(delivery):
                taken.append(delivery)
                if self.peer is None or packet_id in waiting:
                    del self.in_flight[packet_id]
                else:
                    self.handed_on.add(packet_id)
        kept: deque[Delivery] = deque()
        for delivery in self.queue:
            if not goes(delivery):
                kept.append(delivery)
            elif not delivery.packet_id:
                taken.append(delivery)
        self.queue = kept
        self._queued_bytes = sum(each.message.size for each in kept)
        if self.journal is not None:
            for delivery in taken:
                if delivery.qos:
                    self.journal.settled(self, delivery)
        return taken

    def restore_delivery(self, delivery: Delivery) -> None:
        """Put back what a journal has kept. In order, while the client is away."""
        self.queue.append(delivery)
        self._queued_bytes += delivery.message.size

    def _forget(self, delivery: Delivery) -> None:
        """It is neither sent nor kept."""
        self.in_flight.pop(delivery.packet_id, None)
        if self.journal is not None and delivery.qos:
            self.journal.settled(self, delivery)

    def _send_acknowledged(self, peer: Peer, delivery: Delivery, now: float) -> None:
        message = delivery.message
        head, tail = message.frame(delivery.qos, delivery.retain, delivery.subscription_ids, now)
        size = len(head) + 2 + len(tail)
        if not self._fits(peer, size, message):
            self._forget(delivery)
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
        if self.journal is not None and delivery.qos:
            self.journal.owed(self, delivery)

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
