"""A message on its way through the broker, and the bytes it goes out as.

A PUBLISH is encoded once for each form that subscribers need (QoS, RETAIN flag) and the same bytes serve all of them;
only the packet identifier is put in between for each. The usual form needs no encoding at all: what a publisher sent
without DUP, RETAIN and topic alias is, byte for byte, what a subscriber of the same QoS must get. Two things make a
form individual: subscription identifiers, and an expiry interval once a full second has passed (3.3.2.3.3: the
interval that goes out is what remains).
"""

from __future__ import annotations

from typing import NamedTuple

from mqtt5 import PublishPacket, QoS, Will

_QOS = (QoS.AT_MOST_ONCE, QoS.AT_LEAST_ONCE, QoS.EXACTLY_ONCE)


class Frame(NamedTuple):
    """An encoded PUBLISH. At QoS 0 *head* is all of it, else the packet identifier goes between *head* and *tail*."""

    head: bytes
    tail: bytes


class Message:
    """One application message. Properties are kept as they came (4.8 ff.: a broker passes them on unaltered).

    Attributes:
        qos: the publisher's.
        received: monotonic seconds.
        expires_at: monotonic seconds; ``None``: never.
    """

    __slots__ = ("_frames", "_source", "expires_at", "qos", "received", "size", "topic")

    def __init__(self, source: PublishPacket | Will, topic: str, qos: int, received: float) -> None:
        self._source = source
        self._frames: dict[int, Frame] = {}
        self.topic = topic
        self.qos = qos
        self.received = received
        interval = source.message_expiry_interval
        self.expires_at = None if interval is None else received + interval
        self.size = len(source.payload or b"")

    def seed(self, raw: bytes, identifier_at: int) -> None:
        """Take *raw*, the PUBLISH as received, for the form of the same QoS. It has no DUP, RETAIN or topic alias."""
        if self.qos:
            self._frames[self.qos << 1] = Frame(raw[:identifier_at], raw[identifier_at + 2 :])
        else:
            self._frames[0] = Frame(raw, b"")

    def fresh(self) -> Message:
        """The same message without encoded forms, to be kept for long."""
        return Message(self._source, self.topic, self.qos, self.received)

    @property
    def empty(self) -> bool:
        return self.size == 0

    def expired(self, now: float) -> bool:
        return self.expires_at is not None and now >= self.expires_at

    def frame(self, qos: int, retain: bool, subscription_ids: tuple[int, ...], now: float) -> Frame:
        """The encoded form. The caller has seen to it that the message is not expired."""
        if subscription_ids or (self.expires_at is not None and now - self.received >= 1.0):
            return self._encode(qos, retain, subscription_ids, now)
        key = (qos << 1) | retain
        frame = self._frames.get(key)
        if frame is None:
            frame = self._frames[key] = self._encode(qos, retain, (), now)
        return frame

    def _encode(self, qos: int, retain: bool, subscription_ids: tuple[int, ...], now: float) -> Frame:
        source = self._source
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
        if not qos:
            return Frame(data, b"")
        at = 1
        while data[at] & 0x80:
            at += 1
        at += 3 + int.from_bytes(data[at + 1 : at + 3])
        return Frame(data[:at], data[at + 2 :])
