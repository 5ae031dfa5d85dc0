"""A message on its way through the broker, and the bytes it goes out as.

A PUBLISH is encoded once for each form that subscribers need (QoS, RETAIN flag) and the same bytes serve all of them;
only the packet identifier is put in between for each. The usual form needs no encoding at all: what a publisher sent
without DUP, RETAIN and topic alias is, byte for byte, what a subscriber of the same QoS must get. Two things make a
form individual: subscription identifiers, and an expiry interval once a full second has passed (3.3.2.3.3: the
interval that goes out is what remains).

For the same reason a PUBLISH without properties is not even decoded unless another form of it is asked for; its layout
(3.3) is checked by :func:`plain_layout`.
"""

from __future__ import annotations

from typing import cast

from mqtt5 import PublishPacket, QoS, Will, read

_QOS = (QoS.AT_MOST_ONCE, QoS.AT_LEAST_ONCE, QoS.EXACTLY_ONCE)
_DUP_OR_RETAIN = 0x09

Frame = tuple[bytes, bytes]
"""An encoded PUBLISH. At QoS 0 the first part is all of it, else the packet identifier goes between the two."""


def plain_layout(raw: bytes, body: int) -> tuple[int, int] | None:
    """Where topic and properties of a PUBLISH end, if it has a topic and no properties; ``None``: have it decoded.

    Args:
        raw: the whole packet.
        body: where what follows the fixed header starts.
    """
    size = len(raw)
    if size < body + 4:
        return None
    topic_end = body + 2 + (raw[body] << 8 | raw[body + 1])
    qos_bits = raw[0] & 0x06
    properties = topic_end + 2 if qos_bits else topic_end
    if topic_end == body + 2 or qos_bits == 0x06 or properties >= size or raw[properties]:
        return None
    return topic_end, properties + 1


class Message:
    """One application message. Properties are kept as they came (3.3.2.3: a broker passes them on unaltered).

    Args:
        source: what was decoded, or the undecoded PUBLISH.
        size: of the payload, in bytes.
        interval: Message Expiry Interval, seconds.
        same: the PUBLISH as it came and where its packet identifier stands, if it may go out like that.

    Attributes:
        qos: the publisher's.
        received: monotonic seconds.
        expires_at: monotonic seconds; ``None``: never.
    """

    __slots__ = ("_frames", "_same", "_source", "expires_at", "qos", "received", "size", "topic")

    def __init__(
        self,
        source: PublishPacket | Will | bytes,
        topic: str,
        qos: int,
        received: float,
        size: int,
        *,
        interval: int | None = None,
        same: Frame | None = None,
    ) -> None:
        self._source = source
        self._frames: dict[int, Frame] | None = None
        self._same = same
        self.topic = topic
        self.qos = qos
        self.received = received
        self.size = size
        self.expires_at = None if interval is None else received + interval

    @classmethod
    def from_will(cls, will: Will, now: float) -> Message:
        size = len(will.payload or b"")
        return cls(will, will.topic, int(will.qos), now, size, interval=will.message_expiry_interval)

    @classmethod
    def from_packet(cls, packet: PublishPacket, topic: str, raw: bytes, topic_end: int, received: float) -> Message:
        """From a decoded PUBLISH; *raw* is what it was decoded from."""
        first = raw[0]
        same = packet.topic_alias is None and not first & _DUP_OR_RETAIN
        return cls(
            packet,
            topic,
            (first >> 1) & 3,
            received,
            len(packet.payload),
            interval=packet.message_expiry_interval,
            same=_split(raw, topic_end) if same else None,
        )

    @classmethod
    def from_plain(cls, topic: str, raw: bytes, topic_end: int, payload_at: int, received: float) -> Message:
        """From a PUBLISH that :func:`plain_layout` has looked at."""
        first = raw[0]
        same = None if first & _DUP_OR_RETAIN else _split(raw, topic_end)
        return cls(raw, topic, (first >> 1) & 3, received, len(raw) - payload_at, same=same)

    def fresh(self) -> Message:
        """The same message without encoded forms, to be kept for long."""
        kept = Message(self._source, self.topic, self.qos, self.received, self.size)
        kept.expires_at = self.expires_at
        return kept

    @classmethod
    def from_stored(cls, packet: bytes, received: float) -> Message:
        """From what :meth:`stored` gave; *received*: when the broker got it, in monotonic seconds of now."""
        source = cast(PublishPacket, read(memoryview(packet))[0])
        interval = source.message_expiry_interval
        return cls(source, source.topic, int(source.qos), received, len(source.payload), interval=interval)

    def stored(self) -> bytes:
        """A PUBLISH with all that is to be known to make the message again, but for when it was received."""
        head, tail = self._encode(self.qos, False, (), self.received)
        return head + b"\x00\x01" + tail if self.qos else head

    @property
    def empty(self) -> bool:
        return self.size == 0

    def expired(self, now: float) -> bool:
        return self.expires_at is not None and now >= self.expires_at

    def frame(self, qos: int, retain: bool, subscription_ids: tuple[int, ...], now: float) -> Frame:
        """The encoded form. The caller has seen to it that the message is not expired."""
        if subscription_ids or (self.expires_at is not None and now - self.received >= 1.0):
            return self._encode(qos, retain, subscription_ids, now)
        if self._same is not None and qos == self.qos and not retain:
            return self._same
        if self._frames is None:
            self._frames = {}
        key = (qos << 1) | retain
        frame = self._frames.get(key)
        if frame is None:
            frame = self._frames[key] = self._encode(qos, retain, (), now)
        return frame

    def _encode(self, qos: int, retain: bool, subscription_ids: tuple[int, ...], now: float) -> Frame:
        source = self._source
        if isinstance(source, bytes):
            source = cast(PublishPacket, read(memoryview(source))[0])
        interval = source.message_expiry_interval
        if interval is not None:
            interval -= int(now - self.received)
        data = PublishPacket(
            self.topic,
            source.payload or b"",
            qos=_QOS[qos],
            retain=retain,
            packet_id=1 if qos else None,
            payload_format_indicator=source.payload_format_indicator,
            message_expiry_interval=interval,
            content_type=source.content_type,
            response_topic=source.response_topic,
            correlation_data=source.correlation_data,
            subscription_ids=list(subscription_ids),
            user_properties=source.user_properties,
        ).write()
        at = 1
        while data[at] & 0x80:
            at += 1
        return _split(data, at + 3 + (data[at + 1] << 8 | data[at + 2]))


def _split(data: bytes, topic_end: int) -> Frame:
    if data[0] & 0x06:
        return data[:topic_end], data[topic_end + 2 :]
    return data, b""
