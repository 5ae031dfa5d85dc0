"""Malformed and hostile bytes cost the peer that sent them its connection, and nobody else anything."""

from __future__ import annotations

import logging

import mqtt5
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mqtt5 import ConnectPacket, DisconnectReasonCode, PublishPacket, QoS, SubscribePacket, TopicFilter, Will

from beskar_jobs.broker.sessions import BrokerLimits
from tests.broker.core_bed import CoreBed

VALID = [
    ConnectPacket(
        "victim",
        username="ü",
        password=b"\xff",
        will=Will("w/ä", payload=b"\xff", user_properties=[("a", "b")]),
        session_expiry_interval=5,
        user_properties=[("k", "v")],
    ).write(),
    PublishPacket(
        "a/ä",
        b"\xff" * 20,
        qos=QoS.AT_LEAST_ONCE,
        packet_id=1,
        retain=True,
        response_topic="r",
        correlation_data=b"\xfe",
        user_properties=[("a", "1")],
        topic_alias=1,
        content_type="t",
    ).write(),
    PublishPacket("a/b", b"x", qos=QoS.EXACTLY_ONCE, packet_id=2).write(),
    mqtt5.PubAckPacket(1).write(),
    mqtt5.PubRecPacket(1).write(),
    mqtt5.PubRelPacket(2).write(),
    mqtt5.PubCompPacket(1).write(),
    SubscribePacket(3, [TopicFilter("a/#"), TopicFilter("+/b", max_qos=QoS.AT_MOST_ONCE)], subscription_id=9).write(),
    mqtt5.UnsubscribePacket(4, ["a/#", "ü"]).write(),
    mqtt5.PingReqPacket().write(),
    mqtt5.DisconnectPacket(reason_str="bye", session_expiry_interval=3).write(),
    mqtt5.AuthPacket(authentication_method="m").write(),
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A few valid packets in a row, with a few bytes changed, inserted or left out."""
    data = bytearray(b"".join(draw(st.lists(st.sampled_from(VALID), min_size=1, max_size=4))))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data) - 1))
        match draw(st.sampled_from(["change", "insert", "delete", "cut"])):
            case "change":
                data[at] = draw(st.integers(0, 255))
            case "insert":
                data.insert(at, draw(st.integers(0, 255)))
            case "delete" if len(data) > 1:
                del data[at]
            case _:
                del data[at + 1 :]
    return bytes(data)


def attack(data: list[bytes], *, connected: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Send *data* as one peer; afterwards the others must be as well as before, and no handler may have failed."""
    caplog.clear()
    caplog.set_level(logging.ERROR)
    bed = CoreBed()
    bystander = bed.connect("bystander", "quiet")
    attacker = bed.connect("attacker") if connected else bed.dial()
    for piece in data:
        attacker.send_bytes(piece)
        attacker.received()
    attacker.drop()
    bed.advance(1000)
    assert caplog.records == []
    assert not bystander.peer.closing
    bed.connect("p").publish("quiet", b"still here")
    assert bystander.payloads() == [b"still here"]


many = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@many
@given(data=st.lists(st.binary(max_size=60), max_size=4), connected=st.booleans())
def test_random_bytes_never_fail_the_broker(
    data: list[bytes], connected: bool, caplog: pytest.LogCaptureFixture
) -> None:
    attack(data, connected=connected, caplog=caplog)


@many
@given(data=st.lists(mutated(), max_size=3), connected=st.booleans())
def test_mutated_packets_never_fail_the_broker(
    data: list[bytes], connected: bool, caplog: pytest.LogCaptureFixture
) -> None:
    attack(data, connected=connected, caplog=caplog)


@settings(max_examples=100, deadline=None)
@given(cuts=st.lists(st.integers(1, 40), min_size=1, max_size=40))
def test_packets_may_arrive_in_any_pieces(cuts: list[int]) -> None:
    bed = CoreBed()
    client = bed.connect("c")
    packets: list[mqtt5.Packet] = [
        SubscribePacket(1, [TopicFilter("x")]),
        PublishPacket("x", bytes(200)),
        mqtt5.PingReqPacket(),
        PublishPacket("x", b"end"),
    ]
    stream = b"".join(packet.write() for packet in packets)
    while stream:
        size = cuts.pop() if cuts else len(stream)
        client.send_bytes(stream[:size])
        stream = stream[size:]
    kinds = [type(packet) for packet in client.received()]
    assert kinds == [mqtt5.SubAckPacket, PublishPacket, mqtt5.PingRespPacket, PublishPacket]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x30\x05\x00\x02\xff\xfe\x00", DisconnectReasonCode.MALFORMED_PACKET),  # a topic that is not UTF-8
        (b"\x30\x04\x00\x01+\x00", DisconnectReasonCode.TOPIC_NAME_INVALID),
        (b"\x30\x04\x00\x01\x00\x00", DisconnectReasonCode.TOPIC_NAME_INVALID),
        (b"\x30\x04\x00\x09a\x00", DisconnectReasonCode.MALFORMED_PACKET),  # a length that points beyond the packet
        (b"\x32\x06\x00\x01a\x00\x00\x00", DisconnectReasonCode.PROTOCOL_ERROR),  # packet identifier 0
        (b"\x30\xff\xff\xff\xff\x01", DisconnectReasonCode.MALFORMED_PACKET),
        (b"\x30\xff\xff\xff\x7f", DisconnectReasonCode.PACKET_TOO_LARGE),
        (b"\x30\x09\x00\x01a\x05\x08\x00\x02r+", DisconnectReasonCode.PROTOCOL_ERROR),  # a wildcard to answer to
        (ConnectPacket("again").write(), DisconnectReasonCode.PROTOCOL_ERROR),
        (
            mqtt5.SubAckPacket(1, [mqtt5.SubAckReasonCode.UNSPECIFIED_ERROR]).write(),
            DisconnectReasonCode.PROTOCOL_ERROR,
        ),
        (PublishPacket("x", b"", subscription_ids=[1]).write(), DisconnectReasonCode.PROTOCOL_ERROR),
        (mqtt5.DisconnectPacket(session_expiry_interval=9).write(), DisconnectReasonCode.PROTOCOL_ERROR),
    ],
)
def test_fault_is_told_with_its_reason_and_the_will_is_published(data: bytes, reason: DisconnectReasonCode) -> None:
    bed = CoreBed()
    watcher = bed.connect("watcher", "w")
    client = bed.connect("c", will=Will("w", payload=b"gone"))
    client.send_bytes(data)
    assert client.disconnected() == reason
    assert watcher.payloads() == [b"gone"]
    client.publish("w", b"after the end")
    assert watcher.payloads() == []


def test_nothing_of_a_packet_over_the_limit_is_kept() -> None:
    bed = CoreBed(BrokerLimits(max_packet_size=1000))
    client = bed.connect("c")
    assert client.connack.max_packet_size == 1000
    client.send_bytes(b"\x30\xe9\x07\x00\x01x\x00" + bytes(100))
    assert client.disconnected() == DisconnectReasonCode.PACKET_TOO_LARGE
    assert not client.peer.partial


def test_unknown_peer_may_not_send_much() -> None:
    bed = CoreBed()
    client = bed.dial()
    client.send_bytes(b"\x10\x81\x80\x80\x01" + bytes(100))
    assert client.peer.closing
    assert not client.peer.partial


def test_mqtt_3_1_1_is_answered_in_its_own_words() -> None:
    bed = CoreBed()
    client = bed.dial()
    client.send_bytes(b"\x10\x10\x00\x04MQTT\x04\x02\x00\x3c\x00\x04abcd")
    assert client.peer.closing
    assert client.peer.take() == b"\x20\x02\x00\x01"


def test_packet_before_connect_is_not_answered() -> None:
    bed = CoreBed()
    client = bed.dial()
    client.publish("x")
    assert client.disconnected() is None


def test_acknowledgements_of_what_was_never_sent_change_nothing() -> None:
    bed = CoreBed()
    client = bed.connect("c", "x", receive_max=2)
    for packet_id in range(1, 100):
        client.send(mqtt5.PubAckPacket(packet_id))
    publisher = bed.connect("p")
    for _ in range(5):
        publisher.publish("x", qos=1)
    assert len(client.messages()) == 2


def test_will_with_a_wildcard_to_answer_to_is_refused() -> None:
    bed = CoreBed()
    packet = ConnectPacket("c", will=Will("w", response_topic="r/x")).write()
    assert packet.count(b"r/x") == 1
    client = bed.dial()
    client.send_bytes(packet.replace(b"r/x", b"r/+"))
    assert client.peer.closing
    assert "c" not in bed.core.sessions


@pytest.mark.parametrize(
    "data",
    [
        b"\x90\x08\x00\x01\x04\x1f\x00\x01\xff\x00",  # a SUBACK, whose Reason String is not UTF-8
        bytes.fromhex(  # Will properties that are longer than they say, with bytes behind them that are not UTF-8
            "103700044d51545405c400000c11000000052600016b000176000676696374696d"
            "07260004610001620004772fc3a40001ff0002c3bc0001ff"
        ),
    ],
)
def test_string_that_is_not_utf_8_is_found_wherever_the_codec_would_look(data: bytes) -> None:
    bed = CoreBed()
    client = bed.connect("c") if data[0] >> 4 != 1 else bed.dial()
    client.send_bytes(data)
    assert client.peer.closing
