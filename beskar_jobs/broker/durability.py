"""Between the core and the file of a durable broker: what the core tells becomes rows, and rows become a core again.

What is kept: retained messages (MQTT 5.0, 3.3.1.3) but those of ``$SYS``, and of the sessions that outlive their
connection (4.1) the subscriptions, the messages of QoS 1 and 2 that are owed, and whose they are. A message that is
owed to many sessions is stored once. Wills are not kept: one that waits for its delay when the broker stops is not
published; neither are the handshakes of QoS 2 (see :mod:`~beskar_jobs.broker.journal`).

The file holds the time of day, the core monotonic seconds. A clock that was set back while the broker was away lets
nothing come from the future: what was received later than now was received now. The time of a session that was
connected when the broker stopped counts from the restart, as nobody could have come back before.

Encoding a message is left to the writing thread; what goes on in the core's turn is a few look-ups.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import attrs

from beskar_jobs.broker.core import BrokerCore
from beskar_jobs.broker.database import BrokerDatabase, DatabaseFault, Row
from beskar_jobs.broker.journal import Journal
from beskar_jobs.broker.messages import Message
from beskar_jobs.broker.sessions import NEVER, Delivery, Session, Subscription
from beskar_jobs.broker.shared import PREFIX

_SYSTEM = "$SYS/"


class _Kept:
    """A message that is owed: its number in the file, and to how many sessions."""

    __slots__ = ("number", "owed")

    def __init__(self, number: int) -> None:
        self.number = number
        self.owed = 0


@attrs.define
class _Account:
    """What the file holds of one session."""

    filters: set[str] = attrs.field(factory=set)
    deliveries: dict[int, Message] = attrs.field(factory=dict)


@attrs.frozen
class Contents:
    """All that a file holds, row by row."""

    retained: list[Row]
    sessions: list[Row]
    subscriptions: list[Row]
    messages: list[Row]
    deliveries: list[Row]


class DurableJournal(Journal):
    """See the module. :func:`open_journal` opens the file, :meth:`restore` fills a new core; then the core may tell.

    Args:
        database: the file, open.
        contents: what it held when it was opened.
    """

    def __init__(self, database: BrokerDatabase, contents: Contents, path: Path) -> None:
        self._database = database
        self._contents: Contents | None = contents
        self._path = path
        self._accounts: dict[str, _Account] = {}
        self._messages: dict[Message, _Kept] = {}
        self._last_message = _highest(contents.messages)
        self._last_delivery = _highest(contents.deliveries)
        self.owner_of: Callable[[str], str | None] = _nobody

    @classmethod
    def open(cls, path: Path) -> DurableJournal:
        """Blocks while the file is read.

        Raises:
            DatabaseFault: it cannot be used.
        """
        database = BrokerDatabase(path)
        try:
            tables = ("retained", "session", "subscription", "message", "delivery")
            contents = Contents(*(database.rows(table) for table in tables))
        except BaseException:
            database.abandon()
            raise
        return cls(database, contents, path)

    async def close(self) -> None:
        """Write what is left, and close the file.

        Raises:
            DatabaseFault: it could not be written.
        """
        await self._database.close()

    def abandon(self) -> None:
        """Close the file as it is."""
        self._database.abandon()

    def restore(self, core: BrokerCore, now: float) -> dict[str, str]:
        """Put everything back into *core*; whose the sessions are, by client identifier.

        Args:
            core: new, with this journal, and without connections.
            now: monotonic seconds.

        Raises:
            DatabaseFault: a row is not what this broker writes.
        """
        contents, self._contents = self._contents, None
        assert contents is not None  # once
        try:
            return self._restore(core, contents, _Clock(now))
        except Exception as error:
            raise DatabaseFault(
                f"{self._path} holds a row that cannot be read ({type(error).__name__}: {error}); "
                "put it aside to start empty, or name another file"
            ) from error

    # What the core tells

    def retained(self, topic: str, message: Message | None) -> None:
        if topic.startswith(_SYSTEM):
            return
        if message is None:
            self._database.remove("retained", (topic,))
        else:
            received = _time_of_day(message.received)
            self._database.put("retained", (topic,), lambda: (topic, message.stored(), received))

    def session_changed(self, session: Session) -> None:
        client_id = session.client_id
        self._accounts.setdefault(client_id, _Account())
        expires_at = None if session.expires_at is None else _time_of_day(session.expires_at)
        row = (client_id, self.owner_of(client_id), session.expiry_interval, expires_at)
        self._database.put("session", (client_id,), row)

    def session_ended(self, client_id: str) -> None:
        account = self._accounts.pop(client_id, None)
        if account is None:
            return
        self._database.remove("session", (client_id,))
        for topic_filter in account.filters:
            self._database.remove("subscription", (client_id, topic_filter))
        for number, message in account.deliveries.items():
            self._database.remove("delivery", (number,))
            self._release(message)

    def subscribed(self, session: Session, topic_filter: str, subscription: Subscription) -> None:
        client_id = session.client_id
        self._accounts[client_id].filters.add(topic_filter)
        row = (
            client_id,
            topic_filter,
            subscription.qos,
            subscription.no_local,
            subscription.retain_as_published,
            subscription.identifier,
        )
        self._database.put("subscription", (client_id, topic_filter), row)

    def unsubscribed(self, session: Session, topic_filter: str) -> None:
        self._accounts[session.client_id].filters.discard(topic_filter)
        self._database.remove("subscription", (session.client_id, topic_filter))

    def owed(self, session: Session, delivery: Delivery) -> None:
        message = delivery.message
        kept = self._messages.get(message)
        if kept is None:
            self._last_message += 1
            kept = self._messages[message] = _Kept(self._last_message)
            number, received = kept.number, _time_of_day(message.received)
            self._database.put("message", (number,), lambda: (number, message.stored(), received))
        kept.owed += 1
        self._last_delivery += 1
        delivery.number = self._last_delivery
        self._accounts[session.client_id].deliveries[delivery.number] = message
        row = (
            delivery.number,
            session.client_id,
            kept.number,
            delivery.qos,
            delivery.retain,
            ",".join(map(str, delivery.subscription_ids)),
            _share_of(session, delivery),
        )
        self._database.put("delivery", (delivery.number,), row)

    def settled(self, session: Session, delivery: Delivery) -> None:
        message = self._accounts[session.client_id].deliveries.pop(delivery.number, None)
        if message is not None:
            self._database.remove("delivery", (delivery.number,))
            self._release(message)

    def _release(self, message: Message) -> None:
        kept = self._messages[message]
        kept.owed -= 1
        if not kept.owed:
            del self._messages[message]
            self._database.remove("message", (kept.number,))

    # What the file tells

    def _restore(self, core: BrokerCore, contents: Contents, clock: _Clock) -> dict[str, str]:
        for _, packet, received in contents.retained:
            core.restore_retained(Message.from_stored(packet, clock.past(received)))
        owners: dict[str, str] = {}
        for client_id, owner, interval, expires_at in contents.sessions:
            self._accounts[client_id] = _Account()
            core.restore_session(client_id, interval, clock.expiry(interval, expires_at), clock.now)
            if owner is not None:
                owners[client_id] = owner
        for client_id, topic_filter, qos, no_local, retain_as_published, identifier in contents.subscriptions:
            subscription = Subscription(
                core.sessions[client_id],
                qos,
                no_local=bool(no_local),
                retain_as_published=bool(retain_as_published),
                identifier=identifier,
            )
            self._accounts[client_id].filters.add(topic_filter)
            core.restore_subscription(topic_filter, subscription)
        self._restore_deliveries(core, contents, clock)
        core.restored()
        return owners

    def _restore_deliveries(self, core: BrokerCore, contents: Contents, clock: _Clock) -> None:
        messages: dict[int, Message] = {}
        for number, packet, received in contents.messages:
            message = messages[number] = Message.from_stored(packet, clock.past(received))
            self._messages[message] = _Kept(number)
        for number, client_id, message_number, qos, retain, identifiers, share in contents.deliveries:
            session, message = core.sessions[client_id], messages[message_number]
            ids = tuple(map(int, identifiers.split(","))) if identifiers else ()
            delivery = Delivery(message, qos, bool(retain), ids)
            delivery.number = number
            if share in session.subscriptions:
                mine = session.subscriptions[share]
                delivery.group = next(group for group in session.groups if group.members[session] is mine)
            self._messages[message].owed += 1
            self._accounts[client_id].deliveries[number] = message
            session.restore_delivery(delivery)


async def open_journal(path: Path) -> DurableJournal:
    """As :meth:`DurableJournal.open`, beside the event loop."""
    opening = asyncio.get_running_loop().run_in_executor(None, DurableJournal.open, path)
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_abandon)
        raise


def _abandon(opening: asyncio.Future[DurableJournal]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().abandon()


class _Clock:
    """From times of day in the file to the core's monotonic seconds."""

    def __init__(self, now: float) -> None:
        self.now = now
        self._time_of_day = time.time()

    def past(self, time_of_day: float) -> float:
        return self.now - max(0.0, self._time_of_day - time_of_day)

    def expiry(self, interval: int, expires_at: float | None) -> float | None:
        """When a session expires that has *interval*; it never lasts longer than that from now."""
        if interval == NEVER:
            return None
        if expires_at is None:
            return self.now + interval
        return self.now + min(float(interval), expires_at - self._time_of_day)


def _time_of_day(monotonic: float) -> float:
    return time.time() + (monotonic - time.monotonic())


def _share_of(session: Session, delivery: Delivery) -> str | None:
    """The pattern of the shared subscription that the delivery came by."""
    group = delivery.group
    if group is None:
        return None
    mine = group.members.get(session)
    return next(
        (name for name, each in session.subscriptions.items() if each is mine and name.startswith(PREFIX)), None
    )


def _highest(rows: list[Row]) -> int:
    """The highest number in rows that are in order of it."""
    return int(rows[-1][0]) if rows else 0


def _nobody(client_id: str) -> str | None:
    return None
