"""PUBLISH and PUBACK as bytes, and the cutting of a stream into packets. Pure: no socket, no clock.

Only the two packets that carry the load are known here (MQTT 5.0 sections 3.3 and 3.4, properties in 2.2.2); every
other packet passes through whole, for paho to read. Properties that the engine does not use are skipped, not kept.
Bytes that break the standard raise :class:`MalformedPacket`; the connection is then beyond repair and must go.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Final, NamedTuple

from beskar_jobs.ports.transport import InboundMessage, OutboundMessage

PUBLISH: Final = 0x30
PUBACK: Final = 0x40

_MESSAGE_EXPIRY: Final = 0x02
_RESPONSE_TOPIC: Final = 0x08
_CORRELATION: Final = 0x09

# Section 2.2.2.2: how long the value of each property of a PUBLISH or PUBACK is. Negative: that many strings or
# binary values, each behind a length of two bytes; 0: a variable byte integer.
_PROPERTY_WIDTH: Final = {
    0x01: 1,
    _MESSAGE_EXPIRY: 4,
    0x03: -1,
    _RESPONSE_TOPIC: -1,
    _CORRELATION: -1,
    0x0B: 0,
    0x1F: -1,
    0x23: 2,
    0x26: -2,
}


class MalformedPacket(Exception):
    """The peer sent bytes that are no MQTT 5 packet, or one that this side may not be sent."""


class Publish(NamedTuple):
    """A PUBLISH received; *packet_id* is 0 at QoS 0."""

    message: InboundMessage
    packet_id: int


def encode_length(value: int) -> bytes:
    """*value* as a variable byte integer (section 1.5.5)."""
    if value < 0x80:
        return bytes((value,))
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


@functools.lru_cache(maxsize=64)
def _expiry_alone(expiry: int | None) -> bytes:
    """The properties, with their length, of a message that has no others: one of few values, over and over."""
    return b"\x00" if expiry is None else b"\x05\x02" + expiry.to_bytes(4, "big")


def _properties(message: OutboundMessage) -> bytes:
    properties = _expiry_alone(message.expiry)[1:]
    if message.response_topic is not None:
        response = message.response_topic.encode()
        properties += b"\x08" + len(response).to_bytes(2, "big") + response
    if message.correlation is not None:
        properties += b"\x09" + len(message.correlation).to_bytes(2, "big") + message.correlation
    return encode_length(len(properties)) + properties


def encode_publish(message: OutboundMessage, packet_id: int, *, again: bool) -> bytes:
    """*message* as a PUBLISH; *again* marks a second delivery (DUP)."""
    topic = message.topic.encode()
    payload = message.payload
    if message.response_topic is None and message.correlation is None:
        properties = _expiry_alone(message.expiry)
    else:
        properties = _properties(message)
    identifier = packet_id.to_bytes(2, "big") if message.qos else b""
    first = PUBLISH | (again << 3) | (message.qos << 1) | message.retain
    length = encode_length(2 + len(topic) + len(identifier) + len(properties) + len(payload))
    return b"".join((bytes((first,)), length, len(topic).to_bytes(2, "big"), topic, identifier, properties, payload))


def encode_puback(packet_id: int) -> bytes:
    return b"\x40\x02" + packet_id.to_bytes(2, "big")


def decode_publish(first: int, body: bytes) -> Publish:
    """The PUBLISH with the first byte *first* and everything after the remaining length in *body*."""
    qos = first >> 1 & 3
    if qos > 1:
        raise MalformedPacket(f"a PUBLISH at QoS {qos}, though no subscription asks for more than 1")
    try:
        position = 2 + int.from_bytes(body[:2], "big")
        topic = body[2:position].decode()
        packet_id = 0
        if qos:
            packet_id = int.from_bytes(body[position : position + 2], "big")
            position += 2
        size = body[position]
        position += 1
        if size > 0x7F:
            size, position = _length_at(body, position - 1)
        end = position + size
        response_topic: str | None = None
        correlation: bytes | None = None
        while position < end:
            kind = body[position]
            value, position = _property_value(body, kind, position + 1)
            if kind == _RESPONSE_TOPIC:
                response_topic = value.decode()
            elif kind == _CORRELATION:
                correlation = value
    except (IndexError, UnicodeDecodeError) as error:
        raise MalformedPacket(f"a PUBLISH that cannot be read: {error}") from error
    if position != end or end > len(body) or not topic or (qos and not packet_id):
        raise MalformedPacket("a PUBLISH whose lengths, topic or packet identifier cannot be")
    return Publish(InboundMessage(topic, body[end:], bool(first & 1), response_topic, correlation), packet_id)


def decode_puback(body: bytes) -> tuple[int, int]:
    """Packet identifier and reason code (0 and 0x10: accepted; from 0x80 on: refused)."""
    if len(body) < 2:
        raise MalformedPacket("a PUBACK without packet identifier")
    return int.from_bytes(body[:2], "big"), body[2] if len(body) > 2 else 0


def _property_value(body: bytes, kind: int, position: int) -> tuple[bytes, int]:
    width = _PROPERTY_WIDTH.get(kind)
    if width is None:
        raise MalformedPacket(f"a property 0x{kind:02x}, which does not belong there")
    if width > 0:
        return body[position : position + width], position + width
    if width == 0:
        _, after = _length_at(body, position)
        return body[position:after], after
    value = b""
    for _ in range(-width):
        start = position + 2
        position = start + int.from_bytes(body[position:start], "big")
        value = body[start:position]
    return value, position


def _length_at(data: bytes | bytearray, position: int) -> tuple[int, int]:
    """The variable byte integer at *position*, and where it ends; ``IndexError`` if it is not all there."""
    value = 0
    for shift in (0, 7, 14, 21):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise MalformedPacket("a length of more than four bytes")


class PacketSplitter:
    """Cuts what a socket gives into packets.

    A packet longer than *limit* bytes is refused as soon as its length is known, so that a peer cannot fill the memory.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._needed = 0

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
        """Take *data*; give each packet now complete: first byte, body, and its fixed header as bytes."""
        if self._rest:
            self._rest += data
            if len(self._rest) < self._needed:
                return
            data = bytes(self._rest)
            self._rest.clear()
        position = 0
        size = len(data)
        while position < size:
            try:
                length = data[position + 1]
                start = position + 2
                if length > 0x7F:
                    length, start = _length_at(data, position + 1)
            except IndexError:
                self._needed = size - position + 1
                break
            if length > self._limit:
                raise MalformedPacket(f"a packet of {length} bytes, more than the limit of {self._limit}")
            end = start + length
            if end > size:
                self._needed = end - position
                break
            yield data[position], data[start:end], data[position:start]
            position = end
        if position < size:
            self._rest += data[position:]
