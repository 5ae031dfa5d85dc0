"""Faults from the field, at the level of the transport."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mqtt5
import pytest

from beskar_jobs.model.errors import BrokerUnreachable, InvalidValue, PublishRefused, SubscriptionRefused
from beskar_jobs.ports.transport import OutboundMessage
from beskar_jobs.testing.services import MosquittoServer, free_port
from beskar_jobs.testing.transport_bed import PATIENCE, Peer, Recorder, numbered, quick_options
from beskar_jobs.transport.mqtt import MqttTransport
from beskar_jobs.transport.mqtt.packet_socket import FastClient

from .conftest import Authority
from .scripted_broker import Session, scripted_broker


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[Peer]:
    heard = Recorder()
    transport = MqttTransport(url, quick_options(**options), heard)
    async with asyncio.timeout(PATIENCE):
        await transport.open()
    try:
        yield Peer(transport, heard)
    finally:
        await transport.close()


async def refusal(url: str, **options: Any) -> str:
    """Why it cannot be opened; within a time that shows that it was not tried again and again."""
    transport = MqttTransport(url, quick_options(connect_timeout=60.0, **options), Recorder())
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(BrokerUnreachable) as caught:
            await transport.open()
    return str(caught.value)


async def test_a_message_that_makes_the_broker_cut_each_connection_is_refused_and_all_others_arrive() -> None:
    arrived: list[str] = []

    async def touchy(session: Session) -> None:
        await session.accept()
        while True:
            packet = await session.receive()
            if isinstance(packet, mqtt5.PublishPacket):
                if packet.topic == "poison":
                    return
                arrived.append(packet.topic)
                session.send(mqtt5.PubAckPacket(packet.packet_id or 0))
            elif isinstance(packet, mqtt5.DisconnectPacket):
                return

    async with scripted_broker(touchy) as url, opened(url, reconnect_first=0.01, reconnect_cap=0.05) as peer:
        good = [peer.transport.publish([OutboundMessage(f"good/{number}", b"")]) for number in range(3)]
        poison = peer.transport.publish([OutboundMessage("poison", b"")])
        more = [peer.transport.publish([OutboundMessage(f"more/{number}", b"")]) for number in range(3)]
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(PublishRefused, match="'poison'"):
                await poison
            await asyncio.gather(*good, *more)
    assert set(arrived) == {f"{kind}/{number}" for kind in ("good", "more") for number in range(3)}


# -- real brokers


async def test_idle_subscriber_hears_again_after_the_broker_was_bounced_three_times_in_three_seconds() -> None:
    with MosquittoServer() as broker:
        async with opened(broker.url) as peer:
            await peer.transport.subscribe(["t"])
            for _ in range(3):
                await asyncio.to_thread(broker.restart)
                await asyncio.sleep(1)
            await peer.heard.until(lambda: len(peer.heard.losses) >= 3 and peer.transport.connected)
            async with opened(broker.url) as writer:
                await writer.transport.publish([OutboundMessage("t", b"back")])
            await peer.heard.until_payload(b"back")
            assert peer.heard.connections == sorted(set(peer.heard.connections))


async def test_frozen_broker_is_noticed_by_an_idle_subscriber_and_left() -> None:
    with MosquittoServer() as broker:
        async with opened(broker.url, keep_alive=1, connect_timeout=1.0) as peer:
            await peer.transport.subscribe(["t"])
            broker.pause()
            await peer.heard.until(lambda: bool(peer.heard.losses))
            assert "did not answer a ping" in peer.heard.losses[0]
            broker.resume()
            await peer.heard.until(lambda: len(peer.heard.connections) >= 2)
            await peer.transport.publish([OutboundMessage("t", b"thawed")])
            await peer.heard.until_payload(b"thawed")


async def test_messages_to_a_frozen_broker_are_bounded_and_arrive_when_it_thaws() -> None:
    with MosquittoServer() as broker:
        async with opened(broker.url, keep_alive=1, connect_timeout=1.0) as peer:
            await peer.transport.subscribe(["t"])
            broker.pause()
            big = [OutboundMessage("t", bytes(100_000), qos=0)] * 100
            sending = asyncio.create_task(peer.transport.publish(big))
            marker = asyncio.create_task(peer.transport.publish([OutboundMessage("t", b"marker")]))
            await asyncio.sleep(0)
            assert not sending.done(), "ten megabytes went to a broker that reads nothing"
            await peer.heard.until(lambda: bool(peer.heard.losses))
            broker.resume()
            async with asyncio.timeout(PATIENCE):
                await sending
                await marker
            await peer.heard.until_payload(b"marker")


async def test_open_waits_for_a_broker_that_comes_up_later() -> None:
    broker = MosquittoServer()
    try:
        broker.kill()
        heard = Recorder()
        transport = MqttTransport(broker.url, quick_options(), heard)
        opening = asyncio.create_task(transport.open())
        await asyncio.sleep(0.3)
        assert not opening.done()
        await asyncio.to_thread(broker.start)
        async with asyncio.timeout(PATIENCE):
            await opening
        assert heard.connections == [1]
        await transport.close()
    finally:
        broker.stop()


async def test_wrong_password_is_told_at_once_and_never_shown() -> None:
    with MosquittoServer(user=("ada", "right")) as broker:
        account = broker.url.replace("//", "//ada:wrong-one@")
        text = await refusal(account)
        assert "not authorized" in text or "user name or password" in text
        assert "wrong-one" not in text
        assert "ada:***@" in text
        async with opened(account, username="ada", password="right") as peer:
            assert peer.transport.connected
        async with opened(broker.url.replace("//", "//ada:right@")) as peer:
            assert peer.transport.connected


async def test_untrusted_certificate_is_told_at_once(authority: Authority) -> None:
    with MosquittoServer(tls=authority.server) as broker:
        assert "certificate is not trusted" in await refusal(broker.tls_url)


async def test_missing_ca_file_is_named() -> None:
    with pytest.raises(InvalidValue, match=r"no-such-file\.pem"):
        MqttTransport("mqtts://localhost", quick_options(ca_file="no-such-file.pem"), Recorder())


async def test_outage_is_logged_twice_however_long(caplog: pytest.LogCaptureFixture) -> None:
    with MosquittoServer() as broker:
        async with opened(broker.url, reconnect_first=0.01, reconnect_cap=0.02) as peer:
            caplog.set_level(logging.INFO, "beskar_jobs.transport")
            broker.kill()
            await peer.heard.until(lambda: bool(peer.heard.losses))
            await asyncio.sleep(0.5)
            await asyncio.to_thread(broker.start)
            await peer.heard.until(lambda: len(peer.heard.connections) >= 2)
            await asyncio.sleep(0)
            assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


async def test_another_paho_is_used_through_its_public_api(
    monkeypatch: pytest.MonkeyPatch, mosquitto: MosquittoServer, topic_prefix: str
) -> None:
    monkeypatch.delattr(FastClient, "_create_socket")
    async with opened(mosquitto.url) as peer:
        await peer.transport.subscribe([topic_prefix])
        await peer.transport.publish(numbered(topic_prefix, 100))
        await peer.heard.until(lambda: len(peer.heard.messages) >= 100)
        assert peer.heard.payloads == [b"%d" % number for number in range(100)]


async def test_subscription_that_is_no_filter_is_refused(mosquitto: MosquittoServer) -> None:
    async with opened(mosquitto.url) as peer:
        with pytest.raises(InvalidValue, match="a/#/b"):
            await peer.transport.subscribe(["a/#/b"])


# -- brokers that misbehave


async def test_reset_of_the_socket_is_survived() -> None:
    async def script(session: Session) -> None:
        await session.accept()
        if session.number == 1:
            await session.receive()
            session.reset()
        else:
            await session.serve()

    async with scripted_broker(script) as url, opened(url) as peer:
        await peer.transport.publish([OutboundMessage("t", b"now", qos=0)])
        await peer.heard.until(lambda: len(peer.heard.connections) >= 2)
        await peer.transport.publish([OutboundMessage("t", b"x")])


async def test_broker_that_accepts_and_says_nothing_is_unreachable_in_time() -> None:
    async def script(session: Session) -> None:
        await session.receive()
        await asyncio.sleep(PATIENCE)

    async with scripted_broker(script) as url:
        transport = MqttTransport(url, quick_options(connect_timeout=0.5), Recorder())
        started = time.monotonic()
        with pytest.raises(BrokerUnreachable, match="did not answer within"):
            await transport.open()
        assert time.monotonic() - started < PATIENCE / 2


async def test_bytes_that_are_no_mqtt_end_the_connection_with_a_reason() -> None:
    async def script(session: Session) -> None:
        await session.accept()
        if session.number == 1:
            await session.receive()
            session.writer.write(b"\x30\x03\x00\x05a")
        await session.serve()

    async with scripted_broker(script) as url, opened(url) as peer:
        await peer.transport.publish([OutboundMessage("t", b"now", qos=0)])
        await peer.heard.until(lambda: len(peer.heard.connections) >= 2)
        assert "PUBLISH" in peer.heard.losses[0]


async def test_shutdown_notice_of_the_broker_is_the_reason() -> None:
    async def script(session: Session) -> None:
        await session.accept()
        if session.number == 1:
            await session.receive()
            session.send(mqtt5.DisconnectPacket(reason_code=mqtt5.DisconnectReasonCode.SERVER_SHUTTING_DOWN))
        await session.serve()

    async with scripted_broker(script) as url, opened(url) as peer:
        await peer.transport.publish([OutboundMessage("t", b"now", qos=0)])
        await peer.heard.until(lambda: len(peer.heard.connections) >= 2)
        assert "shutting down" in peer.heard.losses[0]


async def test_never_more_on_their_way_than_the_broker_takes_at_once() -> None:
    most = 0

    async def script(session: Session) -> None:
        nonlocal most
        await session.accept(receive_max=3)
        for _ in range(10):
            batch = [await session.receive() for _ in range(3)]
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    batch.append(await session.receive())
            most = max(most, len(batch))
            for packet in batch:
                session.send(mqtt5.PubAckPacket(packet.packet_id))
        await session.serve()

    async with scripted_broker(script) as url, opened(url) as peer, asyncio.timeout(PATIENCE):
        await peer.transport.publish(numbered("t", 30))
    assert most == 3


async def test_message_larger_than_the_broker_takes_is_refused_and_costs_no_connection() -> None:
    async def script(session: Session) -> None:
        await session.accept(max_packet_size=1000)
        await session.serve()

    async with scripted_broker(script) as url, opened(url) as peer:
        with pytest.raises(PublishRefused, match="more than the 1000"):
            await peer.transport.publish([OutboundMessage("t", bytes(2000)), OutboundMessage("t", b"x")])
        await peer.transport.publish([OutboundMessage("t", b"fits")])
        assert not peer.heard.losses


async def test_message_that_the_broker_refuses_is_an_error_that_names_its_topic() -> None:
    async def script(session: Session) -> None:
        await session.accept()
        packet = await session.receive()
        session.send(mqtt5.PubAckPacket(packet.packet_id, reason_code=mqtt5.PubAckReasonCode.NOT_AUTHORIZED))
        await session.serve()

    async with scripted_broker(script) as url, opened(url) as peer:
        with pytest.raises(PublishRefused, match=r"'secret/topic'.*not authorized"):
            await peer.transport.publish([OutboundMessage("secret/topic", b"x")])


async def test_refused_subscription_is_an_error_that_names_the_filter() -> None:
    async def script(session: Session) -> None:
        await session.accept()
        packet = await session.receive()
        codes = [mqtt5.SubAckReasonCode.GRANTED_QOS_AT_LEAST_ONCE, mqtt5.SubAckReasonCode.NOT_AUTHORIZED]
        session.send(mqtt5.SubAckPacket(packet.packet_id, codes))
        packet = await session.receive()
        assert packet.patterns == ["granted"]
        session.send(mqtt5.UnsubAckPacket(packet.packet_id, [mqtt5.UnsubAckReasonCode.SUCCESS]))
        await session.serve()

    async with scripted_broker(script) as url, opened(url) as peer, asyncio.timeout(PATIENCE):
        with pytest.raises(SubscriptionRefused, match="'denied'"):
            await peer.transport.subscribe(["granted", "denied"])


async def test_what_comes_again_is_marked_as_a_second_delivery() -> None:
    seen: list[tuple[bytes, bool]] = []

    async def script(session: Session) -> None:
        await session.accept()
        for _ in range(2):
            packet = await session.receive()
            seen.append((bytes(packet.payload), packet.duplicate))
            if session.number == 2:
                session.send(mqtt5.PubAckPacket(packet.packet_id))
        if session.number == 2:
            await session.serve()

    async with scripted_broker(script) as url, opened(url) as peer, asyncio.timeout(PATIENCE):
        await peer.transport.publish(numbered("t", 2))
    assert seen == [(b"0", False), (b"1", False), (b"0", True), (b"1", True)]


async def test_nobody_listening_is_an_error_that_names_the_url() -> None:
    url = f"mqtt://127.0.0.1:{free_port()}"
    transport = MqttTransport(url, quick_options(connect_timeout=0.2), Recorder())
    with pytest.raises(BrokerUnreachable, match=url):
        await transport.open()


async def test_a_slow_line_is_not_taken_for_a_dead_one() -> None:
    async def script(session: Session) -> None:
        session.slow = 0.02
        await session.accept()
        await session.serve()

    async with scripted_broker(script) as url, opened(url, keep_alive=1) as peer, asyncio.timeout(PATIENCE):
        # Some 3 MB/s at most, so that a ping waits for longer than two spans of the keep-alive.
        await peer.transport.publish([OutboundMessage("t", bytes(1_000_000))] * 8)
        assert not peer.heard.losses
