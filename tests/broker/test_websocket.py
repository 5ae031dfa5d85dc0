"""MQTT over WebSocket: who is let in, and how bytes are cut into frames."""

from __future__ import annotations

import mqtt5
import pytest
from mqtt5 import ConnectPacket, PublishPacket
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin, Subprotocol

from beskar_jobs.broker import EmbeddedBroker

MQTT = [Subprotocol("mqtt")]
CONNECT = ConnectPacket("c").write()


async def knock(url: str, origin: str | None = None, protocols: list[Subprotocol] | None = None) -> int:
    """The HTTP status of a handshake."""
    asked = None if origin is None else Origin(origin)
    try:
        async with connect(
            url, origin=asked, subprotocols=MQTT if protocols is None else protocols or None, proxy=None
        ):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


async def answer(client: ClientConnection) -> mqtt5.Packet:
    data = await client.recv()
    assert isinstance(data, bytes)
    return mqtt5.read(memoryview(data))[0]


async def test_pages_of_other_sites_are_not_served() -> None:
    async with EmbeddedBroker(listeners=["ws://127.0.0.1:0"]) as broker:
        assert await knock(broker.url) == 101
        assert await knock(broker.url, f"http://127.0.0.1:{broker.port}") == 101
        for origin in ("http://evil.example", f"http://127.0.0.1:{broker.port + 1}", "null"):
            assert await knock(broker.url, origin) == 403


async def test_another_path_and_another_protocol_are_refused() -> None:
    async with EmbeddedBroker(listeners=["ws://127.0.0.1:0/bus"]) as broker:
        assert await knock(broker.url) == 101
        assert await knock(broker.url.replace("/bus", "/mqtt")) == 404
        assert await knock(broker.url, protocols=[]) == 400
        assert await knock(broker.url, protocols=[Subprotocol("chat")]) == 400


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
async def test_packets_may_be_cut_at_any_place(size: int) -> None:
    data = CONNECT + PublishPacket("x", bytes(100), qos=mqtt5.QoS.AT_LEAST_ONCE, packet_id=1).write()
    async with (
        EmbeddedBroker(listeners=["ws://127.0.0.1:0"]) as broker,
        connect(broker.url, subprotocols=MQTT, proxy=None) as client,
    ):
        for piece in _pieces(data, size):
            await client.send(piece)
        got = b""
        while len(got) < 3 or not got.endswith(b"\x40\x03\x00\x01\x10"):
            more = await client.recv()
            assert isinstance(more, bytes)
            got += more


async def test_a_text_frame_ends_the_connection_with_1003() -> None:
    async with (
        EmbeddedBroker(listeners=["ws://127.0.0.1:0"]) as broker,
        connect(broker.url, subprotocols=MQTT, proxy=None) as client,
    ):
        await client.send("hello")
        with pytest.raises(ConnectionClosed) as closed:
            await client.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1003


async def test_before_connect_a_frame_is_small() -> None:
    async with (
        EmbeddedBroker(listeners=["ws://127.0.0.1:0"]) as broker,
        connect(broker.url, subprotocols=MQTT, proxy=None, max_size=None) as client,
    ):
        with pytest.raises(ConnectionClosed):
            await _exchange(client, CONNECT + bytes(8 * 1024 * 1024))


async def test_a_stop_tells_the_client_why() -> None:
    broker = EmbeddedBroker(listeners=["ws://127.0.0.1:0"])
    await broker.start()
    async with connect(broker.url, subprotocols=MQTT, proxy=None) as client:
        await client.send(CONNECT)
        assert isinstance(await answer(client), mqtt5.ConnAckPacket)
        await broker.stop()
        told = await answer(client)
        assert isinstance(told, mqtt5.DisconnectPacket)
        assert int(told.reason_code) == 0x8B


def _pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


async def _exchange(client: ClientConnection, data: bytes) -> None:
    await client.send(data)
    await client.recv()
