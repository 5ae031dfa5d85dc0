"""Public: what every transport must do, as one list of claims.

The contract stands in :mod:`beskar_jobs.ports.transport`; here it is held. To hold a transport of your own to it, make
a :class:`TransportFixture` for it and run every function of :data:`CLAIMS` with one, each with a fresh ``prefix``::

    @pytest.fixture
    def bed(my_broker):
        return TransportFixture(
            prefix=f"suite/{uuid4().hex}",
            make=lambda options, listener: MyTransport(my_broker.url, options, listener),
            make_unreachable=lambda options, listener: MyTransport(f"my://u:{SECRET}@127.0.0.1:1", options, listener),
            outage=my_broker.outage,
        )

    @pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
    async def test_my_transport(claim, bed):
        await claim(bed)

A claim raises ``AssertionError`` (or lets another error through) where it does not hold. None takes longer than twice
:data:`PATIENCE` before it gives up, and none sleeps for what it could observe. The claims make connections of their own
and close them; they need a broker that lets them publish and subscribe below the prefix.
"""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import Awaitable
from typing import Final

import attrs

from beskar_jobs.model.errors import BrokerUnreachable, InvalidValue, OutboundQueueFull, TransportClosed
from beskar_jobs.ports.transport import InboundMessage, OutboundMessage
from beskar_jobs.testing.transport_bed import (
    PATIENCE,
    SECRET,
    Claim,
    Recorder,
    TransportFixture,
    connected,
    numbered,
    quick_options,
)

__all__ = ["CLAIMS", "PATIENCE", "SECRET", "Claim", "Recorder", "TransportFixture"]

CLAIMS: Final[list[Claim]] = []
"""Every claim, in the order in which they are worth reading."""


def claim(function: Claim) -> Claim:
    @functools.wraps(function)
    async def bounded(fixture: TransportFixture) -> None:
        async with asyncio.timeout(2 * PATIENCE):
            await function(fixture)

    CLAIMS.append(bounded)
    return function


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
                group.create_task(_finish(peer.transport.publish(messages)))
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


# -- the Will


@claim
async def the_will_fires_on_abort(fixture: TransportFixture) -> None:
    will = OutboundMessage(f"{fixture.prefix}/will", b"gone", retain=True)
    async with connected(fixture, "will") as witness:
        async with connected(fixture, will=lambda number: will) as peer:
            peer.transport.abort()
            await witness.heard.until_payload(b"gone")
        async with connected(fixture, "will") as late:
            await late.heard.until_payload(b"gone")
            assert late.heard.messages[0].retain


@claim
async def the_will_does_not_fire_on_close(fixture: TransportFixture) -> None:
    def will(number: int) -> OutboundMessage:
        return OutboundMessage(f"{fixture.prefix}/will", b"gone")

    async with connected(fixture, "will") as witness:
        async with connected(fixture, client_id="twice", will=will):
            pass
        # The broker has dealt with the end of a connection before it accepts the next with the same client id.
        async with connected(fixture, client_id="twice") as second:
            await second.transport.publish([OutboundMessage(f"{fixture.prefix}/will", b"after")])
        await witness.heard.until_payload(b"after")
        assert witness.heard.payloads == [b"after"]


@claim
async def the_will_names_its_connection(fixture: TransportFixture) -> None:
    def will(number: int) -> OutboundMessage:
        return OutboundMessage(f"{fixture.prefix}/will", b"%d" % number)

    async with connected(fixture, will=will) as peer:
        assert peer.heard.connections == [1]
        async with fixture.outage():
            await peer.heard.until(lambda: bool(peer.heard.losses))
        await peer.heard.until(lambda: len(peer.heard.connections) >= 2)
        async with connected(fixture, "will") as witness:
            peer.transport.abort()
            await witness.heard.until_payload(b"%d" % peer.heard.connections[-1])


# -- outages


@claim
async def after_an_outage_it_reconnects_and_hears_again(fixture: TransportFixture) -> None:
    topic = f"{fixture.prefix}/t"
    async with connected(fixture, "t") as peer:
        async with fixture.outage():
            await peer.heard.until(lambda: bool(peer.heard.losses))
            assert not peer.transport.connected
        await peer.heard.until(lambda: len(peer.heard.connections) >= 2)
        assert peer.heard.connections[0] == 1
        assert peer.heard.connections[1] > 1
        assert peer.transport.connected
        async with connected(fixture) as writer:
            await writer.transport.publish([OutboundMessage(topic, b"back")])
        await peer.heard.until_payload(b"back")
        assert len(peer.heard.losses) == 1


@claim
async def what_is_published_during_an_outage_arrives_after_it_in_order(fixture: TransportFixture) -> None:
    topic = f"{fixture.prefix}/t"
    async with connected(fixture, "t") as peer:
        async with fixture.outage():
            await peer.heard.until(lambda: bool(peer.heard.losses))
            publishing = asyncio.create_task(_finish(peer.transport.publish(numbered(topic, 50))))
            last = asyncio.create_task(_finish(peer.transport.publish([OutboundMessage(topic, b"zero", qos=0)])))
            await asyncio.sleep(0)
            assert not publishing.done()
        async with asyncio.timeout(PATIENCE):
            await publishing
            await last
        await peer.heard.until_payload(b"zero")
        assert peer.heard.payloads == [*[b"%d" % number for number in range(50)], b"zero"]


@claim
async def what_was_not_acknowledged_is_sent_again(fixture: TransportFixture) -> None:
    topic = f"{fixture.prefix}/t"
    async with connected(fixture, "t") as peer:
        publishing = asyncio.create_task(_finish(peer.transport.publish(numbered(topic, 5000))))
        await asyncio.sleep(0)
        async with fixture.outage():
            await peer.heard.until(lambda: bool(peer.heard.losses))
            cut_short = not publishing.done()
        async with asyncio.timeout(PATIENCE):
            await publishing
        await peer.transport.publish([OutboundMessage(topic, b"end")])
        await peer.heard.until_payload(b"end")
        # Of those acknowledged before, some may be lost on their way back: MQTT only signals. The rest came again.
        again = peer.heard.payloads[peer.heard.heard_before[1] : -1]
        assert again == [b"%d" % number for number in range(5000 - len(again), 5000)]
        assert again or not cut_short


@claim
async def subscribing_during_an_outage_waits_for_its_end(fixture: TransportFixture) -> None:
    async with connected(fixture) as peer:
        async with fixture.outage():
            await peer.heard.until(lambda: bool(peer.heard.losses))
            subscribing = asyncio.create_task(peer.transport.subscribe([f"{fixture.prefix}/t"]))
            await asyncio.sleep(0)
            assert not subscribing.done()
        async with asyncio.timeout(PATIENCE):
            await subscribing
        await peer.transport.publish([OutboundMessage(f"{fixture.prefix}/t", b"heard")])
        await peer.heard.until_payload(b"heard")


@claim
async def the_queue_is_bounded_and_takes_all_or_none(fixture: TransportFixture) -> None:
    topic = f"{fixture.prefix}/t"
    async with connected(fixture, "t", max_outbound=10, max_outbound_bytes=1000) as peer:
        async with fixture.outage():
            await peer.heard.until(lambda: bool(peer.heard.losses))
            taken = asyncio.create_task(_finish(peer.transport.publish(numbered(topic, 9))))
            await asyncio.sleep(0)
            for refused in (numbered(topic, 2, retain=True), [OutboundMessage(topic, bytes(1001))]):
                try:
                    await peer.transport.publish(refused)
                except OutboundQueueFull:
                    continue
                raise AssertionError("more was queued than the bound allows")
        async with asyncio.timeout(PATIENCE):
            await taken
        await peer.transport.publish([OutboundMessage(topic, b"room again")])
        await peer.heard.until_payload(b"room again")
        assert peer.heard.payloads == [*[b"%d" % number for number in range(9)], b"room again"]


@claim
async def an_unreachable_broker_is_an_error_in_time_without_the_password(fixture: TransportFixture) -> None:
    transport = fixture.make_unreachable(quick_options(connect_timeout=0.5), Recorder())
    started = time.monotonic()
    error: BrokerUnreachable | None = None
    try:
        await transport.open()
    except BrokerUnreachable as unreachable:
        error = unreachable
    finally:
        await transport.close()
    assert error is not None, "nobody answers there, and it is open"
    assert SECRET not in f"{error} {error!r} {error.__cause__!r}"
    assert "://" in str(error), "the message does not name the URL"
    assert time.monotonic() - started < 0.5 + PATIENCE / 3
    assert not transport.connected


# -- the end


@claim
async def close_is_idempotent_and_final(fixture: TransportFixture) -> None:
    async with connected(fixture) as peer:
        await peer.transport.close()
        await peer.transport.close()
        peer.transport.abort()
        assert not peer.transport.connected
        assert not peer.heard.losses, "a close that was asked for is no loss"
        await _raises_closed(peer.transport.publish([OutboundMessage(f"{fixture.prefix}/t", b"late")]))
        await _raises_closed(peer.transport.subscribe([f"{fixture.prefix}/t"]))


@claim
async def nothing_works_before_open(fixture: TransportFixture) -> None:
    transport = fixture.make(quick_options(), Recorder())
    assert not transport.connected
    await _raises_closed(transport.publish([OutboundMessage(f"{fixture.prefix}/t", b"early")]))
    await _raises_closed(transport.subscribe([f"{fixture.prefix}/t"]))
    await transport.close()


@claim
async def close_sends_what_is_queued(fixture: TransportFixture) -> None:
    topic = f"{fixture.prefix}/t"
    async with connected(fixture, "t") as witness, connected(fixture) as peer:
        publishing = asyncio.create_task(_finish(peer.transport.publish(numbered(topic, 1000))))
        await asyncio.sleep(0)
        await peer.transport.close()
        await publishing
        await witness.heard.until(lambda: len(witness.heard.messages) >= 1000)
        assert witness.heard.payloads == [b"%d" % number for number in range(1000)]


@claim
async def abort_ends_a_publish_that_waits(fixture: TransportFixture) -> None:
    async with connected(fixture) as peer, fixture.outage():
        await peer.heard.until(lambda: bool(peer.heard.losses))
        publishing = asyncio.create_task(_finish(peer.transport.publish(numbered(f"{fixture.prefix}/t", 3))))
        await asyncio.sleep(0)
        peer.transport.abort()
        await _raises_closed(publishing)


@claim
async def a_thread_that_is_busy_does_not_disturb_it(fixture: TransportFixture) -> None:
    stop = threading.Event()

    def burn() -> None:
        while not stop.is_set():
            sum(range(1000))

    async with connected(fixture, "t", keep_alive=1) as peer:
        thread = threading.Thread(target=burn)
        thread.start()
        try:
            deadline = time.monotonic() + 3  # thrice the keep-alive
            number = 0
            while time.monotonic() < deadline:
                number += 1
                await peer.transport.publish([OutboundMessage(f"{fixture.prefix}/t", b"%d" % number)])
                await peer.heard.until_payload(b"%d" % number)
                await asyncio.sleep(0.2)
        finally:
            stop.set()
            thread.join()
        assert not peer.heard.losses


async def _finish(publishing: Awaitable[None]) -> None:
    await publishing


async def _raises_closed(action: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(PATIENCE):
            await action
    except TransportClosed:
        return
    raise AssertionError("it should have raised TransportClosed")
