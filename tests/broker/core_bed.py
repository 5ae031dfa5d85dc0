"""The broker core with its time in the test's hand, and clients that speak packets to it."""

from __future__ import annotations

from typing import TypeVar

import mqtt5
from mqtt5 import ConnectPacket, Packet, PublishPacket, QoS, SubscribePacket, TopicFilter

from beskar_jobs.broker.core import BrokerCore
from beskar_jobs.broker.routing import Router
from beskar_jobs.broker.sessions import BrokerLimits, Peer

P = TypeVar("P")


class CoreBed:
    """A core whose clock stands still until :meth:`advance`."""

    def __init__(self, limits: BrokerLimits | None = None, router: Router | None = None) -> None:
        self.now = 1000.0
        self.core = BrokerCore(limits or BrokerLimits(), lambda: "assigned", router)

    def advance(self, seconds: float) -> None:
        """Let *seconds* pass, with a tick at each deadline on the way, as a shell would."""
        end = self.now + seconds
        while (at := self.core.next_deadline()) is not None and at <= end:
            self.now = max(self.now, at)
            self.core.tick(self.now)
        self.now = end
        self.core.take_ready()  # the clients read from their peers themselves

    def dial(self) -> Client:
        return Client(self)

    def connect(self, client_id: str = "", *filters: str, qos: int = 1, **options: object) -> Client:
        """A client that is connected and subscribed; what the broker answered to that is read already."""
        client = self.dial()
        options.setdefault("clean_start", True)
        client.send(ConnectPacket(client_id, **options))  # type: ignore[arg-type]  # the codec checks them
        connack, *early = client.received()
        assert isinstance(connack, mqtt5.ConnAckPacket), connack
        client.connack = connack
        client.early = [packet for packet in early if isinstance(packet, PublishPacket)]
        if filters:
            client.subscribe(*filters, qos=qos)
        return client


class Client:
    """One end of a connection.

    Attributes:
        connack: the broker's answer.
        early: messages that came with it, of a session that was resumed.
        replayed: retained messages that came with the last SUBACK.
    """

    connack: mqtt5.ConnAckPacket
    early: list[PublishPacket]
    replayed: list[PublishPacket]

    def __init__(self, bed: CoreBed) -> None:
        self._bed = bed
        self.peer: Peer = bed.core.attach("test", self, bed.now)
        self._unread: list[Packet] = []

    def send(self, *packets: Packet) -> None:
        self.send_bytes(b"".join(packet.write() for packet in packets))

    def send_bytes(self, data: bytes) -> None:
        self._bed.core.receive(self.peer, data, self._bed.now)

    def drop(self) -> None:
        """The connection breaks, without a DISCONNECT."""
        self._bed.core.lost(self.peer, self._bed.now)

    def received(self) -> list[Packet]:
        """What came since the last call; the shell of the core takes output until there is no more."""
        core = self._bed.core
        packets: list[Packet] = []
        while self.peer.outbox:
            data = self.peer.take()
            while data:
                packet, used = mqtt5.read(memoryview(data))
                packets.append(packet)
                data = data[used:]
            core.drained(self.peer, self._bed.now)
        return packets

    def only(self, kind: type[P]) -> P:
        (packet,) = self.received()
        assert isinstance(packet, kind), packet
        return packet

    def messages(self) -> list[PublishPacket]:
        """The PUBLISH packets that came since the last call; other packets are passed over."""
        return [packet for packet in self.received() if isinstance(packet, PublishPacket)]

    def payloads(self) -> list[bytes]:
        return [packet.payload for packet in self.messages()]

    def disconnected(self) -> int | None:
        """The reason in the DISCONNECT that came, if the broker has closed; ``None``: it closed without one."""
        assert self.peer.closing, "the broker has not closed this connection"
        reasons = [int(packet.reason_code) for packet in self.received() if isinstance(packet, mqtt5.DisconnectPacket)]
        return reasons[-1] if reasons else None

    def subscribe(
        self, *filters: str, qos: int = 1, identifier: int | None = None, **options: object
    ) -> mqtt5.SubAckPacket:
        wanted = [
            TopicFilter(text, max_qos=QOS[qos], **{"retain_as_published": False, **options})  # type: ignore[arg-type]  # as above
            for text in filters
        ]
        self.send(SubscribePacket(1, wanted, subscription_id=identifier))
        received = self.received()
        assert isinstance(received[0], mqtt5.SubAckPacket), received
        self.replayed = [packet for packet in received[1:] if isinstance(packet, PublishPacket)]
        return received[0]

    def publish(self, topic: str, payload: bytes = b"x", *, qos: int = 0, **options: object) -> None:
        packet_id = 7 if qos else None
        self.send(PublishPacket(topic, payload, qos=QOS[qos], packet_id=packet_id, **options))  # type: ignore[arg-type]  # as above


QOS = (QoS.AT_MOST_ONCE, QoS.AT_LEAST_ONCE, QoS.EXACTLY_ONCE)
