"""Bounds are told to whoever meets them, counted, and never silent; and the properties of CONNECT that set bounds."""

from __future__ import annotations

import logging

import mqtt5
import pytest
from mqtt5 import (
    ConnAckReasonCode,
    ConnectPacket,
    DisconnectReasonCode,
    PubAckPacket,
    PubAckReasonCode,
    PublishPacket,
    PubRecPacket,
    PubRecReasonCode,
    QoS,
    SubAckReasonCode,
)

from beskar_jobs.broker.messages import Message
from beskar_jobs.broker.sessions import BrokerLimits
from tests.broker.core_bed import CoreBed


def test_retained_message_over_the_count_is_refused_and_reaches_nobody(caplog: pytest.LogCaptureFixture) -> None:
    bed = CoreBed(BrokerLimits(max_retained_messages=2))
    watcher = bed.connect("watcher", "#")
    client = bed.connect("c")
    for number in range(2):
        client.publish(f"r/{number}", qos=1, retain=True)
        assert client.only(PubAckPacket).reason_code == PubAckReasonCode.SUCCESS
    watcher.received()
    for _ in range(3):
        client.publish("r/more", qos=1, retain=True)
        answer = client.only(PubAckPacket)
        assert answer.reason_code == PubAckReasonCode.QUOTA_EXCEEDED
        assert answer.reason_str == "2 messages (8 bytes) are retained already"
    assert watcher.messages() == []
    assert bed.core.statistics().refused == 3
    assert len([record for record in caplog.records if "not retained" in record.message]) == 1
    client.publish("r/0", b"replaced", qos=1, retain=True)
    assert client.only(PubAckPacket).reason_code == PubAckReasonCode.SUCCESS
    client.publish("r/1", b"", retain=True)
    client.publish("r/more", qos=2, retain=True)
    assert client.only(PubRecPacket).reason_code == PubRecReasonCode.SUCCESS


def test_retained_bytes_are_bounded_and_a_refused_qos_2_may_be_tried_again() -> None:
    bed = CoreBed(BrokerLimits(max_retained_bytes=100))
    client = bed.connect("c")
    client.publish("r", bytes(99), retain=True)
    for _ in range(2):
        client.publish("s", b"", qos=2)
        client.send(mqtt5.PubRelPacket(7))
        client.received()
        client.publish("s", b"1", qos=2, retain=True)
        assert client.only(PubRecPacket).reason_code == PubRecReasonCode.QUOTA_EXCEEDED
    client.publish("r", bytes(10), retain=True)
    assert bed.core.statistics().retained_bytes == 11
    client.publish("s", b"1", qos=2, retain=True)
    assert client.only(PubRecPacket).reason_code == PubRecReasonCode.NO_MATCHING_SUBSCRIBERS


def test_reason_string_is_left_out_for_who_wants_none_or_takes_no_long_packets() -> None:
    bed = CoreBed(BrokerLimits(max_retained_messages=0))
    for client in (bed.connect("a", request_problem_info=False), bed.connect("b", max_packet_size=40)):
        client.publish("r", qos=1, retain=True)
        answer = client.only(PubAckPacket)
        assert (answer.reason_code, answer.reason_str) == (PubAckReasonCode.QUOTA_EXCEEDED, None)


def test_retained_bytes_return_to_nothing_after_clearing_and_expiry() -> None:
    bed = CoreBed()
    client = bed.connect("c")
    client.publish("a", bytes(50), retain=True)
    client.publish("a", bytes(60), retain=True)
    client.publish("b", bytes(50), retain=True, message_expiry_interval=5)
    assert bed.core.statistics().retained_bytes == 112
    client.publish("a", b"", retain=True)
    bed.advance(6)
    statistics = bed.core.statistics()
    assert (statistics.retained_messages, statistics.retained_bytes) == (0, 0)


def test_subscription_over_the_bound_is_refused_in_its_place() -> None:
    bed = CoreBed(BrokerLimits(max_subscriptions=2))
    client = bed.connect("c")
    answer = client.subscribe("a", "b", "c", "b")
    assert answer.reason_codes == [1, 1, SubAckReasonCode.QUOTA_EXCEEDED, 1]
    assert answer.reason_str == "a client may have 2 subscriptions"
    client.send(mqtt5.UnsubscribePacket(2, ["a"]))
    client.received()
    assert client.subscribe("c").reason_codes == [1]


def test_topic_depth_is_bounded_for_names_and_filters() -> None:
    bed = CoreBed(BrokerLimits(max_topic_levels=3))
    client = bed.connect("c")
    assert client.subscribe("a/b/c", "a/b/c/d", "$share/g/a/b/c").reason_codes == [
        1,
        SubAckReasonCode.TOPIC_FILTER_INVALID,
        1,
    ]
    client.publish("a/b/c/d")
    assert client.disconnected() == DisconnectReasonCode.TOPIC_NAME_INVALID


def test_sessions_are_bounded_and_who_has_one_may_come_back() -> None:
    bed = CoreBed(BrokerLimits(max_sessions=2))
    bed.connect("a", session_expiry_interval=100).drop()
    bed.connect("b")
    refused = bed.connect("c")
    assert refused.connack.reason_code == ConnAckReasonCode.QUOTA_EXCEEDED
    assert refused.peer.closing
    assert bed.connect("a", clean_start=False).connack.session_present
    assert bed.core.statistics().refused == 1


@pytest.mark.parametrize(("asked", "given"), [(0, 60), (600, 60), (60, None), (30, None)])
def test_server_keep_alive_bounds_what_the_client_asks(asked: int, given: int | None) -> None:
    bed = CoreBed(BrokerLimits(max_keep_alive=60))
    client = bed.connect("c", keep_alive=asked)
    assert client.connack.server_keep_alive == given
    lapse = 1.5 * min(asked or 60, 60)
    bed.advance(lapse - 1)
    assert not client.peer.closing
    bed.advance(2)
    assert client.disconnected() == DisconnectReasonCode.KEEP_ALIVE_TIMEOUT


def test_receive_maximum_of_zero_is_a_protocol_error() -> None:
    bed = CoreBed()
    packet = ConnectPacket("c", receive_max=9).write()
    assert b"\x21\x00\x09" in packet
    client = bed.dial()
    client.send_bytes(packet.replace(b"\x21\x00\x09", b"\x21\x00\x00"))
    connack = client.only(mqtt5.ConnAckPacket)
    assert connack.reason_code in (ConnAckReasonCode.PROTOCOL_ERROR, ConnAckReasonCode.MALFORMED_PACKET)
    assert client.peer.closing


def test_unfinished_qos_2_publishes_are_bounded_by_the_receive_maximum_that_was_told() -> None:
    bed = CoreBed(BrokerLimits(receive_max=3))
    client = bed.connect("c")
    assert client.connack.receive_max == 3
    for packet_id in range(1, 5):
        client.send(PublishPacket("x", b"", qos=QoS.EXACTLY_ONCE, packet_id=packet_id))
    assert client.disconnected() == DisconnectReasonCode.RECEIVE_MAX_EXCEEDED


@pytest.mark.parametrize("window", [1, 5, 100])
def test_receive_maximum_of_the_client_is_held_exactly(window: int) -> None:
    bed = CoreBed()
    client = bed.connect("c", "x", receive_max=window)
    publisher = bed.connect("p")
    for number in range(501):
        publisher.publish("x", b"%d" % number, qos=1)
    seen: list[bytes] = []
    while batch := client.messages():
        assert len(batch) <= window
        seen += [message.payload for message in batch]
        for message in batch:
            client.send(PubAckPacket(message.packet_id or 0))
    assert seen == [b"%d" % number for number in range(501)]


def test_501_messages_wait_for_a_session_and_come_in_order_on_resume() -> None:
    bed = CoreBed()
    bed.connect("c", "x", session_expiry_interval=100).drop()
    publisher = bed.connect("p")
    for number in range(501):
        publisher.publish("x", b"%d" % number, qos=1)
    back = bed.connect("c", clean_start=False)
    assert [message.payload for message in back.early] == [b"%d" % number for number in range(501)]


def test_fault_is_explained_in_the_disconnect_unless_the_packet_grew_too_large() -> None:
    bed = CoreBed()
    for size, text in ((None, "topic alias 9 was never set"), (20, None)):
        client = bed.connect("c", max_packet_size=size)
        client.publish("", topic_alias=9)
        farewell = client.only(mqtt5.DisconnectPacket)
        assert (farewell.reason_code, farewell.reason_str) == (DisconnectReasonCode.PROTOCOL_ERROR, text)


def test_client_cannot_publish_as_the_broker_below_sys(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    bed = CoreBed()
    watcher = bed.connect("watcher", "$SYS/#")
    client = bed.connect("c", will=mqtt5.Will("$SYS/broker", payload=b"forged"))
    for qos in (0, 1):
        client.publish("$SYS/broker/uptime", b"forged", qos=qos)
    assert client.only(PubAckPacket).reason_code == PubAckReasonCode.NOT_AUTHORIZED
    client.drop()
    assert watcher.messages() == []
    bed.core.publish(Message.from_will(mqtt5.Will("$SYS/broker/uptime", payload=b"7"), bed.now), retain=True)
    assert watcher.payloads() == [b"7"]
    assert [message.payload for message in bed.connect("late", "$SYS/broker/+").replayed] == [b"7"]


def test_qos_2_with_nobody_listening_is_told_so() -> None:
    bed = CoreBed()
    client = bed.connect("c")
    client.publish("nobody", qos=2)
    assert client.only(PubRecPacket).reason_code == PubRecReasonCode.NO_MATCHING_SUBSCRIBERS


def test_statistics_tell_what_is_there_and_what_was_done() -> None:
    bed = CoreBed(BrokerLimits(max_queued_messages=2))
    bed.connect("away", "x/#", session_expiry_interval=100).drop()
    client = bed.connect("c", "x/1", "y", will=mqtt5.Will("y", payload=b"w"))
    publisher = bed.connect("p")
    for _ in range(4):
        publisher.publish("x/1", b"12345", qos=1, retain=True, message_expiry_interval=10)
    before = bed.core.statistics()
    assert (before.clients, before.sessions, before.subscriptions, before.queued_messages) == (2, 3, 3, 2)
    assert (before.published, before.delivered, before.dropped) == (4, 8, 2)
    assert (before.retained_messages, before.retained_bytes) == (1, 8)
    bed.advance(11)
    client.received()
    client.drop()
    assert bed.connect("away", clean_start=False).early == []
    after = bed.core.statistics()
    assert (after.expired, after.wills, after.retained_messages) == (2, 1, 0)
    assert after.bytes_received > before.bytes_received
    assert after.bytes_sent > before.bytes_sent
