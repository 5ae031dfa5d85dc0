"""PUBLISH from a client, and its acknowledgement (MQTT 5.0, 3.3 to 3.5).

PUBACK and PUBREC tell when nobody listens (0x10), and when a message that was to be retained finds no room (0x97, with
a Reason String); such a message is handed to nobody, so that the publisher may simply try again.
"""

from __future__ import annotations

import logging

from mqtt5 import (
    DisconnectReasonCode,
    PubAckPacket,
    PublishPacket,
    PubRecPacket,
    PubRecReasonCode,
    Will,
)

from beskar_jobs.broker.framing import PeerFault, Refusal, decode
from beskar_jobs.broker.limits import BrokerLimits
from beskar_jobs.broker.messages import Message, plain_layout
from beskar_jobs.broker.routing import Router
from beskar_jobs.broker.sessions import Peer, Session

logger = logging.getLogger("beskar_jobs.broker")

_PUBACK, _PUBREC = b"\x40", b"\x50"
_NO_MATCHING_SUBSCRIBERS = b"\x10"


def accept_publish(router: Router, peer: Peer, raw: bytes, body: int, now: float) -> None:
    """Route the PUBLISH in *raw*, whose body starts at *body*, and acknowledge it.

    Raises:
        PeerFault: it breaks a rule.
    """
    session = peer.session
    assert session is not None  # CONNECT is the first packet
    packet_id, message = _read(peer, raw, body, router.limits, now)
    qos = message.qos
    retain = raw[0] & 1
    if qos and not packet_id:
        raise PeerFault(DisconnectReasonCode.PROTOCOL_ERROR, "a PUBLISH has the packet identifier 0")
    reached = 1
    try:
        if qos < 2:
            reached = router.publish(message, retain, session)
        elif packet_id not in session.received_ids:
            if len(session.received_ids) >= router.limits.receive_max:
                raise PeerFault(DisconnectReasonCode.RECEIVE_MAX_EXCEEDED, "too many unfinished QoS 2 publishes")
            reached = router.publish(message, retain, session)
            session.received_ids.add(packet_id)
    except Refusal as refusal:
        if qos:  # it was counted where it was raised, and QoS 0 has no answer
            _refuse(peer, qos, packet_id, refusal)
        return
    if not qos:
        return
    kind = _PUBACK if qos == 1 else _PUBREC
    identifier = packet_id.to_bytes(2)
    if reached:
        peer.send(kind + b"\x02" + identifier)
    else:
        peer.send(kind + b"\x03" + identifier + _NO_MATCHING_SUBSCRIBERS)


def publish_will(router: Router, client_id: str, will: Will, origin: Session, now: float) -> None:
    """Publish the Will of a client; one that cannot be published is logged."""
    try:
        router.publish(Message.from_will(will, now), will.retain, origin)
    except (PeerFault, Refusal) as fault:
        logger.warning("Will of client %r not published: %s", client_id, fault)


def check_response_topic(topic: str | None) -> None:
    """See that it is one that can be published to (3.3.2.3.5): a receiver's codec may stumble over another.

    Raises:
        PeerFault: it is not.
    """
    if topic is not None and ("+" in topic or "#" in topic):
        raise PeerFault(DisconnectReasonCode.PROTOCOL_ERROR, f"response topic {topic[:80]!r} holds a wildcard")


def _read(peer: Peer, raw: bytes, body: int, limits: BrokerLimits, now: float) -> tuple[int, Message]:
    """The packet identifier (0: there is none) and the message."""
    layout = plain_layout(raw, body)
    if layout is not None:
        topic_end, payload_at = layout
        try:
            topic = str(raw[body + 2 : topic_end], "utf-8")
        except UnicodeDecodeError:
            raise PeerFault(DisconnectReasonCode.MALFORMED_PACKET, "a topic name is not UTF-8") from None
        packet_id = raw[topic_end] << 8 | raw[topic_end + 1] if raw[0] & 0x06 else 0
        return packet_id, Message.from_plain(topic, raw, topic_end, payload_at, now)
    packet = decode(raw, body)
    assert isinstance(packet, PublishPacket)
    if packet.subscription_ids:
        raise PeerFault(DisconnectReasonCode.PROTOCOL_ERROR, "a client's PUBLISH has a subscription identifier")
    check_response_topic(packet.response_topic)
    topic = packet.topic
    if packet.topic_alias is not None:
        topic = peer.resolve_alias(packet.topic_alias, topic, limits.topic_alias_max)
    topic_end = body + 2 + (raw[body] << 8 | raw[body + 1])
    return packet.packet_id or 0, Message.from_packet(packet, topic, raw, topic_end, now)


def _refuse(peer: Peer, qos: int, packet_id: int, refusal: Refusal) -> None:
    text = str(refusal)
    reason = text if peer.takes_reason(text) else None
    if qos == 1:
        peer.send(PubAckPacket(packet_id, reason_code=refusal.reason, reason_str=reason).write())
    else:
        code = PubRecReasonCode(int(refusal.reason))  # the two have the same codes
        peer.send(PubRecPacket(packet_id, reason_code=code, reason_str=reason).write())
