"""The own encoder and decoder of PUBLISH against an independent codec, and against bytes that are none."""

from __future__ import annotations

import contextlib

import mqtt5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beskar_jobs.ports.transport import InboundMessage, OutboundMessage
from beskar_jobs.transport.publish_codec import (
    MalformedPacket,
    PacketSplitter,
    decode_publish,
    encode_publish,
)

TOPICS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="+#\0"), min_size=1, max_size=200)
MESSAGES = st.builds(
    OutboundMessage,
    topic=TOPICS,
    payload=st.binary(max_size=300),
    qos=st.sampled_from([0, 1]),
    retain=st.booleans(),
    expiry=st.none() | st.integers(0, 2**32 - 1),
    response_topic=st.none() | TOPICS,
    correlation=st.none() | st.binary(max_size=200),
)


def split(data: bytes, piece: int) -> list[tuple[int, bytes]]:
    splitter = PacketSplitter(1_000_000)
    pieces = [data[start : start + piece] for start in range(0, len(data), piece)]
    return [(first, body) for part in pieces for first, body, _ in splitter.feed(part)]


def inbound(message: OutboundMessage) -> InboundMessage:
    return InboundMessage(message.topic, message.payload, message.retain, message.response_topic, message.correlation)


@given(MESSAGES, st.booleans())
def test_an_independent_codec_reads_what_is_written(message: OutboundMessage, again: bool) -> None:
    packet, _ = mqtt5.read(memoryview(encode_publish(message, 7, again=again)))
    assert isinstance(packet, mqtt5.PublishPacket)
    assert packet.topic == message.topic
    assert bytes(packet.payload) == message.payload
    assert (packet.qos, packet.retain, packet.duplicate) == (message.qos, message.retain, again)
    assert packet.packet_id == (7 if message.qos else None)
    assert packet.message_expiry_interval == message.expiry
    assert packet.response_topic == message.response_topic
    assert packet.correlation_data == message.correlation


@given(st.lists(MESSAGES, min_size=1, max_size=8), st.integers(1, 700))
def test_what_was_written_is_read_from_a_stream_in_pieces(messages: list[OutboundMessage], piece: int) -> None:
    data = b"".join(encode_publish(message, 9, again=False) for message in messages)
    read = [decode_publish(first, body) for first, body in split(data, piece)]
    assert [publish.message for publish in read] == [inbound(message) for message in messages]
    assert [publish.packet_id for publish in read] == [9 if message.qos else 0 for message in messages]


@given(MESSAGES)
def test_properties_that_nobody_asked_for_are_skipped(message: OutboundMessage) -> None:
    packet = mqtt5.PublishPacket(
        topic=message.topic,
        payload=message.payload,
        qos=mqtt5.QoS.AT_LEAST_ONCE,
        packet_id=5,
        payload_format_indicator=1,
        content_type="text/plain",
        user_properties=[("a", "b"), ("a", "c")],
        subscription_ids=[3, 40_000],
        response_topic=message.response_topic,
        correlation_data=message.correlation,
    )
    ((first, body),) = split(packet.write(), 100_000)
    read = decode_publish(first, body)
    assert read.packet_id == 5
    assert read.message == InboundMessage(
        message.topic, message.payload, False, message.response_topic, message.correlation
    )


@given(st.integers(0x30, 0x3F), st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(first: int, body: bytes) -> None:
    with contextlib.suppress(MalformedPacket):
        assert decode_publish(first, body).message.topic


@given(MESSAGES, st.data())
def test_a_publish_cut_short_within_its_head_is_refused(message: OutboundMessage, data: st.DataObject) -> None:
    ((first, body),) = split(encode_publish(message, 9, again=False), 100_000)
    head = len(body) - len(message.payload)
    with pytest.raises(MalformedPacket):
        decode_publish(first, body[: data.draw(st.integers(0, head - 1))])


def test_a_packet_past_the_limit_is_refused_before_it_has_come() -> None:
    with pytest.raises(MalformedPacket, match="more than the limit of 1000"):
        list(PacketSplitter(1000).feed(b"\x30\xff\xff\x7f"))


def test_a_length_of_five_bytes_is_refused() -> None:
    with pytest.raises(MalformedPacket, match="more than four bytes"):
        list(PacketSplitter(1000).feed(b"\x30\xff\xff\xff\xff\x01"))
