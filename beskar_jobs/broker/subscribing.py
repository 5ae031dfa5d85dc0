"""SUBSCRIBE and UNSUBSCRIBE (MQTT 5.0, 3.8 to 3.11)."""

from __future__ import annotations

from mqtt5 import (
    DisconnectReasonCode,
    RetainHandling,
    SubAckPacket,
    SubAckReasonCode,
    SubscribePacket,
    UnsubAckPacket,
    UnsubAckReasonCode,
    UnsubscribePacket,
)

from beskar_jobs.broker.framing import PeerFault
from beskar_jobs.broker.routing import Router
from beskar_jobs.broker.sessions import Peer, Session, Subscription
from beskar_jobs.broker.topics import filter_fault

_GRANTED = (
    SubAckReasonCode.GRANTED_QOS_AT_MOST_ONCE,
    SubAckReasonCode.GRANTED_QOS_AT_LEAST_ONCE,
    SubAckReasonCode.GRANTED_QOS_EXACTLY_ONCE,
)


def subscribe(router: Router, peer: Peer, session: Session, packet: SubscribePacket, now: float) -> None:
    """Grant what can be granted, acknowledge, then send what is retained."""
    if not packet.packet_id or not packet.topic_filters:
        raise PeerFault(DisconnectReasonCode.PROTOCOL_ERROR, "a SUBSCRIBE has an identifier and at least one filter")
    answers: list[SubAckReasonCode] = []
    replays: list[tuple[str, Subscription]] = []
    for wanted in packet.topic_filters:
        pattern = wanted.pattern
        if pattern.startswith("$share/"):
            answers.append(SubAckReasonCode.SHARED_SUBSCRIPTIONS_NOT_SUPPORTED)
            continue
        if filter_fault(pattern) is not None:
            answers.append(SubAckReasonCode.TOPIC_FILTER_INVALID)
            continue
        subscription = Subscription(
            session,
            int(wanted.max_qos),
            no_local=wanted.no_local,
            retain_as_published=wanted.retain_as_published,
            identifier=packet.subscription_id,
        )
        new = router.add(pattern, subscription)
        session.subscriptions[pattern] = subscription
        answers.append(_GRANTED[subscription.qos])
        handling = wanted.retain_handling
        if handling == RetainHandling.SEND_ALWAYS or (
            handling == RetainHandling.SEND_IF_SUBSCRIPTION_NOT_EXISTS and new
        ):
            replays.append((pattern, subscription))
    peer.send(SubAckPacket(packet.packet_id, answers).write())
    for pattern, subscription in replays:
        router.replay(pattern, subscription, now)


def unsubscribe(router: Router, peer: Peer, session: Session, packet: UnsubscribePacket) -> None:
    if not packet.packet_id or not packet.patterns:
        raise PeerFault(DisconnectReasonCode.PROTOCOL_ERROR, "an UNSUBSCRIBE has an identifier and at least one filter")
    answers: list[UnsubAckReasonCode] = []
    for pattern in packet.patterns:
        if session.subscriptions.pop(pattern, None) is None:
            answers.append(UnsubAckReasonCode.NO_SUBSCRIPTION_EXISTED)
        else:
            router.remove(pattern, session)
            answers.append(UnsubAckReasonCode.SUCCESS)
    peer.send(UnsubAckPacket(packet.packet_id, answers).write())
