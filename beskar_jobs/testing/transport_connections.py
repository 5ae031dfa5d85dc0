"""Claims of the transport suite about the connection: its Will, its loss, its end."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Final

from beskar_jobs.model.errors import BrokerUnreachable, OutboundQueueFull
from beskar_jobs.ports.transport import OutboundMessage
from beskar_jobs.testing.transport_bed import (
    PATIENCE,
    SECRET,
    Claims,
    Recorder,
    TransportFixture,
    connected,
    expect_closed,
    numbered,
    quick_options,
)

claim: Final = Claims()


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

    client_id = quick_options().client_id
    async with connected(fixture, "will") as witness:
        async with connected(fixture, client_id=client_id, will=will):
            pass
        # The broker has dealt with the end of a connection before it accepts the next with the same client id.
        async with connected(fixture, client_id=client_id) as second:
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
            publishing = asyncio.create_task(peer.transport.publish(numbered(topic, 50)))
            last = asyncio.create_task(peer.transport.publish([OutboundMessage(topic, b"zero", qos=0)]))
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
        publishing = asyncio.create_task(peer.transport.publish(numbered(topic, 5000)))
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
            taken = asyncio.create_task(peer.transport.publish(numbered(topic, 9)))
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
        await expect_closed(peer.transport.publish([OutboundMessage(f"{fixture.prefix}/t", b"late")]))
        await expect_closed(peer.transport.subscribe([f"{fixture.prefix}/t"]))


@claim
async def nothing_works_before_open(fixture: TransportFixture) -> None:
    transport = fixture.make(quick_options(), Recorder())
    assert not transport.connected
    await expect_closed(transport.publish([OutboundMessage(f"{fixture.prefix}/t", b"early")]))
    await expect_closed(transport.subscribe([f"{fixture.prefix}/t"]))
    await transport.close()


@claim
async def close_sends_what_is_queued(fixture: TransportFixture) -> None:
    topic = f"{fixture.prefix}/t"
    async with connected(fixture, "t") as witness, connected(fixture) as peer:
        publishing = asyncio.create_task(peer.transport.publish(numbered(topic, 1000)))
        await asyncio.sleep(0)
        await peer.transport.close()
        await publishing
        await witness.heard.until(lambda: len(witness.heard.messages) >= 1000)
        assert witness.heard.payloads == [b"%d" % number for number in range(1000)]


@claim
async def abort_ends_a_publish_that_waits(fixture: TransportFixture) -> None:
    async with connected(fixture) as peer, fixture.outage():
        await peer.heard.until(lambda: bool(peer.heard.losses))
        publishing = asyncio.create_task(peer.transport.publish(numbered(f"{fixture.prefix}/t", 3)))
        await asyncio.sleep(0)
        peer.transport.abort()
        await expect_closed(publishing)


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
