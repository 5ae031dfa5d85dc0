"""The core with rights: what a client publishes and subscribes to is held to the roles of its account.

A publish that is denied gets PUBACK or PUBREC 0x87 (3.4.2.1, 3.5.2.1), and no answer at QoS 0; the connection goes on,
for one wrong topic is no reason to lose a worker. A denied filter gets 0x87 in its place of the SUBACK (3.9.3), and the
others of the same SUBSCRIBE are granted. Both are counted, and logged once per client and topic level.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import mqtt5
from mqtt5 import DisconnectReasonCode, PublishPacket, SubAckPacket, SubAckReasonCode, SubscribePacket

from beskar_jobs.broker.access import AccessRules, Action, Identity
from beskar_jobs.broker.core import BrokerCore
from beskar_jobs.broker.framing import PeerFault, decode
from beskar_jobs.broker.journal import Journal
from beskar_jobs.broker.messages import plain_layout
from beskar_jobs.broker.sessions import BrokerLimits, Peer, Session
from beskar_jobs.broker.subscribing import subscribe

logger = logging.getLogger("beskar_jobs.broker")

_NOT_AUTHORISED: Final = b"\x87"
_HEADS: Final = {1: b"\x40\x03", 2: b"\x50\x03"}
_MAX_REPORTED: Final = 1000


class GuardedCore(BrokerCore):
    """See the module.

    Args:
        rules: what the roles may do.
        identify: who a connection is; ``None``: nobody, who may do nothing.
        journal: as that of the core.

    Attributes:
        denied: publishes and filters that were refused.
    """

    def __init__(
        self,
        limits: BrokerLimits,
        make_client_id: Callable[[], str],
        rules: AccessRules,
        identify: Callable[[Peer], Identity | None],
        journal: Journal | None = None,
    ) -> None:
        super().__init__(limits, make_client_id, journal=journal)
        self._rules = rules
        self._identify = identify
        self._reported: set[tuple[str, str]] = set()
        self.denied = 0

    def _on_publish(self, peer: Peer, session: Session, raw: bytes, body: int, now: float) -> None:
        identity = self._identify(peer)
        if identity is not None and identity.roles is None:
            super()._on_publish(peer, session, raw, body, now)
            return
        topic, alias, topic_end = _topic_of(peer, raw, body)
        if self._allows(peer, session, "publish", topic):
            super()._on_publish(peer, session, raw, body, now)
            return
        if alias is not None:
            peer.resolve_alias(alias, topic, self.limits.topic_alias_max)  # it counts from now on
        qos = (raw[0] >> 1) & 3
        if qos:
            peer.send(_HEADS[qos] + raw[topic_end : topic_end + 2] + _NOT_AUTHORISED)

    def _on_other(self, peer: Peer, session: Session, packet: mqtt5.Packet, now: float) -> None:
        if not isinstance(packet, SubscribePacket) or not packet.packet_id:
            super()._on_other(peer, session, packet, now)
            return
        wanted = packet.topic_filters
        granted = [self._allows(peer, session, "subscribe", each.pattern) for each in wanted]
        if all(granted):
            super()._on_other(peer, session, packet, now)
        elif not any(granted):
            peer.send(SubAckPacket(packet.packet_id, [SubAckReasonCode.NOT_AUTHORIZED] * len(wanted)).write())
        else:
            allowed = [each for each, right in zip(wanted, granted, strict=True) if right]
            rest = SubscribePacket(packet.packet_id, allowed, subscription_id=packet.subscription_id)
            subscribe(self.router, _Merging(peer, granted, now), session, rest, now)

    def _allows(self, peer: Peer, session: Session, action: Action, topic: str) -> bool:
        identity = self._identify(peer)
        if identity is not None and self._rules.allows(identity, action, topic):
            return True
        self.denied += 1
        key = (session.client_id, topic.rpartition("/")[0])
        if key not in self._reported and len(self._reported) < _MAX_REPORTED:
            self._reported.add(key)
            logger.warning("client %r may not %s to %r", session.client_id, action, topic)
        return False


def _topic_of(peer: Peer, raw: bytes, body: int) -> tuple[str, int | None, int]:
    """Topic, topic alias, and where the topic ends in a PUBLISH.

    Raises:
        PeerFault: it is malformed.
    """
    layout = plain_layout(raw, body)
    if layout is not None:
        topic_end = layout[0]
        try:
            return str(raw[body + 2 : topic_end], "utf-8"), None, topic_end
        except UnicodeDecodeError:
            raise PeerFault(DisconnectReasonCode.MALFORMED_PACKET, "a topic name is not UTF-8") from None
    packet = decode(raw, body)
    assert isinstance(packet, PublishPacket)
    alias = packet.topic_alias
    topic = packet.topic or ("" if alias is None else peer.aliases.get(alias, ""))
    return topic, alias, body + 2 + (raw[body] << 8 | raw[body + 1])


class _Merging(Peer):
    """Stands for a peer while its SUBACK is made: puts the denied filters back in their places."""

    __slots__ = ("_granted", "_real")

    def __init__(self, real: Peer, granted: list[bool], now: float) -> None:
        super().__init__(real.label, real.context, [], now)
        self._real = real
        self._granted = granted

    def send(self, data: bytes) -> None:
        answer, _ = mqtt5.read(memoryview(data))
        assert isinstance(answer, SubAckPacket)
        codes = iter(answer.reason_codes)
        merged = [next(codes) if right else SubAckReasonCode.NOT_AUTHORIZED for right in self._granted]
        self._real.send(SubAckPacket(answer.packet_id, merged).write())
