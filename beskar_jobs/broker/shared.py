"""Shared subscriptions (MQTT 5.0, 4.8.2): each message goes to one member of the group.

The members take turns; one that cannot take a message at once (its connection is congested, its Receive Maximum is in
flight) is passed over while another can. Nothing stays with a member that fails the group:

* *dead*: its connection ends, in whatever way. What it has not acknowledged at QoS 1, and what still waited for it,
  goes to the others at once.
* *stuck*: it is connected, but for ``shared_stall_timeout`` seconds nothing was acknowledged or taken. Its messages go
  to the others, and it gets new ones only if nobody else can. Should it wake up it may handle a message twice, as QoS 1
  always allows; its window stays as full as it has left it, so Receive Maximum holds.

A QoS 2 message that was sent stays with its member until the session ends, and ends with it: the standard forbids to
hand it on. If no other member is there, the messages wait for the session's client, or for the next to join.
"""

from __future__ import annotations

from beskar_jobs.broker.deadlines import Deadlines
from beskar_jobs.broker.limits import Counters
from beskar_jobs.broker.messages import Message
from beskar_jobs.broker.sessions import Delivery, Session, Subscription

PREFIX = "$share/"


def split_share(pattern: str) -> tuple[str, str] | None:
    """Share name and filter of a shared subscription's pattern; ``None`` if it is malformed (4.8.2)."""
    name, slash, topic_filter = pattern.removeprefix(PREFIX).partition("/")
    if not name or not slash or not topic_filter or "+" in name or "#" in name:
        return None
    return name, topic_filter


class SharedGroup:
    """The members of one shared subscription.

    Attributes:
        members: their subscriptions.
    """

    __slots__ = ("_counters", "_deadlines", "_order", "_stall_timeout", "_turn", "members")

    def __init__(self, deadlines: Deadlines, stall_timeout: float, counters: Counters) -> None:
        self.members: dict[Session, Subscription] = {}
        self._order: list[Session] = []
        self._turn = 0
        self._deadlines = deadlines
        self._stall_timeout = stall_timeout
        self._counters = counters

    def join(self, session: Session, subscription: Subscription) -> None:
        if session not in self.members:
            self._order.append(session)
        self.members[session] = subscription
        session.groups.add(self)

    def leave(self, session: Session) -> None:
        if self.members.pop(session, None) is not None:
            self._order.remove(session)
            session.groups.discard(self)

    def deliver(
        self, message: Message, retain: bool, now: float, *, bounded: bool = True, besides: Session | None = None
    ) -> None:
        """Give *message* to the member whose turn it is, *besides* excepted."""
        member = self._choose(besides)
        subscription = self.members[member]
        if not member.watched and member.peer is not None:
            member.watched = True
            member.progress_at = now
            self._deadlines.add(now + self._stall_timeout, lambda at: self._check(member, at))
        member.deliver(
            message,
            min(subscription.qos, message.qos),
            retain and subscription.retain_as_published,
            subscription.identifiers,
            now,
            bounded=bounded,
            group=self,
        )

    def has_active(self, besides: Session) -> bool:
        """Whether a member other than *besides* is connected and not stuck."""
        return any(each.peer is not None and not each.stuck for each in self._order if each is not besides)

    def rescue(self, now: float) -> None:
        """A member has come: it gets what those that are away, or stuck, have not done."""
        for member in list(self._order):
            if member.peer is None or member.stuck:
                hand_on(member, now)

    def count_handed_on(self) -> None:
        self._counters.handed_on += 1

    def _choose(self, besides: Session | None) -> Session:
        order = self._order
        count = len(order)
        turn = self._turn
        best: int | None = None
        best_rank = (9, 0)
        for step in range(count):
            at = (turn + step) % count
            member = order[at]
            if member is besides:
                continue
            if member.takes_more and not member.stuck:
                self._turn = at + 1
                return member
            rank = (3 if member.peer is None else 2 if member.stuck else 1, len(member.queue))
            if rank < best_rank:
                best, best_rank = at, rank
        assert best is not None  # a group without members is no group any more
        self._turn = best + 1
        return order[best]

    def _check(self, session: Session, now: float) -> float | None:
        if session.peer is None or not session.owes_shared():
            session.watched = False
            return None
        lapses = session.progress_at + self._stall_timeout
        if now < lapses:
            return lapses
        session.stuck = True
        hand_on(session, now)
        return now + self._stall_timeout


def hand_on(session: Session, now: float, *, ended: bool = False) -> None:
    """Give what *session* has not done for its groups to other members, where there are any that are active.

    Args:
        ended: the session is gone for good; a member that is away will do, then.
    """

    verdicts: dict[SharedGroup, bool] = {}

    def goes(delivery: Delivery) -> bool:
        group = delivery.group
        if group is None or (delivery.packet_id and delivery.qos == 2):
            return False
        verdict = verdicts.get(group)
        if verdict is None:
            verdict = verdicts[group] = len(group.members) > 1 if ended else group.has_active(session)
        return verdict

    for delivery in session.take_out(goes):
        group = delivery.group
        assert group is not None  # goes() has seen to it
        delivery.group = None
        if not delivery.message.expired(now):
            group.deliver(delivery.message, delivery.retain, now, bounded=False, besides=session)
            group.count_handed_on()
