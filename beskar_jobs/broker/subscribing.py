"""SUBSCRIBE and UNSUBSCRIBE (MQTT 5.0, 3.8 to 3.11)."""

from __future__ import annotations

from mqtt5 import (
    DisconnectReasonCode,
    RetainHandling,
    SubAckPacket,
    SubAckReasonCode,
    SubscribePacket,
    TopicFilter,
    UnsubAckPacket,
    UnsubAckReasonCode,
    UnsubscribePacket,
)

from beskar_jobs.broker.framing import PeerFault
from beskar_jobs.broker.routing import Router
from beskar_jobs.broker.sessions import Peer, Session, Subscription
from beskar_jobs.broker.shared import PREFIX, split_share
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
    reasons: list[str] = []
    granted: list[tuple[TopicFilter, Subscription, bool]] = []
    for wanted in packet.topic_filters:
        refusal = _refusal(router, session, wanted)
        if refusal is not None:
            answers.append(refusal[0])
            reasons.append(refusal[1])
            continue
        subscription = Subscription(
            session,
            int(wanted.max_qos),
            no_local=wanted.no_local,
            retain_as_published=wanted.retain_as_published,
            identifier=packet.subscription_id,
        )
        granted.append((wanted, subscription, router.add(wanted.pattern, subscription)))
        answers.append(_GRANTED[subscription.qos])
    text = "; ".join(reasons)
    reason = text if text and peer.takes_reason(text) else None
    peer.send(SubAckPacket(packet.packet_id, answers, reason_str=reason).write())
    for wanted, subscription, new in granted:
        if wanted.pattern.startswith(PREFIX):
            for group in list(session.groups):
                group.rescue(now)
        elif wanted.retain_handling == RetainHandling.SEND_ALWAYS or (
            wanted.retain_handling == RetainHandling.SEND_IF_SUBSCRIPTION_NOT_EXISTS and new
        ):
            router.replay(wanted.pattern, subscription, now)


def _refusal(router: Router, session: Session, wanted: TopicFilter) -> tuple[SubAckReasonCode, str] | None:
    """Why the filter is not granted; ``None``: it is.

    Raises:
        PeerFault: it breaks a rule that ends the connection.
    """
    pattern = wanted.pattern
    limits = router.limits
    topic_filter = pattern
    if pattern.startswith(PREFIX):
        if wanted.no_local:  # 3.8.3.1
            raise PeerFault(DisconnectReasonCode.PROTOCOL_ERROR, "a shared subscription has No Local set")
        share = split_share(pattern)
        if share is None:
            return SubAckReasonCode.TOPIC_FILTER_INVALID, f"{pattern[:80]!r} is not $share/NAME/FILTER"
        topic_filter = share[1]
    fault = filter_fault(topic_filter, limits.max_topic_levels)
    if fault is not None:
        return SubAckReasonCode.TOPIC_FILTER_INVALID, fault
    if len(session.subscriptions) >= limits.max_subscriptions and pattern not in session.subscriptions:
        router.counters.refused += 1
        return SubAckReasonCode.QUOTA_EXCEEDED, f"a client may have {limits.max_subscriptions} subscriptions"
    return None


def unsubscribe(router: Router, peer: Peer, session: Session, packet: UnsubscribePacket) -> None:
    if not packet.packet_id or not packet.patterns:
        raise PeerFault(DisconnectReasonCode.PROTOCOL_ERROR, "an UNSUBSCRIBE has an identifier and at least one filter")
    answers: list[UnsubAckReasonCode] = []
    for pattern in packet.patterns:
        if router.remove(pattern, session):
            answers.append(UnsubAckReasonCode.SUCCESS)
        else:
            answers.append(UnsubAckReasonCode.NO_SUBSCRIPTION_EXISTED)
    peer.send(UnsubAckPacket(packet.packet_id, answers).write())
