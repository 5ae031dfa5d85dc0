"""The client's end of one connection to the in-memory broker: packets out and in, identifiers, what is in flight.

What a test has the broker do with messages on their way (``intercept``) happens here, at the client's end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import mqtt5

from beskar_jobs.model.errors import InvalidValue, PublishRefused, TransportError
from beskar_jobs.ports.transport import InboundMessage, OutboundMessage, TransportOptions
from beskar_jobs.transport.link import DENIALS, ConnectFailed, ConnectionLost, LinkEvents
from beskar_jobs.transport.memory_broker import MemoryBroker, MemoryPipe
from beskar_jobs.transport.outbox import Entry, Outbox
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


class MemoryLink:
    """:class:`~beskar_jobs.transport.link.Link` without a socket."""

    def __init__(
        self, broker: MemoryBroker, options: TransportOptions, will: OutboundMessage | None, events: LinkEvents
    ) -> None:
        self._broker = broker
        self._client_id = options.client_id
        self._options = options
        self._will = will
        self._events = events
        self._loop = asyncio.get_running_loop()
        self._pipe = MemoryPipe(self._loop, self._on_inbox)
        self._splitter = PacketSplitter(_MAX_INBOUND)
        self._connack: asyncio.Future[None] = self._loop.create_future()
        self._answers: dict[int, asyncio.Future[Sequence[int]]] = {}
        self._next_id = 1
        self._reason = "the connection was lost"
        self.ended = False
        self.unacknowledged: dict[int, Entry] = {}

    @property
    def drained(self) -> bool:
        return True  # what is sent is with the broker

    async def dial(self, timeout: float) -> None:
        if not self._broker.connect(self._pipe):
            self.ended = True
            raise ConnectFailed("the broker is stopped")

    async def handshake(self) -> None:
        options = self._options
        packet = mqtt5.ConnectPacket(
            self._client_id,
            username=options.username,
            password=None if options.password is None else options.password.encode(),
            clean_start=True,
            will=None if self._will is None else _make_will(self._will),
        )
        self._broker.send(self._pipe, packet.write())
        await self._connack

    # Publishing

    def hand_over(self, outbox: Outbox) -> None:
        """As the contract says, in one piece."""
        waiting = outbox.waiting
        room = max(0, _WINDOW - len(self.unacknowledged))
        batch: list[Entry] = []
        while waiting and (room or not waiting[0].message.qos):
            entry = waiting.popleft()
            room -= entry.message.qos
            batch.append(entry)
        if batch:
            for entry in self._publish(batch):
                outbox.settle(entry)

    def _publish(self, entries: Sequence[Entry]) -> list[Entry]:
        """Send *entries*; those that are settled by it (QoS 0, or taken away by the broker's filter)."""
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
        self._broker.send(self._pipe, b"".join(pieces))
        return settled

    def _allot(self) -> int:
        packet_id = self._next_id
        while packet_id in self.unacknowledged or packet_id in self._answers:
            packet_id = packet_id % 65_535 + 1
        self._next_id = packet_id % 65_535 + 1
        return packet_id

    # Subscribing

    async def subscribe(self, filters: Sequence[str]) -> Sequence[int]:
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
            raise ConnectionLost("the connection is gone")
        answer: asyncio.Future[Sequence[int]] = self._loop.create_future()
        self._answers[packet_id] = answer
        self._broker.send(self._pipe, request)
        try:
            return await answer
        finally:
            self._answers.pop(packet_id, None)

    # What comes in

    def _on_inbox(self) -> None:
        data, closed = self._broker.take(self._pipe)
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
            self._broker.send(self._pipe, b"".join(acknowledgements))
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
                text = f"the broker refused (0x{code:02x})"
                self._connack.set_exception(ConnectFailed(text, final=True, denied=code in DENIALS))
            else:
                self._connack.set_result(None)
        elif isinstance(packet, mqtt5.DisconnectPacket):
            code = int(packet.reason_code)
            words = packet.reason_code.name.lower().replace("_", " ")
            self._reason = f"the broker disconnected: {words} (0x{code:02x})"

    # The end

    def disconnect(self) -> None:
        if not self.ended:
            self._broker.send(self._pipe, mqtt5.DisconnectPacket().write())
            self._stop("closed by its owner")

    def abort(self) -> None:
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
        self._broker.leave(self._pipe)
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ConnectionLost("the connection was lost before the broker answered"))
        if not self._connack.done():
            self._connack.set_exception(ConnectFailed(reason))


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
