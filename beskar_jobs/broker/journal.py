"""What a durable broker is told of: the changes of the state that outlives a connection (MQTT 5.0, 4.1 and 3.3.1.3).

A journal is called within the core, so it must be quick and must not raise; it takes note and writes later. Sessions
that end with their connection are not told of, nor is QoS 0, which nobody is owed.

To start from what was kept, before the first connection: :meth:`~beskar_jobs.broker.core.BrokerCore.restore_retained`,
:meth:`~beskar_jobs.broker.core.BrokerCore.restore_session`, then ``restore_subscription`` and ``restore_delivery`` for
each session. What was in flight is owed again, as a new delivery without DUP, and the handshakes of QoS 2 that were
under way are forgotten: a message of QoS 2 may come twice if the broker stops in the middle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from beskar_jobs.broker.messages import Message
    from beskar_jobs.broker.sessions import Delivery, Session, Subscription


class Journal(Protocol):
    """See the module. Times are the core's, in monotonic seconds."""

    def retained(self, topic: str, message: Message | None) -> None:
        """The topic has this retained message now; ``None``: none any more."""
        ...

    def session_changed(self, session: Session) -> None:
        """A lasting session has come, its client is connected again, or has left (``expires_at`` tells until when)."""
        ...

    def session_ended(self, client_id: str) -> None:
        """The session is gone, with its subscriptions and all that was owed to it."""
        ...

    def subscribed(self, session: Session, topic_filter: str, subscription: Subscription) -> None:
        """The session has this subscription now, in place of an earlier one under the same filter."""
        ...

    def unsubscribed(self, session: Session, topic_filter: str) -> None: ...

    def owed(self, session: Session, delivery: Delivery) -> None:
        """The session is to get this message. The journal may keep a number of its own in ``delivery.number``."""
        ...

    def settled(self, session: Session, delivery: Delivery) -> None:
        """It is not owed any more: acknowledged, expired, dropped, or handed to another session."""
        ...
