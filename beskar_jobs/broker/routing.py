"""From a published message to the sessions that get it (MQTT 5.0, 3.3.4), and the retained messages (3.3.1.3).

Routes are cached per topic name, and forgotten when any subscription changes: a busy topic costs one dict look-up. The
cache is bounded and starts anew when full, since a job's topics come, are used a few times, and never come back.

When filters of one session overlap it gets the message once, at the highest QoS granted, with the identifiers of all.
"""

from __future__ import annotations

from typing import NamedTuple

from mqtt5 import DisconnectReasonCode

from beskar_jobs.broker.deadlines import Deadlines
from beskar_jobs.broker.framing import PeerFault
from beskar_jobs.broker.messages import Message
from beskar_jobs.broker.sessions import Session, Subscription
from beskar_jobs.broker.topics import RetainedTree, SubscriptionTree, name_fault

_MAX_ROUTES = 4096


class _Target(NamedTuple):
    session: Session
    qos: int
    retain_as_published: bool
    identifiers: tuple[int, ...]
    no_local: bool

    def and_also(self, other: _Target) -> _Target:
        """One delivery for two filters of a session that both match (3.3.4)."""
        return _Target(
            self.session,
            max(self.qos, other.qos),
            self.retain_as_published or other.retain_as_published,
            self.identifiers + other.identifiers,
            self.no_local and other.no_local,
        )


class _Retained:
    """A slot of the retained tree. *armed* tells that a deadline will look at it."""

    __slots__ = ("armed", "message")

    def __init__(self, message: Message) -> None:
        self.message = message
        self.armed = False


class Router:
    def __init__(self) -> None:
        self._subscriptions: SubscriptionTree[Subscription] = SubscriptionTree()
        self._retained: RetainedTree[_Retained] = RetainedTree()
        self._routes: dict[str, list[_Target]] = {}
        self._deadlines: Deadlines | None = None

    @property
    def retained_count(self) -> int:
        return len(self._retained)

    def successor(self) -> Router:
        """A router for the next run of the broker: the same retained messages, no subscriptions."""
        router = Router()
        router._retained = self._retained
        return router

    def bind(self, deadlines: Deadlines) -> None:
        """Use *deadlines* for the expiry of retained messages, those already here included."""
        self._deadlines = deadlines
        for topic, slot in self._retained.items():
            slot.armed = False
            self._arm(topic, slot)

    def publish(self, message: Message, retain: int | bool, origin: Session | None) -> int:
        """Hand *message* to every session that subscribes to it, and retain it if asked to; how many sessions.

        Raises:
            PeerFault: the topic is not one that can be published to.
        """
        topic = message.topic
        now = message.received
        route = self._routes.get(topic)
        if route is None:
            route = self._find_route(topic)
        if retain:
            self._retain(message)
        for session, qos, retain_as_published, identifiers, no_local in route:
            if no_local and session is origin:
                continue
            session.deliver(
                message,
                min(qos, message.qos),
                bool(retain and retain_as_published),
                identifiers,
                now,
            )
        return len(route)

    def add(self, topic_filter: str, subscription: Subscription) -> bool:
        """Put a subscription in, or in the place of the one its session had under this filter; whether it is new."""
        self._routes.clear()
        return self._subscriptions.put(topic_filter, subscription.session, subscription) is None

    def remove(self, topic_filter: str, session: Session) -> bool:
        self._routes.clear()
        return self._subscriptions.remove(topic_filter, session) is not None

    def replay(self, topic_filter: str, subscription: Subscription, now: float) -> None:
        """Hand the retained messages that the filter matches to the session (3.3.1.3)."""
        identifiers = () if subscription.identifier is None else (subscription.identifier,)
        for slot in self._retained.match(topic_filter):
            message = slot.message
            if not message.expired(now):
                subscription.session.deliver(
                    message, min(subscription.qos, message.qos), True, identifiers, now, bounded=False
                )

    def _find_route(self, topic: str) -> list[_Target]:
        fault = name_fault(topic)
        if fault is not None:
            raise PeerFault(DisconnectReasonCode.TOPIC_NAME_INVALID, fault)
        targets: dict[Session, _Target] = {}
        for each in self._subscriptions.match(topic):
            target = _Target(
                each.session,
                each.qos,
                each.retain_as_published,
                () if each.identifier is None else (each.identifier,),
                each.no_local,
            )
            other = targets.get(each.session)
            targets[each.session] = target if other is None else other.and_also(target)
        route = list(targets.values())
        if len(self._routes) >= _MAX_ROUTES:
            self._routes.clear()
        self._routes[topic] = route
        return route

    def _retain(self, message: Message) -> None:
        topic = message.topic
        if message.empty:
            self._retained.remove(topic)
            return
        kept = message.fresh()
        slot = self._retained.get(topic)
        if slot is None:
            slot = _Retained(kept)
            self._retained.put(topic, slot)
        else:
            slot.message = kept
        self._arm(topic, slot)

    def _arm(self, topic: str, slot: _Retained) -> None:
        """See to it that a deadline looks at the slot. One is enough, however often the message is replaced."""
        at = slot.message.expires_at
        if at is None or slot.armed or self._deadlines is None:
            return
        slot.armed = True

        def check(now: float) -> float | None:
            if self._retained.get(topic) is not slot:
                return None
            at = slot.message.expires_at
            if at is None:
                slot.armed = False
                return None
            if now < at:
                return at
            self._retained.remove(topic)
            return None

        self._deadlines.add(at, check)
