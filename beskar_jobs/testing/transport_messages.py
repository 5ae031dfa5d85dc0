"""Claims of the transport suite about messages, while the connection holds."""

from __future__ import annotations

import asyncio
import time
from typing import Final

import attrs

from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.ports.transport import InboundMessage, OutboundMessage
from beskar_jobs.testing.transport_bed import (
    PATIENCE,
    Claims,
    TransportFixture,
    connected,
    numbered,
)

claim: Final = Claims()


# -- messages


@claim
async def a_published_message_arrives_at_either_qos(fixture: TransportFixture) -> None:
    async with connected(fixture, "t") as peer:
        await peer.transport.publish([OutboundMessage(f"{fixture.prefix}/t", b"zero", qos=0)])
        await peer.transport.publish([OutboundMessage(f"{fixture.prefix}/t", b"one", qos=1)])
        await peer.heard.until(lambda: len(peer.heard.messages) >= 2)
        assert peer.heard.messages == [
            InboundMessage(f"{fixture.prefix}/t", b"zero"),
            InboundMessage(f"{fixture.prefix}/t", b"one"),
        ]


@claim
async def order_is_kept_within_and_between_calls(fixture: TransportFixture) -> None:
    topic = f"{fixture.prefix}/t"
    async with connected(fixture, "t") as peer:
        async with asyncio.TaskGroup() as group:
            for start in range(0, 200, 20):
                messages = [OutboundMessage(topic, b"%d" % n, qos=1) for n in range(start, start + 20)]
                group.create_task(peer.transport.publish(messages))
        await peer.heard.until(lambda: len(peer.heard.messages) >= 200)
        assert peer.heard.payloads == [b"%d" % n for n in range(200)]


@claim
async def sending_starts_in_the_call_itself(fixture: TransportFixture) -> None:
    topic = f"{fixture.prefix}/t"
    async with connected(fixture, "t") as peer:
        first = peer.transport.publish([OutboundMessage(topic, b"first")])
        second = peer.transport.publish([OutboundMessage(topic, b"second")])
        await second
        await first
        await peer.heard.until(lambda: len(peer.heard.messages) >= 2)
        assert peer.heard.payloads == [b"first", b"second"]


@claim
async def wildcards_match_as_the_standard_says(fixture: TransportFixture) -> None:
    async with connected(fixture, "one/+/end", "many/#") as peer:
        names = ["one/a/end", "one/a/b/end", "one/a", "many", "many/a/b", "other"]
        await peer.transport.publish([OutboundMessage(f"{fixture.prefix}/{name}", name.encode()) for name in names])
        await peer.transport.publish([OutboundMessage(f"{fixture.prefix}/many/last", b"last")])
        await peer.heard.until_payload(b"last")
        assert peer.heard.payloads == [b"one/a/end", b"many", b"many/a/b", b"last"]


@claim
async def only_a_late_subscriber_sees_a_message_as_retained(fixture: TransportFixture) -> None:
    topic = f"{fixture.prefix}/t"
    async with connected(fixture, "t") as early:
        await early.transport.publish([OutboundMessage(topic, b"kept", retain=True)])
        await early.heard.until_payload(b"kept")
        assert early.heard.messages == [InboundMessage(topic, b"kept", retain=False)]
        async with connected(fixture, "t") as late:
            await late.heard.until_payload(b"kept")
            assert late.heard.messages == [InboundMessage(topic, b"kept", retain=True)]


@claim
async def an_empty_retained_message_clears_the_topic(fixture: TransportFixture) -> None:
    topic = f"{fixture.prefix}/t"
    async with connected(fixture) as writer:
        await writer.transport.publish([OutboundMessage(topic, b"kept", retain=True)])
        await writer.transport.publish([OutboundMessage(topic, b"", retain=True)])
        async with connected(fixture, "t") as late:
            await late.transport.publish([OutboundMessage(topic, b"live")])
            await late.heard.until_payload(b"live")
            assert late.heard.payloads == [b"live"]


@claim
async def request_and_response_properties_come_through(fixture: TransportFixture) -> None:
    sent = OutboundMessage(
        f"{fixture.prefix}/t",
        b"question",
        expiry=60,
        response_topic=f"{fixture.prefix}/antwort/ä",
        correlation=bytes(range(256)),
    )
    async with connected(fixture, "t") as peer:
        await peer.transport.publish([sent, attrs.evolve(sent, qos=0)])
        await peer.heard.until(lambda: len(peer.heard.messages) >= 2)
        expected = InboundMessage(
            sent.topic, sent.payload, response_topic=sent.response_topic, correlation=sent.correlation
        )
        assert peer.heard.messages == [expected, expected]


@claim
async def a_retained_message_is_gone_after_its_expiry(fixture: TransportFixture) -> None:
    topic = f"{fixture.prefix}/t"
    async with connected(fixture) as writer:
        await writer.transport.publish([OutboundMessage(topic, b"kept", retain=True, expiry=2)])

        async def seen_by_a_late_subscriber() -> bool:
            async with connected(fixture, "t") as late:
                await late.transport.publish([OutboundMessage(topic, b"live")])
                await late.heard.until_payload(b"live")
                return b"kept" in late.heard.payloads

        assert await seen_by_a_late_subscriber()
        deadline = time.monotonic() + PATIENCE
        while await seen_by_a_late_subscriber():
            assert time.monotonic() < deadline, "the message outlives its expiry"
            await asyncio.sleep(0.1)


@claim
async def a_large_payload_comes_through(fixture: TransportFixture) -> None:
    payload = (bytes(range(256)) * 4096)[: fixture.large]
    async with connected(fixture, "t") as peer:
        await peer.transport.publish([OutboundMessage(f"{fixture.prefix}/t", payload, correlation=b"c")])
        await peer.transport.publish([OutboundMessage(f"{fixture.prefix}/t", b"after")])
        await peer.heard.until_payload(b"after")
        assert peer.heard.payloads == [payload, b"after"]
        assert peer.heard.messages[0].correlation == b"c"


@claim
async def ten_thousand_messages_in_one_call_arrive_in_order(fixture: TransportFixture) -> None:
    async with connected(fixture, "t") as peer, connected(fixture) as writer:
        await writer.transport.publish(numbered(f"{fixture.prefix}/t", 10_000, qos=1))
        await peer.heard.until(lambda: len(peer.heard.messages) >= 10_000)
        assert peer.heard.payloads == [b"%d" % number for number in range(10_000)]


@claim
async def a_message_that_can_never_be_published_is_refused_before_it_is_queued(fixture: TransportFixture) -> None:
    topic = f"{fixture.prefix}/t"
    async with connected(fixture, "#") as peer:
        for wrong in (
            OutboundMessage("", b"x"),
            OutboundMessage(f"{fixture.prefix}/+/x", b"x"),
            OutboundMessage(topic, b"x", qos=2),
            OutboundMessage(topic, b"x", expiry=-1),
        ):
            try:
                await peer.transport.publish([OutboundMessage(topic, b"with it"), wrong])
            except InvalidValue:
                continue
            raise AssertionError(f"{wrong} was taken")
        await peer.transport.publish([OutboundMessage(topic, b"good")])
        await peer.heard.until_payload(b"good")
        assert peer.heard.payloads == [b"good"]


@claim
async def nothing_arrives_after_unsubscribe(fixture: TransportFixture) -> None:
    async with connected(fixture, "a", "b") as peer:
        await peer.transport.unsubscribe([f"{fixture.prefix}/a"])
        await peer.transport.publish([OutboundMessage(f"{fixture.prefix}/a", b"unwanted")])
        await peer.transport.publish([OutboundMessage(f"{fixture.prefix}/b", b"wanted")])
        await peer.heard.until_payload(b"wanted")
        assert peer.heard.payloads == [b"wanted"]


@claim
async def a_listener_that_raises_does_not_stop_the_messages(fixture: TransportFixture) -> None:
    async with connected(fixture, "t") as peer:
        peer.heard.fails_on = b"1"
        await peer.transport.publish(numbered(f"{fixture.prefix}/t", 3))
        await peer.heard.until(lambda: len(peer.heard.messages) >= 3)
        assert peer.heard.payloads == [b"0", b"1", b"2"]
        assert peer.transport.connected
        assert not peer.heard.losses
