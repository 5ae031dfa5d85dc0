"""Bounds of the broker, and what it counts.

Policy, where a bound is met: what does not fit is refused or dropped, the newest first; it is counted, logged once, and
told to whoever sent it as far as the protocol has words for it. What a client did right before stays as it is.
"""

from __future__ import annotations

import attrs


@attrs.frozen
class BrokerLimits:
    """Bounds of the broker.

    Attributes:
        max_packet_size: bytes of a packet that a client may send; more: the connection ends with 0x95.
        max_queued_messages: messages that wait for one session; more: the newest is dropped.
        max_queued_bytes: the same, in payload bytes.
        high_water: bytes handed to a peer's transport at once; the rest stays queued as references.
        connect_timeout: seconds from connection to CONNECT.
        receive_max: QoS 2 publishes of one client that may be unfinished; more: the connection ends with 0x93.
        topic_alias_max: topic aliases that a client may set.
        max_sessions: sessions, of clients that are away included; one more: CONNACK 0x97.
        max_subscriptions: subscriptions of one session; one more: 0x97 in its place of the SUBACK.
        max_retained_messages: topics with a retained message; a further one: not published, PUBACK 0x97.
        max_retained_bytes: the same, in bytes of payload and topic.
        max_topic_levels: levels of a topic name or filter.
        max_keep_alive: seconds; a client that asks for more, or for none, is given this (Server Keep Alive); 0: no such
            bound.
        shared_stall_timeout: seconds without progress after which the messages of a member of a shared subscription go
            to the others.
    """

    max_packet_size: int = 64 * 1024 * 1024
    max_queued_messages: int = 100_000
    max_queued_bytes: int = 256 * 1024 * 1024
    high_water: int = 1024 * 1024
    connect_timeout: float = 10.0
    receive_max: int = 65_535
    topic_alias_max: int = 64
    max_sessions: int = 100_000
    max_subscriptions: int = 10_000
    max_retained_messages: int = 1_000_000
    max_retained_bytes: int = 512 * 1024 * 1024
    max_topic_levels: int = 200
    max_keep_alive: int = 0
    shared_stall_timeout: float = 30.0


class Counters:
    """What a broker counts over all its sessions, those that have ended included.

    Attributes:
        dropped: messages that did not fit into a session's queue, or into the packets its client takes.
        expired: messages whose time ran out in a session's queue.
        refused: publishes, filters and connections that were over a bound.
        handed_on: messages that went from one member of a shared subscription to another.
        wills: Wills published.
        published: PUBLISH packets taken in, Wills included.
        delivered: messages handed to sessions.
        bytes_received: over connections that have ended.
        bytes_sent: over connections that have ended.
    """

    __slots__ = (
        "bytes_received",
        "bytes_sent",
        "delivered",
        "dropped",
        "expired",
        "handed_on",
        "published",
        "refused",
        "wills",
    )

    def __init__(self) -> None:
        self.dropped = 0
        self.expired = 0
        self.refused = 0
        self.handed_on = 0
        self.wills = 0
        self.published = 0
        self.delivered = 0
        self.bytes_received = 0
        self.bytes_sent = 0


@attrs.frozen
class Statistics:
    """A broker at one moment: what is there, and what was counted since its start (see :class:`Counters`)."""

    clients: int
    sessions: int
    subscriptions: int
    retained_messages: int
    retained_bytes: int
    queued_messages: int
    published: int
    delivered: int
    dropped: int
    expired: int
    refused: int
    handed_on: int
    wills: int
    bytes_received: int
    bytes_sent: int
