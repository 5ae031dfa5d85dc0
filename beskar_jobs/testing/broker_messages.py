"""Claims on messages: delivery, properties, retained messages, filters, flow (MQTT 5.0, 3.3, 3.8, 4.7, 4.9)."""

from __future__ import annotations

import asyncio
from typing import Final

import mqtt5
from mqtt5 import PublishPacket, RetainHandling

from beskar_jobs.testing.broker_bed import QOS, Bench, Claims

__all__ = ["claim"]

claim: Final = Claims()

_NO_MATCHING_SUBSCRIBERS = 0x10


def numbers(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


@claim
async def properties_arrive_untouched(bench: Bench) -> None:
    subscriber, publisher = await bench.connect("s", "x"), await bench.connect("p")
    await publisher.publish(
        "x",
        b"\x00\xff",
        payload_format_indicator=0,
        content_type="text/ü",
        response_topic="answers/1",
        correlation_data=b"\x00\x01",
        user_properties=[("k", "1"), ("a", "2"), ("k", "3")],
    )
    (message,) = await subscriber.messages()
    assert message.payload == b"\x00\xff"
    assert (message.content_type, message.response_topic) == ("text/ü", "answers/1")
    assert message.correlation_data == b"\x00\x01"
    assert message.user_properties == [("k", "1"), ("a", "2"), ("k", "3")]


@claim
async def qos_is_the_lower_of_publisher_and_subscription(bench: Bench) -> None:
    publisher = await bench.connect("p")
    for granted in range(3):
        subscriber = await bench.connect(f"s{granted}")
        answer = await subscriber.subscribe("x", qos=granted)
        assert [int(code) for code in answer.reason_codes] == [granted]
        for sent in range(3):
            await publisher.publish("x", qos=sent)
        assert [int(message.qos) for message in await subscriber.messages()] == [
            min(granted, sent) for sent in (0, 1, 2)
        ]
        await subscriber.leave()


@claim
async def order_is_kept(bench: Bench) -> None:
    subscriber, publisher = await bench.connect("s", "x"), await bench.connect("p")
    publisher.send(
        *[
            PublishPacket(bench.topic("x"), payload, qos=QOS[1], packet_id=number + 1)
            for number, payload in enumerate(numbers(1000))
        ]
    )
    for _ in range(1000):
        await publisher.expect(mqtt5.PubAckPacket)
    assert await subscriber.work() == numbers(1000)


@claim
async def qos_2_message_that_is_sent_twice_is_delivered_once(bench: Bench) -> None:
    subscriber, publisher = await bench.connect("s", "x", qos=2), await bench.connect("p")
    first = PublishPacket(bench.topic("x"), b"once", qos=QOS[2], packet_id=9)
    again = PublishPacket(bench.topic("x"), b"once", qos=QOS[2], packet_id=9, duplicate=True)
    for packet in (first, again):
        publisher.send(packet)
        assert (await publisher.expect(mqtt5.PubRecPacket)).packet_id == 9
    publisher.send(mqtt5.PubRelPacket(9))
    await publisher.expect(mqtt5.PubCompPacket)
    message = await subscriber.message()
    identifier = message.packet_id or 0
    subscriber.send(mqtt5.PubRecPacket(identifier))
    assert (await subscriber.expect(mqtt5.PubRelPacket)).packet_id == identifier
    subscriber.send(mqtt5.PubCompPacket(identifier))
    assert await subscriber.messages() == []


@claim
async def puback_tells_when_nobody_listens(bench: Bench) -> None:
    publisher = await bench.connect("p")
    assert await publisher.publish("nobody") == _NO_MATCHING_SUBSCRIBERS
    await bench.connect("s", "somebody")
    assert await publisher.publish("somebody") == 0


@claim
async def large_payload_arrives_whole(bench: Bench) -> None:
    subscriber, publisher = await bench.connect("s", "x"), await bench.connect("p")
    payload = bytes(range(256)) * 4096 * 10
    await publisher.publish("x", payload)
    assert (await subscriber.message()).payload == payload


@claim
async def retained_message_waits_for_a_late_subscriber(bench: Bench) -> None:
    live, publisher = await bench.connect("live", "+/1"), await bench.connect("p")
    await publisher.publish("a/1", b"state", retain=True, user_properties=[("k", "v")])
    (message,) = await live.messages()
    assert not message.retain
    late = await bench.connect("late", "a/+")
    (message,) = await late.messages()
    assert (message.payload, message.retain, message.user_properties) == (b"state", True, [("k", "v")])


@claim
async def empty_retained_message_clears_the_topic_and_is_delivered(bench: Bench) -> None:
    live, publisher = await bench.connect("live", "a"), await bench.connect("p")
    await publisher.publish("a", b"state", retain=True)
    await publisher.publish("a", b"", retain=True)
    assert await live.payloads() == [b"state", b""]
    late = await bench.connect("late", "a")
    assert await late.messages() == []


@claim
async def every_retained_topic_reaches_a_wildcard(bench: Bench) -> None:
    publisher = await bench.connect("p")
    for number in range(2000):
        publisher.send(PublishPacket(bench.topic(f"r/{number}"), b"%d" % number, retain=True))
    await publisher.messages()
    late = await bench.connect("late", "r/+")
    assert sorted(await late.work()) == sorted(numbers(2000))


@claim
async def retain_handling_decides_what_is_sent_at_subscribing(bench: Bench) -> None:
    publisher, client = await bench.connect("p"), await bench.connect("c")
    await publisher.publish("a", b"state", retain=True)
    counts: list[int] = []
    for handling in (
        RetainHandling.SEND_NEVER,
        RetainHandling.SEND_IF_SUBSCRIPTION_NOT_EXISTS,
        RetainHandling.SEND_ALWAYS,
    ):
        await client.subscribe("a", retain_handling=handling)
        counts.append(len(await client.work()))
    assert counts == [0, 0, 1]
    fresh = await bench.connect("fresh")
    await fresh.subscribe("a", retain_handling=RetainHandling.SEND_IF_SUBSCRIPTION_NOT_EXISTS)
    assert len(await fresh.messages()) == 1


@claim
async def retain_as_published_keeps_the_flag(bench: Bench) -> None:
    keeps, publisher = await bench.connect("keeps"), await bench.connect("p")
    await keeps.subscribe("a", retain_as_published=True)
    await publisher.publish("a", b"1", retain=True)
    await publisher.publish("a", b"2")
    assert [message.retain for message in await keeps.messages()] == [True, False]


@claim
async def expiry_interval_goes_down_with_time_and_not_with_subscribing(bench: Bench) -> None:
    publisher = await bench.connect("p")
    await publisher.publish("a", retain=True, message_expiry_interval=1000)
    await asyncio.sleep(2.1)
    seen: list[int] = []
    for number in range(5):
        late = await bench.connect(f"late{number}", "a")
        (message,) = await late.messages()
        seen.append(message.message_expiry_interval or 0)
    assert seen[0] <= 998
    assert seen[-1] >= 900, seen


@claim
async def expired_message_is_not_delivered(bench: Bench) -> None:
    away = await bench.connect("away", "a", session_expiry_interval=300)
    await away.leave()
    publisher = await bench.connect("p")
    await publisher.publish("a", b"short", retain=True, message_expiry_interval=1)
    await publisher.publish("a", b"long", message_expiry_interval=1000)
    await asyncio.sleep(2.5)
    late = await bench.connect("late", "a")
    assert await late.payloads() == []
    back = await bench.connect("away", clean_start=False, session_expiry_interval=300)
    assert await back.payloads() == [b"long"]


@claim
async def no_local_keeps_a_clients_own_messages_from_it(bench: Bench) -> None:
    client, other = await bench.connect("c"), await bench.connect("other")
    await client.subscribe("a", no_local=True)
    await client.publish("a", b"own")
    await other.publish("a", b"foreign")
    assert await client.payloads() == [b"foreign"]


@claim
async def subscription_identifier_comes_with_the_message(bench: Bench) -> None:
    client, publisher = await bench.connect("c"), await bench.connect("p")
    await client.subscribe("a/+", identifier=5)
    await client.subscribe("b", identifier=268_435_455)
    await publisher.publish("a/1")
    await publisher.publish("b")
    assert [message.subscription_ids for message in await client.messages()] == [[5], [268_435_455]]


@claim
async def overlapping_filters_deliver_at_the_highest_qos_with_every_identifier(bench: Bench) -> None:
    """3.3.4 leaves open whether the message comes once or once for each filter."""
    client, publisher = await bench.connect("c"), await bench.connect("p")
    await client.subscribe("a/+", identifier=1, qos=0)
    await client.subscribe("a/#", identifier=2, qos=1)
    await publisher.publish("a/1")
    messages = await client.messages()
    assert 1 <= len(messages) <= 2
    assert max(int(message.qos) for message in messages) == 1
    assert sorted(each for message in messages for each in message.subscription_ids) == [1, 2]


@claim
async def overlapping_filters_deliver_once(bench: Bench) -> None:
    client, publisher = await bench.connect("c"), await bench.connect("p")
    await client.subscribe("a/+", "a/#", "a/1")
    await publisher.publish("a/1")
    assert len(await client.messages()) == 1


@claim
async def subscribing_again_replaces_and_unsubscribing_ends(bench: Bench) -> None:
    client, publisher = await bench.connect("c", "a"), await bench.connect("p")
    await client.subscribe("a", qos=0)
    await publisher.publish("a")
    assert [int(message.qos) for message in await client.messages()] == [0]
    client.send(mqtt5.UnsubscribePacket(3, [bench.topic("a"), bench.topic("never")]))
    codes = (await client.expect(mqtt5.UnsubAckPacket)).reason_codes
    assert [int(code) for code in codes] == [0, 0x11]
    await publisher.publish("a")
    assert await client.messages() == []


@claim
async def wildcards_match_as_the_rules_say(bench: Bench) -> None:
    publisher = await bench.connect("p")
    topics = ["a", "a/b", "a/b/c", "a//c", "b", "/a"]
    wanted = {
        "a": ["a"],
        "a/+": ["a/b"],
        "a/#": ["a", "a/b", "a/b/c", "a//c"],
        "+": ["a", "b"],
        "+/b/+": ["a/b/c"],
        "a/+/c": ["a/b/c", "a//c"],
        "+/a": ["/a"],
        "#": topics,
    }
    clients = {text: await bench.connect(f"c{number}", text) for number, text in enumerate(wanted)}
    for topic in topics:
        await publisher.publish(topic, topic.encode())
    for text, client in clients.items():
        assert [payload.decode() for payload in await client.work()] == wanted[text], text


@claim
async def dollar_topics_are_hidden_from_a_leading_wildcard(bench: Bench) -> None:
    hidden, publisher = await bench.dial(), await bench.connect("p")
    name = bench.fixture.name
    hidden.send(mqtt5.ConnectPacket(f"{name}-hidden", clean_start=True))
    await hidden.expect(mqtt5.ConnAckPacket)
    hidden.send(mqtt5.SubscribePacket(1, [mqtt5.TopicFilter(f"+/{name}")]))
    await hidden.expect(mqtt5.SubAckPacket)
    named = await bench.connect("named")
    await named.subscribe(f"$own/{name}")
    await publisher.publish(f"$own/{name}")
    assert len(await named.messages()) == 1
    assert await hidden.messages() == []


@claim
async def topic_alias_stands_for_the_topic(bench: Bench) -> None:
    client, publisher = await bench.connect("c", "a", "b"), await bench.connect("p")
    assert publisher.connack.topic_alias_max >= 1
    await publisher.publish("a", b"1", topic_alias=1)
    await publisher.publish("", b"2", topic_alias=1)
    await publisher.publish("b", b"3", topic_alias=1)
    await publisher.publish("", b"4", topic_alias=1)
    assert [(each.topic, each.payload) for each in await client.messages()] == [
        (bench.topic(topic), payload) for topic, payload in (("a", b"1"), ("a", b"2"), ("b", b"3"), ("b", b"4"))
    ]


@claim
async def topic_alias_that_is_out_of_range_ends_the_connection(bench: Bench) -> None:
    publisher = await bench.connect("p")
    publisher.send(PublishPacket(bench.topic("a"), b"", topic_alias=publisher.connack.topic_alias_max + 1))
    assert await publisher.ended() == 0x94


@claim
async def receive_maximum_is_never_passed(bench: Bench) -> None:
    publisher = await bench.connect("p")
    for window in (1, 5, 100):
        client = await bench.connect(f"c{window}", f"w{window}", receive_max=window)
        for payload in numbers(150):
            await publisher.publish(f"w{window}", payload)
        seen: list[bytes] = []
        while batch := await client.messages():
            assert len(batch) <= window, f"{len(batch)} in flight, {window} allowed"
            seen += [message.payload for message in batch]
            client.acknowledge(batch)
        assert seen == numbers(150)


@claim
async def packet_larger_than_the_client_takes_is_not_sent_to_it(bench: Bench) -> None:
    client, publisher = await bench.connect("c", "a", max_packet_size=200), await bench.connect("p")
    await publisher.publish("a", bytes(300))
    await publisher.publish("a", b"fits")
    assert await client.payloads() == [b"fits"]
