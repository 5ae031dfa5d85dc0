"""From a published message to the sessions that get it (MQTT 5.0, 3.3.4), and the retained messages (3.3.1.3).

Routes are cached per topic name, and forgotten when any subscription changes: a busy topic costs one dict look-up. The
cache is bounded and starts anew when full, since a job's topics come, are used a few times, and never come back.

Shared subscriptions stand in a tree of their own: a route ends in sessions and in groups, and a group gives the message
to one of its members (:mod:`~beskar_jobs.broker.shared`). They get no retained messages when they are made (4.8.2).

Names below ``$SYS`` are the broker's own; no client publishes there.

When filters of one session overlap it gets the message once, at the highest QoS granted, with the identifiers of all.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from mqtt5 import DisconnectReasonCode, PubAckReasonCode

from beskar_jobs.broker.deadlines import Deadlines
from beskar_jobs.broker.framing import PeerFault, Refusal
from beskar_jobs.broker.journal import Journal
from beskar_jobs.broker.limits import BrokerLimits, Counters
from beskar_jobs.broker.messages import Message
from beskar_jobs.broker.sessions import Session, Subscription
from beskar_jobs.broker.shared import PREFIX, SharedGroup, split_share
from beskar_jobs.broker.topics import RetainedTree, SubscriptionTree, name_fault

logger = logging.getLogger("beskar_jobs.broker")

_MAX_ROUTES = 4096
_SYSTEM = "$SYS/"


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


_Route = tuple[list[_Target], list[SharedGroup]]


class _Retained:
    """A slot of the retained tree. *armed* tells that a deadline will look at it."""

    __slots__ = ("armed", "message")

    def __init__(self, message: Message) -> None:
        self.message = message
        self.armed = False

    @property
    def size(self) -> int:
        return self.message.size + len(self.message.topic)


class Router:
    """Subscriptions and retained messages.

    Attributes:
        limits: those of the core.
        counters: those of the core.
        retained_bytes: of the payloads and topics of the retained messages.
        subscription_count: over all sessions.
    """

    def __init__(self) -> None:
        self._subscriptions: SubscriptionTree[Subscription] = SubscriptionTree()
        self._shared: SubscriptionTree[SharedGroup] = SubscriptionTree()
        self._retained: RetainedTree[_Retained] = RetainedTree()
        self._routes: dict[str, _Route] = {}
        self._deadlines = Deadlines()
        self.limits = BrokerLimits()
        self.counters = Counters()
        self._journal: Journal | None = None
        self._full = False
        self.retained_bytes = 0
        self.subscription_count = 0

    @property
    def retained_count(self) -> int:
        return len(self._retained)

    def successor(self) -> Router:
        """A router for the next run of the broker: the same retained messages, no subscriptions."""
        router = Router()
        router._retained = self._retained
        router.retained_bytes = self.retained_bytes
        return router

    def bind(
        self, deadlines: Deadlines, limits: BrokerLimits, counters: Counters, journal: Journal | None = None
    ) -> None:
        """Use *deadlines* for the expiry of retained messages, those already here included, and the rest of a core."""
        self._deadlines = deadlines
        self.limits = limits
        self.counters = counters
        self._journal = journal
        for topic, slot in self._retained.items():
            slot.armed = False
            self._arm(topic, slot)

    def publish(self, message: Message, retain: int | bool, origin: Session | None) -> int:
        """Hand *message* to every session that subscribes to it, and retain it if asked to; how many sessions.

        Args:
            message: what is published.
            retain: whether it is to be retained.
            origin: the session it comes from; ``None``: the broker itself.

        Raises:
            PeerFault: the topic is not one that can be published to.
            Refusal: it is to be retained and there is no room, or it is below ``$SYS``; nobody has got it.
        """
        topic = message.topic
        now = message.received
        route = self._routes.get(topic)
        if route is None:
            route = self._find_route(topic, own=origin is None)
        if retain:
            self._retain(message)
        targets, groups = route
        counters = self.counters
        counters.published += 1
        reached = len(targets)
        for session, qos, retain_as_published, identifiers, no_local in targets:
            if no_local and session is origin:
                continue
            session.deliver(
                message,
                min(qos, message.qos),
                bool(retain and retain_as_published),
                identifiers,
                now,
            )
        if groups:
            for group in groups:
                group.deliver(message, bool(retain), now)
            reached += len(groups)
        counters.delivered += reached
        return reached

    def add(self, pattern: str, subscription: Subscription) -> bool:
        """Put a subscription in, or in the place of the one its session had under this pattern; whether it is new."""
        self._routes.clear()
        session = subscription.session
        new = pattern not in session.subscriptions
        session.subscriptions[pattern] = subscription
        if new:
            self.subscription_count += 1
        share = split_share(pattern) if pattern.startswith(PREFIX) else None
        if share is None:
            self._subscriptions.put(pattern, session, subscription)
        else:
            name, topic_filter = share
            group = self._shared.get(topic_filter, name)
            if group is None:
                group = SharedGroup(self._deadlines, self.limits.shared_stall_timeout, self.counters)
                self._shared.put(topic_filter, name, group)
            group.join(session, subscription)
        if session.journal is not None:
            session.journal.subscribed(session, pattern, subscription)
        return new

    def remove(self, pattern: str, session: Session) -> bool:
        """Take a subscription away; whether there was one."""
        if session.subscriptions.pop(pattern, None) is None:
            return False
        self._routes.clear()
        self.subscription_count -= 1
        share = split_share(pattern) if pattern.startswith(PREFIX) else None
        if share is None:
            self._subscriptions.remove(pattern, session)
        else:
            name, topic_filter = share
            group = self._shared.get(topic_filter, name)
            if group is not None:
                group.leave(session)
                if not group.members:
                    self._shared.remove(topic_filter, name)
        if session.journal is not None:
            session.journal.unsubscribed(session, pattern)
        return True

    def restore_retained(self, message: Message) -> None:
        """Put back what a journal has kept, past every bound."""
        self._keep(message)

    def replay(self, topic_filter: str, subscription: Subscription, now: float) -> None:
        """Hand the retained messages that the filter matches to the session (3.3.1.3)."""
        for slot in self._retained.match(topic_filter):
            message = slot.message
            if not message.expired(now):
                subscription.session.deliver(
                    message, min(subscription.qos, message.qos), True, subscription.identifiers, now, bounded=False
                )

    def _find_route(self, topic: str, *, own: bool) -> _Route:
        fault = name_fault(topic, self.limits.max_topic_levels)
        system = topic.startswith(_SYSTEM)
        if system and not own:
            self.counters.refused += 1
            raise Refusal(PubAckReasonCode.NOT_AUTHORIZED, "topics below $SYS are the broker's own")
        if fault is not None:
            raise PeerFault(DisconnectReasonCode.TOPIC_NAME_INVALID, fault)
        targets: dict[Session, _Target] = {}
        for each in self._subscriptions.match(topic):
            target = _Target(
                each.session,
                each.qos,
                each.retain_as_published,
                each.identifiers,
                each.no_local,
            )
            other = targets.get(each.session)
            targets[each.session] = target if other is None else other.and_also(target)
        route = list(targets.values()), self._shared.match(topic)
        if not system:
            if len(self._routes) >= _MAX_ROUTES:
                self._routes.clear()
            self._routes[topic] = route
        return route

    def _retain(self, message: Message) -> None:
        topic = message.topic
        if message.empty:
            self._discard(topic)
            return
        slot = self._retained.get(topic)
        held = 0 if slot is None else slot.size
        limits = self.limits
        if (slot is None and len(self._retained) >= limits.max_retained_messages) or (
            self.retained_bytes - held + message.size + len(topic) > limits.max_retained_bytes
        ):
            self.counters.refused += 1
            text = f"{len(self._retained)} messages ({self.retained_bytes} bytes) are retained already"
            if not self._full:
                self._full = True
                logger.warning("message on %r not retained: %s; further ones are only counted", topic, text)
            raise Refusal(PubAckReasonCode.QUOTA_EXCEEDED, text)
        kept = self._keep(message)
        if self._journal is not None:
            self._journal.retained(topic, kept)

    def _keep(self, message: Message) -> Message:
        topic = message.topic
        kept = message.fresh()
        slot = self._retained.get(topic)
        if slot is None:
            slot = _Retained(kept)
            self._retained.put(topic, slot)
        else:
            self.retained_bytes -= slot.size
            slot.message = kept
        self.retained_bytes += slot.size
        self._arm(topic, slot)
        return kept

    def _discard(self, topic: str) -> None:
        slot = self._retained.remove(topic)
        if slot is not None:
            self._full = False
            self.retained_bytes -= slot.size
            if self._journal is not None:
                self._journal.retained(topic, None)

    def _arm(self, topic: str, slot: _Retained) -> None:
        """See to it that a deadline looks at the slot. One is enough, however often the message is replaced."""
        at = slot.message.expires_at
        if at is None or slot.armed:
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
            self._discard(topic)
            return None

        self._deadlines.add(at, check)
