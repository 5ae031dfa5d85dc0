"""A journal is told of all that is to last and of nothing else; and what it has kept makes the same broker again."""

from __future__ import annotations

import mqtt5
import pytest
from mqtt5 import DisconnectPacket, PubAckPacket

from beskar_jobs.broker.core import BrokerCore
from beskar_jobs.broker.journal import Journal
from beskar_jobs.broker.messages import Message
from beskar_jobs.broker.sessions import BrokerLimits, Delivery, Session, Subscription
from tests.broker.core_bed import CoreBed


class Notes(Journal):
    """Keeps what it is told in dictionaries, the messages as bytes."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[bytes, float]] = {}
        self.sessions: dict[str, tuple[int, float | None]] = {}
        self.subscriptions: dict[tuple[str, str], Subscription] = {}
        self.deliveries: dict[tuple[str, int], tuple[bytes, float, int, bool, tuple[int, ...]]] = {}
        self._number = 0

    def retained(self, topic: str, message: Message | None) -> None:
        if message is None:
            del self.kept[topic]
        else:
            self.kept[topic] = message.stored(), message.received

    def session_changed(self, session: Session) -> None:
        self.sessions[session.client_id] = session.expiry_interval, session.expires_at

    def session_ended(self, client_id: str) -> None:
        del self.sessions[client_id]
        self.subscriptions = {key: value for key, value in self.subscriptions.items() if key[0] != client_id}
        self.deliveries = {key: value for key, value in self.deliveries.items() if key[0] != client_id}

    def subscribed(self, session: Session, topic_filter: str, subscription: Subscription) -> None:
        self.subscriptions[session.client_id, topic_filter] = subscription

    def unsubscribed(self, session: Session, topic_filter: str) -> None:
        del self.subscriptions[session.client_id, topic_filter]

    def owed(self, session: Session, delivery: Delivery) -> None:
        assert delivery.qos
        self._number += 1
        delivery.number = self._number
        message = delivery.message
        self.deliveries[session.client_id, delivery.number] = (
            message.stored(),
            message.received,
            delivery.qos,
            delivery.retain,
            delivery.subscription_ids,
        )

    def settled(self, session: Session, delivery: Delivery) -> None:
        del self.deliveries[session.client_id, delivery.number]


class JournalledBed(CoreBed):
    def __init__(self, limits: BrokerLimits | None = None) -> None:
        super().__init__(limits)
        self.notes = Notes()
        self.core = BrokerCore(limits or BrokerLimits(), lambda: "assigned", None, self.notes)

    def start_again(self) -> None:
        """Another core from the notes alone."""
        notes = self.notes
        core = BrokerCore(BrokerLimits(), lambda: "assigned", None, notes)
        for packet, received in notes.kept.values():
            core.restore_retained(Message.from_stored(packet, received))
        for client_id, (interval, expires_at) in list(notes.sessions.items()):
            session = core.restore_session(client_id, interval, expires_at or self.now + interval, self.now)
            for (owner, pattern), old in list(notes.subscriptions.items()):
                if owner == client_id:
                    core.restore_subscription(
                        pattern,
                        Subscription(
                            session,
                            old.qos,
                            no_local=old.no_local,
                            retain_as_published=old.retain_as_published,
                            identifier=old.identifier,
                        ),
                    )
            for (owner, number), (packet, received, qos, retain, identifiers) in list(notes.deliveries.items()):
                if owner == client_id:
                    delivery = Delivery(Message.from_stored(packet, received), qos, retain, identifiers)
                    delivery.number = number
                    session.restore_delivery(delivery)
        core.restored()
        self.core = core


@pytest.fixture
def bed() -> JournalledBed:
    return JournalledBed()


def test_what_ends_with_its_connection_is_not_told(bed: JournalledBed) -> None:
    client = bed.connect("c", "x")
    bed.connect("p").publish("x", qos=1)
    client.drop()
    notes = bed.notes
    assert (notes.sessions, notes.subscriptions, notes.deliveries, notes.kept) == ({}, {}, {}, {})


def test_everything_is_back_after_a_restart(bed: JournalledBed) -> None:
    client = bed.connect("c", session_expiry_interval=1000)
    client.subscribe("x/+", identifier=7)
    publisher = bed.connect("p")
    publisher.publish("kept/1", b"r", qos=1, retain=True, message_expiry_interval=100, user_properties=[("k", "v")])
    client.drop()
    for number in range(5):
        publisher.publish("x/1", b"%d" % number, qos=1, message_expiry_interval=100, correlation_data=b"c")
    publisher.publish("x/1", b"lost, as it may be", qos=0)
    bed.advance(10)
    bed.start_again()
    back = bed.connect("c", clean_start=False, session_expiry_interval=1000)
    assert back.connack.session_present
    assert [message.payload for message in back.early] == [b"%d" % number for number in range(5)]
    first = back.early[0]
    assert (first.subscription_ids, first.message_expiry_interval, first.correlation_data) == ([7], 90, b"c")
    (retained,) = bed.connect("late", "kept/#").replayed
    assert (retained.payload, retained.message_expiry_interval, retained.user_properties) == (b"r", 90, [("k", "v")])
    bed.connect("p").publish("x/2", b"live", qos=1)
    assert back.payloads() == [b"live"]


def test_what_is_in_flight_is_owed_until_it_is_acknowledged(bed: JournalledBed) -> None:
    client = bed.connect("c", "x", session_expiry_interval=1000)
    publisher = bed.connect("p")
    for number in range(3):
        publisher.publish("x", b"%d" % number, qos=1)
    messages = client.messages()
    client.send(PubAckPacket(messages[0].packet_id or 0))
    bed.start_again()
    back = bed.connect("c", clean_start=False, session_expiry_interval=1000)
    assert [message.payload for message in back.early] == [b"1", b"2"]
    for message in back.early:
        back.send(PubAckPacket(message.packet_id or 0))
    assert bed.notes.deliveries == {}


@pytest.mark.parametrize("end", ["clean start", "disconnect", "expiry", "lasting no more"])
def test_end_of_a_session_leaves_nothing_in_the_journal(bed: JournalledBed, end: str) -> None:
    client = bed.connect("c", "x", session_expiry_interval=10)
    bed.connect("p").publish("x", qos=1)
    if end == "disconnect":
        client.send(DisconnectPacket(session_expiry_interval=0))
    else:
        client.drop()
    if end == "clean start":
        bed.connect("c")
    elif end == "expiry":
        bed.advance(11)
    elif end == "lasting no more":
        bed.connect("c", clean_start=False)
    notes = bed.notes
    assert (notes.sessions, notes.subscriptions, notes.deliveries) == ({}, {}, {})


def test_session_keeps_its_deadline_over_a_restart(bed: JournalledBed) -> None:
    bed.connect("c", "x", session_expiry_interval=100).drop()
    bed.advance(60)
    bed.start_again()
    bed.advance(39)
    assert "c" in bed.core.sessions
    bed.advance(2)
    assert "c" not in bed.core.sessions
    assert bed.notes.sessions == {}


def test_dropped_expired_and_handed_on_messages_are_settled() -> None:
    bed = JournalledBed(BrokerLimits(max_queued_messages=3))
    first = bed.connect("a", "$share/g/x", session_expiry_interval=100)
    publisher = bed.connect("p")
    publisher.publish("x", b"1", qos=1)
    second = bed.connect("b", "$share/g/x", session_expiry_interval=100)
    first.drop()
    assert [owner for owner, _ in bed.notes.deliveries] == ["b"]
    (message,) = second.messages()
    second.send(PubAckPacket(message.packet_id or 0))
    second.send(DisconnectPacket())
    for _ in range(9):
        publisher.publish("x", qos=1, message_expiry_interval=5)
    assert len(bed.notes.deliveries) <= 6
    bed.advance(6)
    for name in ("a", "b"):
        assert bed.connect(name, clean_start=False, session_expiry_interval=100).early == []
    assert bed.notes.deliveries == {}


def test_retained_message_that_is_cleared_or_expires_is_forgotten(bed: JournalledBed) -> None:
    client = bed.connect("c")
    client.publish("a", retain=True)
    client.publish("b", retain=True, message_expiry_interval=5)
    client.publish("c", retain=True)
    client.publish("a", b"", retain=True)
    bed.advance(6)
    assert list(bed.notes.kept) == ["c"]
    bed.start_again()
    assert [message.topic for message in bed.connect("late", "#").replayed] == ["c"]


def test_unsubscribed_filter_is_gone_after_a_restart(bed: JournalledBed) -> None:
    client = bed.connect("c", "x", "$share/g/y", session_expiry_interval=100)
    client.send(mqtt5.UnsubscribePacket(1, ["x"]))
    bed.start_again()
    publisher = bed.connect("p")
    publisher.publish("x", b"no", qos=1)
    publisher.publish("y", b"yes", qos=1)
    assert [message.payload for message in bed.connect("c", clean_start=False).early] == [b"yes"]
