"""Routing, retained messages, expiry, windows and queues, by the core alone and in given time."""

from __future__ import annotations

import logging

import mqtt5
import pytest
from mqtt5 import DisconnectReasonCode, PubAckPacket, PublishPacket, RetainHandling

from beskar_jobs.broker.sessions import BrokerLimits
from tests.broker.core_bed import QOS, CoreBed


@pytest.fixture
def bed() -> CoreBed:
    return CoreBed()


def test_properties_come_through_untouched(bed: CoreBed) -> None:
    properties = {
        "payload_format_indicator": 1,
        "content_type": "application/json",
        "response_topic": "clients/ä/replies",
        "correlation_data": bytes(range(256)),
        "user_properties": [("traceparent", "00-1-2-01"), ("k", "1"), ("k", "2")],
        "message_expiry_interval": 30,
    }
    for qos in (0, 1):
        plain = bed.connect("plain", "x", qos=qos)
        identified = bed.connect("identified")
        identified.subscribe("x", qos=1 - qos, identifier=5)
        bed.connect("p").publish("x", b"\x00\xffpayload", qos=qos, **properties)
        for client in (plain, identified):
            (message,) = client.messages()
            assert {name: getattr(message, name) for name in properties} == properties
            assert message.payload == b"\x00\xffpayload"


@pytest.mark.parametrize("sent", [0, 1, 2])
@pytest.mark.parametrize("granted", [0, 1, 2])
def test_qos_is_the_lower_of_publisher_and_subscription(bed: CoreBed, sent: int, granted: int) -> None:
    client = bed.connect("c", "x", qos=granted)
    bed.connect("p").publish("x", qos=sent)
    (message,) = client.messages()
    assert message.qos == QOS[min(sent, granted)]
    assert (message.packet_id is None) == (message.qos == QOS[0])


def test_subscribers_of_one_message_each_have_their_own_packet_identifier(bed: CoreBed) -> None:
    clients = [bed.connect(f"c{number}", "x") for number in range(3)]
    publisher = bed.connect("p")
    publisher.publish("only/for/0", qos=1)
    bed.connect("c0", "x")
    for payload in (b"1", b"2"):
        publisher.publish("x", payload, qos=1)
    assert [[m.packet_id for m in client.messages()] for client in clients[1:]] == [[1, 2], [1, 2]]


def test_puback_tells_when_nobody_listens(bed: CoreBed) -> None:
    publisher = bed.connect("p")
    publisher.publish("x", qos=1)
    assert publisher.only(PubAckPacket).reason_code == mqtt5.PubAckReasonCode.NO_MATCHING_SUBSCRIBERS
    bed.connect("c", "x")
    publisher.publish("x", qos=1)
    assert publisher.only(PubAckPacket).reason_code == mqtt5.PubAckReasonCode.SUCCESS


def test_qos_2_is_delivered_once_however_often_it_is_sent(bed: CoreBed) -> None:
    client = bed.connect("c", "x", qos=2)
    publisher = bed.connect("p")
    publisher.publish("x", qos=2)
    publisher.publish("x", qos=2, duplicate=True)
    assert [type(packet) for packet in publisher.received()] == [mqtt5.PubRecPacket] * 2
    publisher.send(mqtt5.PubRelPacket(7))
    publisher.only(mqtt5.PubCompPacket)
    (message,) = client.messages()
    client.send(mqtt5.PubRecPacket(message.packet_id or 0))
    assert client.only(mqtt5.PubRelPacket).packet_id == message.packet_id
    client.send(mqtt5.PubCompPacket(message.packet_id or 0))
    session = bed.core.sessions["c"]
    assert not session.in_flight


def test_qos_2_released_before_the_break_is_released_again_after_it(bed: CoreBed) -> None:
    client = bed.connect("c", "x", qos=2, session_expiry_interval=60)
    bed.connect("p").publish("x", qos=2)
    (message,) = client.messages()
    client.send(mqtt5.PubRecPacket(message.packet_id or 0))
    client.drop()
    back = bed.dial()
    back.send(mqtt5.ConnectPacket("c", session_expiry_interval=60))
    connack, release = back.received()
    assert isinstance(connack, mqtt5.ConnAckPacket)
    assert isinstance(release, mqtt5.PubRelPacket)
    assert release.packet_id == message.packet_id


# Retained messages


def test_retained_message_waits_for_a_late_subscriber(bed: CoreBed) -> None:
    bed.connect("p").publish("status/1", b"running", retain=True, qos=1, user_properties=[("a", "b")])
    late = bed.connect("late", "status/+")
    (message,) = late.replayed
    assert (message.payload, message.retain, message.user_properties) == (b"running", True, [("a", "b")])


def test_live_message_has_the_retain_flag_only_if_asked_for_as_published(bed: CoreBed) -> None:
    plain = bed.connect("plain", "x")
    as_published = bed.connect("as published")
    as_published.subscribe("x", retain_as_published=True)
    publisher = bed.connect("p")
    publisher.publish("x", b"1", retain=True)
    publisher.publish("x", b"2")
    assert [m.retain for m in plain.messages()] == [False, False]
    assert [m.retain for m in as_published.messages()] == [True, False]


def test_empty_retained_message_clears_the_topic(bed: CoreBed) -> None:
    publisher = bed.connect("p")
    publisher.publish("x", b"1", retain=True)
    publisher.publish("x", b"", retain=True)
    assert bed.connect("late", "#").replayed == []
    assert bed.core.router.retained_count == 0


def test_retain_handling_decides_what_is_sent_at_subscribing(bed: CoreBed) -> None:
    bed.connect("p").publish("x", b"1", retain=True)
    client = bed.connect("c")
    client.subscribe("x", retain_handling=RetainHandling.SEND_NEVER)
    assert client.replayed == []
    client.subscribe("x", retain_handling=RetainHandling.SEND_IF_SUBSCRIPTION_NOT_EXISTS)
    assert client.replayed == []
    client.subscribe("x", retain_handling=RetainHandling.SEND_ALWAYS)
    assert len(client.replayed) == 1
    client.subscribe("+", retain_handling=RetainHandling.SEND_IF_SUBSCRIPTION_NOT_EXISTS)
    assert len(client.replayed) == 1


def test_ten_thousand_retained_topics_reach_one_subscriber_past_every_bound() -> None:
    bed = CoreBed(BrokerLimits(max_queued_messages=10, max_queued_bytes=10, high_water=1000))
    publisher = bed.connect("p")
    for number in range(10_000):
        publisher.publish(f"status/{number}", str(number).encode(), retain=True)
    late = bed.connect("late", receive_max=20)
    late.subscribe("status/+", qos=0)
    assert [m.payload for m in late.replayed] == [str(number).encode() for number in range(10_000)]
    assert bed.core.sessions["late"].dropped == 0


# Expiry


def test_remaining_expiry_goes_out_and_an_expired_message_does_not(bed: CoreBed) -> None:
    bed.connect("p").publish("x", b"1", retain=True, message_expiry_interval=10)
    bed.advance(4.5)
    assert [m.message_expiry_interval for m in bed.connect("a", "x").replayed] == [6]
    assert [m.message_expiry_interval for m in bed.connect("b", "x").replayed] == [6]
    bed.advance(5.4)
    assert [m.message_expiry_interval for m in bed.connect("a", "x").replayed] == [1]
    bed.advance(0.2)
    assert bed.connect("a", "x").replayed == []
    assert bed.core.router.retained_count == 0


def test_replaced_retained_message_has_its_own_expiry(bed: CoreBed) -> None:
    publisher = bed.connect("p")
    publisher.publish("x", b"1", retain=True, message_expiry_interval=10)
    bed.advance(9)
    publisher.publish("x", b"2", retain=True, message_expiry_interval=10)
    bed.advance(9)
    assert [m.payload for m in bed.connect("a", "x").replayed] == [b"2"]
    publisher.publish("x", b"3", retain=True)
    bed.advance(1000)
    assert [m.payload for m in bed.connect("a", "x").replayed] == [b"3"]


def test_message_expires_in_the_queue_of_a_client_that_is_away(bed: CoreBed) -> None:
    bed.connect("c", "x", session_expiry_interval=100).drop()
    publisher = bed.connect("p")
    publisher.publish("x", b"short", qos=1, message_expiry_interval=5)
    publisher.publish("x", b"long", qos=1, message_expiry_interval=50)
    bed.advance(6)
    back = bed.connect("c", clean_start=False)
    assert [(m.payload, m.message_expiry_interval) for m in back.early] == [(b"long", 44)]


def test_retained_messages_with_expiry_survive_into_the_next_run(bed: CoreBed) -> None:
    bed.connect("p").publish("x", b"1", retain=True, message_expiry_interval=10)
    later = CoreBed(router=bed.core.router.successor())
    later.advance(9)
    assert len(later.connect("a", "x").replayed) == 1
    later.advance(2)
    assert later.core.router.retained_count == 0


# Subscriptions


def test_no_local_keeps_a_clients_own_messages_from_it(bed: CoreBed) -> None:
    client = bed.connect("c")
    client.subscribe("x", no_local=True)
    client.publish("x", b"own")
    bed.connect("p").publish("x", b"other")
    assert client.payloads() == [b"other"]


def test_overlapping_filters_deliver_once_with_every_identifier(bed: CoreBed) -> None:
    client = bed.connect("c")
    client.subscribe("a/+", qos=0, identifier=1)
    client.subscribe("a/#", qos=1, identifier=2)
    bed.connect("p").publish("a/b", qos=1)
    (message,) = client.messages()
    assert sorted(message.subscription_ids) == [1, 2]
    assert message.qos == QOS[1]


def test_subscribing_again_replaces(bed: CoreBed) -> None:
    client = bed.connect("c", "x", qos=1)
    client.subscribe("x", qos=0)
    bed.connect("p").publish("x", qos=1)
    assert [m.qos for m in client.messages()] == [QOS[0]]


def test_unsubscribe_ends_delivery_and_tells_what_was_not_subscribed(bed: CoreBed) -> None:
    client = bed.connect("c", "x", "y")
    client.send(mqtt5.UnsubscribePacket(3, ["x", "never"]))
    assert client.only(mqtt5.UnsubAckPacket).reason_codes == [
        mqtt5.UnsubAckReasonCode.SUCCESS,
        mqtt5.UnsubAckReasonCode.NO_SUBSCRIPTION_EXISTED,
    ]
    publisher = bed.connect("p")
    publisher.publish("x", b"x")
    publisher.publish("y", b"y")
    assert client.payloads() == [b"y"]


def test_dollar_topics_are_hidden_from_leading_wildcards(bed: CoreBed) -> None:
    client = bed.connect("c", "#", "+/x")
    named = bed.connect("named", "$own/#")
    publisher = bed.connect("p")
    publisher.publish("$own/x", b"hidden", retain=True)
    publisher.publish("a/x", b"seen")
    assert client.payloads() == [b"seen"]
    assert named.payloads() == [b"hidden"]
    assert bed.connect("late", "#", "+/x").replayed == []
    assert len(bed.connect("late", "$own/+").replayed) == 1


def test_topic_alias_of_a_client_stands_for_the_topic(bed: CoreBed) -> None:
    client = bed.connect("c", "#")
    publisher = bed.connect("p")
    publisher.publish("long/topic", b"1", topic_alias=3)
    publisher.publish("", b"2", topic_alias=3)
    received = client.messages()
    assert [(m.topic, m.payload, m.topic_alias) for m in received] == [
        ("long/topic", b"1", None),
        ("long/topic", b"2", None),
    ]


def test_unknown_or_excessive_topic_alias_ends_the_connection(bed: CoreBed) -> None:
    unknown = bed.connect("a")
    unknown.publish("", topic_alias=1)
    assert unknown.disconnected() == DisconnectReasonCode.PROTOCOL_ERROR
    excessive = bed.connect("b")
    excessive.publish("x", topic_alias=65)
    assert excessive.disconnected() == DisconnectReasonCode.TOPIC_ALIAS_INVALID


# Windows and queues


def test_receive_maximum_is_never_passed_and_the_order_is_kept(bed: CoreBed) -> None:
    client = bed.connect("c", "x", receive_max=3)
    publisher = bed.connect("p")
    for number in range(10):
        publisher.publish("x", str(number).encode(), qos=number % 4 and 1)
    heard: list[bytes] = []
    while batch := client.messages():
        in_flight = [m for m in batch if m.packet_id]
        assert len(in_flight) <= 3
        heard += [m.payload for m in batch]
        client.send(*(PubAckPacket(m.packet_id or 0) for m in in_flight))
    assert heard == [str(number).encode() for number in range(10)]


def test_packet_larger_than_the_client_takes_is_not_sent_to_it_but_counted(
    bed: CoreBed, caplog: pytest.LogCaptureFixture
) -> None:
    small = bed.connect("small", "x", max_packet_size=100)
    other = bed.connect("other", "x")
    publisher = bed.connect("p")
    for qos in (0, 1):
        publisher.publish("x", bytes(200), qos=qos)
    publisher.publish("x", b"fits")
    assert small.payloads() == [b"fits"]
    assert len(other.payloads()) == 3
    assert bed.core.sessions["small"].dropped == 2
    assert len(caplog.records) == 1


@pytest.mark.parametrize("limits", [BrokerLimits(max_queued_messages=5), BrokerLimits(max_queued_bytes=5)])
def test_full_queue_drops_the_newest_counts_them_and_logs_once(
    limits: BrokerLimits, caplog: pytest.LogCaptureFixture
) -> None:
    bed = CoreBed(limits)
    caplog.set_level(logging.WARNING)
    slow = bed.connect("slow", "x")
    quick = bed.connect("quick", "x")
    slow.peer.paused = True
    publisher = bed.connect("p")
    for number in range(9):
        publisher.publish("x", str(number).encode())
    assert slow.payloads() == []
    assert len(quick.payloads()) == 9
    bed.core.drained(slow.peer, bed.now)
    assert slow.payloads() == [b"0", b"1", b"2", b"3", b"4"]
    assert bed.core.sessions["slow"].dropped == bed.core.counters.dropped == 4
    assert [record.args[1] for record in caplog.records if isinstance(record.args, tuple)] == ["slow"]


def test_output_of_a_congested_peer_stays_in_the_queue_and_comes_in_order_later() -> None:
    bed = CoreBed(BrokerLimits(high_water=1000))
    client = bed.connect("c", "x")
    publisher = bed.connect("p")
    for number in range(100):
        publisher.publish("x", number.to_bytes(1) * 100)
    assert client.peer.outbox_size < 1200
    assert [payload[0] for payload in client.payloads()] == list(range(100))


def test_packet_identifiers_wrap_without_meeting_one_in_flight(bed: CoreBed) -> None:
    client = bed.connect("c", "x")
    publisher = bed.connect("p")
    publisher.publish("x", b"unanswered", qos=1)
    (stuck,) = client.messages()
    for _ in range(65_540):
        publisher.publish("x", qos=1)
        (message,) = client.messages()
        assert message.packet_id not in {0, None, stuck.packet_id}
        client.send(PubAckPacket(message.packet_id or 0))


def test_message_is_encoded_once_for_all_subscribers_of_a_qos(bed: CoreBed, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = 0

    class Counting:
        def __init__(self, *args: object, **options: object) -> None:
            self._packet = PublishPacket(*args, **options)  # type: ignore[arg-type]  # passed through

        def write(self) -> bytes:
            nonlocal encoded
            encoded += 1
            return self._packet.write()

    monkeypatch.setattr("beskar_jobs.broker.messages.PublishPacket", Counting)
    clients = [bed.connect(f"c{number}", "x", qos=number % 2) for number in range(20)]
    bed.connect("p").publish("x", b"payload", qos=1)
    assert all(client.payloads() == [b"payload"] for client in clients)
    assert encoded == 1  # at QoS 1 it goes out as it came in
