"""The client's end of one connection to the in-memory broker: packets out and in, identifiers, what is in flight.

A session is used for one connection. It ends once, by its own side (``disconnect``, ``abort``) or by the broker
(``lost`` is called then, with the reason in words); afterwards it calls nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

import mqtt5

from beskar_jobs.model.errors import InvalidValue, PublishRefused, TransportError
from beskar_jobs.ports.transport import InboundMessage, OutboundMessage, TransportOptions
from beskar_jobs.transport.memory_broker import MemoryBroker, MemoryLink
from beskar_jobs.transport.outbox import Entry
from beskar_jobs.transport.publish_codec import (
    PUBACK,
    PUBLISH,
    PacketSplitter,
    decode_puback,
    decode_publish,
    encode_puback,
    encode_publish,
)

_WINDOW: Final = 16_384  # QoS 1 messages on their way at most
_MAX_INBOUND: Final = 2**28  # the most that MQTT allows; what a broker in this process sends need not be bounded here


class LinkRefused(TransportError):
    """No connection: the broker is stopped or unknown, or said no (*final*: it would say so again)."""

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


class LinkLost(TransportError):
    """The connection ended while an answer was awaited."""


class SessionEvents(Protocol):
    """What a session tells its owner, always on the event loop."""

    def received(self, message: InboundMessage) -> None: ...

    def acknowledged(self, entry: Entry, error: TransportError | None) -> None:
        """The broker has *entry*; or it refused it for good."""

    def roomy(self) -> None:
        """The window has opened: more can be sent. Called once for all that came in together."""

    def lost(self, reason: str) -> None: ...


class MemorySession:
    """See the module.

    Attributes:
        unacknowledged: by packet identifier, in the order of sending.
    """

    def __init__(
        self, broker: MemoryBroker, options: TransportOptions, will: OutboundMessage | None, events: SessionEvents
    ) -> None:
        self._broker = broker
        self._client_id = options.client_id
        self._options = options
        self._will = will
        self._events = events
        self._loop = asyncio.get_running_loop()
        self._link = MemoryLink(self._loop, self._on_inbox)
        self._splitter = PacketSplitter(_MAX_INBOUND)
        self._connack: asyncio.Future[None] = self._loop.create_future()
        self._answers: dict[int, asyncio.Future[Sequence[int]]] = {}
        self._next_id = 1
        self._reason = "the connection was lost"
        self.ended = False
        self.unacknowledged: dict[int, Entry] = {}

    async def connect(self) -> None:
        """CONNECT, and the broker's answer.

        Raises:
            LinkRefused: there was none, or it was no.
        """
        options = self._options
        if not self._broker.connect(self._link):
            self.ended = True
            raise LinkRefused("the broker is stopped")
        packet = mqtt5.ConnectPacket(
            self._client_id,
            username=options.username,
            password=None if options.password is None else options.password.encode(),
            clean_start=True,
            will=None if self._will is None else _make_will(self._will),
        )
        self._broker.send(self._link, packet.write())
        await self._connack

    # Publishing

    @property
    def room(self) -> int:
        """How many messages of QoS 1 can be sent now."""
        return max(0, _WINDOW - len(self.unacknowledged))

    def publish(self, entries: Sequence[Entry]) -> list[Entry]:
        """Send *entries* as one piece; those that are settled by it (QoS 0, or taken away by the broker's filter)."""
        settled: list[Entry] = []
        pieces: list[bytes] = []
        intercept = self._broker.intercept
        for entry in entries:
            message = entry.message
            waits_for = entry if message.qos else None
            for each in (message,) if intercept is None else intercept(self._client_id, message):
                packet_id = 0
                if each.qos:
                    packet_id = self._allot()
                    if waits_for is not None:
                        self.unacknowledged[packet_id] = waits_for
                        waits_for = None
                pieces.append(encode_publish(each, packet_id, again=entry.again))
            if not message.qos or waits_for is not None:
                settled.append(entry)
        self._broker.send(self._link, b"".join(pieces))
        return settled

    def _allot(self) -> int:
        packet_id = self._next_id
        while packet_id in self.unacknowledged or packet_id in self._answers:
            packet_id = packet_id % 65_535 + 1
        self._next_id = packet_id % 65_535 + 1
        return packet_id

    # Subscribing

    async def subscribe(self, filters: Sequence[str]) -> Sequence[int]:
        """The reason code for each filter; below 0x80 it was granted.

        Raises:
            LinkLost: before the answer came.
            InvalidValue: a filter breaks the rules of MQTT.
        """
        packet_id = self._allot()
        try:
            wanted = [
                mqtt5.TopicFilter(text, max_qos=mqtt5.QoS.AT_LEAST_ONCE, retain_as_published=False) for text in filters
            ]
        except ValueError as error:
            raise InvalidValue(f"one of the topic filters {list(filters)} is not valid: {error}") from error
        return await self._ask(packet_id, mqtt5.SubscribePacket(packet_id, wanted).write())

    async def unsubscribe(self, filters: Sequence[str]) -> None:
        packet_id = self._allot()
        await self._ask(packet_id, mqtt5.UnsubscribePacket(packet_id, list(filters)).write())

    async def _ask(self, packet_id: int, request: bytes) -> Sequence[int]:
        if self.ended:
            raise LinkLost("the connection is gone")
        answer: asyncio.Future[Sequence[int]] = self._loop.create_future()
        self._answers[packet_id] = answer
        self._broker.send(self._link, request)
        try:
            return await answer
        finally:
            self._answers.pop(packet_id, None)

    # What comes in

    def _on_inbox(self) -> None:
        data, closed = self._broker.take(self._link)
        acknowledgements: list[bytes] = []
        acknowledged = False
        for first, body, header in self._splitter.feed(data):
            if self.ended:
                return
            kind = first & 0xF0
            if kind == PUBLISH:
                message, packet_id = decode_publish(first, body)
                if packet_id:
                    acknowledgements.append(encode_puback(packet_id))
                self._deliver(message)
            elif kind == PUBACK:
                self._on_puback(*decode_puback(body))
                acknowledged = True
            else:
                self._on_answer(header + body)
        if acknowledgements and not self.ended:
            self._broker.send(self._link, b"".join(acknowledgements))
        if acknowledged and not self.ended:
            self._events.roomy()
        if closed:
            self._end(self._reason)

    def _deliver(self, message: InboundMessage) -> None:
        intercept = self._broker.intercept_delivery
        if intercept is None:
            self._events.received(message)
            return
        for each in intercept(self._client_id, message):
            if not self.ended:
                self._events.received(each)

    def _on_puback(self, packet_id: int, code: int) -> None:
        entry = self.unacknowledged.pop(packet_id, None)
        if entry is None:
            return
        error: TransportError | None = None
        if code >= 0x80:
            error = PublishRefused(f"the broker refused the message to {entry.message.topic!r} (0x{code:02x})")
        self._events.acknowledged(entry, error)

    def _on_answer(self, data: bytes) -> None:
        packet, _ = mqtt5.read(memoryview(data))
        if isinstance(packet, mqtt5.SubAckPacket | mqtt5.UnsubAckPacket):
            answer = self._answers.get(packet.packet_id)
            if answer is not None and not answer.done():
                answer.set_result([int(code) for code in packet.reason_codes])
        elif isinstance(packet, mqtt5.ConnAckPacket):
            if self._connack.done():
                return
            code = int(packet.reason_code)
            if code >= 0x80:
                self._connack.set_exception(LinkRefused(f"the broker refused (0x{code:02x})", final=True))
            else:
                self._connack.set_result(None)
        elif isinstance(packet, mqtt5.DisconnectPacket):
            code = int(packet.reason_code)
            words = packet.reason_code.name.lower().replace("_", " ")
            self._reason = f"the broker disconnected: {words} (0x{code:02x})"

    # The end

    def disconnect(self) -> None:
        """Say goodbye, so that the Will does not fire, and close."""
        if not self.ended:
            self._broker.send(self._link, mqtt5.DisconnectPacket().write())
            self._stop("closed by its owner")

    def abort(self) -> None:
        """Close without a word, as a killed process does."""
        if not self.ended:
            self._stop("closed by its owner")

    def _end(self, reason: str) -> None:
        if self.ended:
            return
        announced = self._connack.done() and not self._connack.cancelled() and self._connack.exception() is None
        self._stop(reason)
        if announced:
            self._events.lost(reason)

    def _stop(self, reason: str) -> None:
        self.ended = True
        self._broker.leave(self._link)
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(LinkLost("the connection was lost before the broker answered"))
        if not self._connack.done():
            self._connack.set_exception(LinkRefused(reason))


def _make_will(message: OutboundMessage) -> mqtt5.Will:
    return mqtt5.Will(
        message.topic,
        payload=message.payload,
        qos=mqtt5.QoS.AT_LEAST_ONCE if message.qos else mqtt5.QoS.AT_MOST_ONCE,
        retain=message.retain,
        message_expiry_interval=message.expiry,
        response_topic=message.response_topic,
        correlation_data=message.correlation,
    )
