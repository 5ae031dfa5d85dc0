"""The embedded broker over real sockets, with paho and with raw bytes as clients."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import mqtt5
import paho.mqtt.client as paho
import pytest
from mqtt5 import ConnectPacket, PublishPacket, QoS, SubscribePacket, TopicFilter, Will
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from beskar_jobs.broker import BrokerLimits, EmbeddedBroker

BOUND = 30.0


@pytest.fixture
async def broker() -> AsyncIterator[EmbeddedBroker]:
    async with EmbeddedBroker() as broker:
        yield broker


class Raw:
    """A connection that speaks the codec's packets, without any logic of a client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._data = b""

    @classmethod
    async def dial(cls, broker: EmbeddedBroker) -> Raw:
        return cls(*await asyncio.open_connection("127.0.0.1", broker.port))

    @classmethod
    async def connect(cls, broker: EmbeddedBroker, client_id: str, *filters: str, **options: Any) -> Raw:
        raw = await cls.dial(broker)
        raw.send(ConnectPacket(client_id, clean_start=True, **options))
        assert isinstance(await raw.next(), mqtt5.ConnAckPacket)
        if filters:
            raw.send(SubscribePacket(1, [TopicFilter(text) for text in filters]))
            assert isinstance(await raw.next(), mqtt5.SubAckPacket)
        return raw

    def send(self, *packets: mqtt5.Packet) -> None:
        self.writer.write(b"".join(packet.write() for packet in packets))

    async def next(self) -> mqtt5.Packet:
        async with asyncio.timeout(BOUND):
            while True:
                try:
                    packet, used = mqtt5.read(memoryview(self._data))
                except IndexError:
                    more = await self.reader.read(65_536)
                    if not more:
                        raise EOFError from None
                    self._data += more
                else:
                    self._data = self._data[used:]
                    return packet

    async def message(self) -> PublishPacket:
        packet = await self.next()
        assert isinstance(packet, PublishPacket), packet
        return packet

    async def ends(self) -> int | None:
        """Wait for the end of the connection; the reason in the DISCONNECT before it, if there was one."""
        reason = None
        try:
            while True:
                packet = await self.next()
                if isinstance(packet, mqtt5.DisconnectPacket):
                    reason = int(packet.reason_code)
        except (EOFError, ConnectionError):
            return reason
        finally:
            self.writer.close()

    def reset(self) -> None:
        """Break the connection as a crashed host does, with RST."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


class Paho:
    """A paho client on its own thread; ``until`` waits for what it has heard."""

    def __init__(self, port: int, client_id: str) -> None:
        self.client = paho.Client(CallbackAPIVersion.VERSION2, client_id=client_id, protocol=paho.MQTTv5)
        self.client.max_queued_messages_set(0)
        self.client.max_inflight_messages_set(0)
        self.messages: list[paho.MQTTMessage] = []
        self.subscribed = threading.Event()
        self._heard = threading.Condition()
        self.client.on_message = self._on_message
        self.client.on_subscribe = lambda *_: self.subscribed.set()
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()

    def _on_message(self, _client: paho.Client, _data: Any, message: paho.MQTTMessage) -> None:
        with self._heard:
            self.messages.append(message)
            self._heard.notify_all()

    def subscribe(self, topic_filter: str, qos: int = 1) -> None:
        self.client.subscribe(topic_filter, qos)
        assert self.subscribed.wait(BOUND)

    def until(self, condition: Callable[[], bool]) -> None:
        with self._heard:
            assert self._heard.wait_for(condition, BOUND), f"heard {len(self.messages)} messages"

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


async def test_paho_gets_messages_of_every_qos_with_their_properties(broker: EmbeddedBroker) -> None:
    def run() -> None:
        client = Paho(broker.port, "c")
        client.subscribe("x/#", 2)
        properties: Any = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        properties.ResponseTopic = "answers"
        properties.CorrelationData = b"\xff\x00"
        properties.UserProperty = [("a", "1"), ("a", "2")]
        properties.ContentType = "text/plain"
        for qos in (0, 1, 2):
            client.client.publish("x/y", b"payload", qos, properties=properties).wait_for_publish(BOUND)
        client.until(lambda: len(client.messages) == 3)
        for qos, message in enumerate(client.messages):
            got: Any = message.properties
            assert (message.qos, message.payload, message.retain) == (qos, b"payload", False)
            assert (got.ResponseTopic, got.CorrelationData, got.ContentType) == ("answers", b"\xff\x00", "text/plain")
            assert got.UserProperty == [("a", "1"), ("a", "2")]
        client.close()

    await asyncio.to_thread(run)


async def test_ten_thousand_retained_topics_reach_one_late_subscriber(broker: EmbeddedBroker) -> None:
    def run() -> None:
        publisher = Paho(broker.port, "p")
        for i in range(10_000):
            publisher.client.publish(f"status/{i}", b"%d" % i, retain=True)
        publisher.client.publish("end", b"", 1).wait_for_publish(60)
        late = Paho(broker.port, "late")
        late.subscribe("status/+")
        late.until(lambda: len(late.messages) == 10_000)
        assert {message.topic: message.payload for message in late.messages} == {
            f"status/{i}": b"%d" % i for i in range(10_000)
        }
        assert all(message.retain for message in late.messages)
        publisher.close()
        late.close()

    await asyncio.to_thread(run)


@pytest.mark.parametrize("end", ["fin", "rst"])
async def test_will_is_out_within_milliseconds_of_an_abrupt_end(broker: EmbeddedBroker, end: str) -> None:
    watcher = await Raw.connect(broker, "watcher", "will")
    delays = []
    for _ in range(20):
        client = await Raw.connect(broker, "c", will=Will("will", payload=b"gone"))
        start = time.perf_counter()
        if end == "fin":
            client.writer.transport.abort()
        else:
            client.reset()
        assert (await watcher.message()).payload == b"gone"
        delays.append(time.perf_counter() - start)
    # The best of many: a loaded machine delays some of them, and no machine hurries one.
    assert min(delays) < 0.005
    await watcher.close()


async def test_will_is_out_when_the_process_is_killed(broker: EmbeddedBroker) -> None:
    watcher = await Raw.connect(broker, "watcher", "will", "ready")
    code = f"""
        import paho.mqtt.client as paho
        client = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id="c", protocol=paho.MQTTv5)
        client.will_set("will", b"gone", 1)
        client.on_connect = lambda *_: client.publish("ready")
        client.connect("127.0.0.1", {broker.port})
        client.loop_forever()
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)])  # noqa: ASYNC220  # it returns at once
    try:
        assert (await watcher.message()).topic == "ready"
        os.kill(process.pid, signal.SIGKILL)
        assert (await watcher.message()).payload == b"gone"
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)
    await watcher.close()


async def test_keep_alive_lapse_cuts_a_silent_client_off_with_a_reason(broker: EmbeddedBroker) -> None:
    watcher = await Raw.connect(broker, "watcher", "will")
    silent = await Raw.connect(broker, "c", keep_alive=1, will=Will("will", payload=b"gone"))
    start = time.perf_counter()
    assert await silent.ends() == 0x8D
    assert time.perf_counter() - start > 1.4
    assert (await watcher.message()).payload == b"gone"
    await watcher.close()


async def test_taken_over_client_is_told(broker: EmbeddedBroker) -> None:
    first = await Raw.connect(broker, "same")
    second = await Raw.connect(broker, "same", "x")
    assert await first.ends() == 0x8E
    second.send(PublishPacket("x", b"alive"))
    assert (await second.message()).payload == b"alive"
    await second.close()


async def test_stop_tells_every_client_and_start_listens_on_the_same_port_again() -> None:
    broker = EmbeddedBroker()
    await broker.start()
    url = broker.url
    clients = [await Raw.connect(broker, f"c{number}") for number in range(3)]
    await broker.stop()
    assert [await client.ends() for client in clients] == [0x8B] * 3
    with pytest.raises(OSError):  # noqa: PT011  # which one is up to the system
        await Raw.dial(broker)
    await broker.start()
    assert broker.url == url
    await (await Raw.connect(broker, "again")).close()
    await broker.stop()
    await broker.stop()


async def test_stop_is_not_held_up_by_a_client_that_does_not_read() -> None:
    broker = EmbeddedBroker()
    await broker.start()
    stuck = await Raw.connect(broker, "stuck", "x")
    stuck.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a transport of streams reads, too
    publisher = await Raw.connect(broker, "p")
    for _ in range(40):
        publisher.send(PublishPacket("x", bytes(1024 * 1024), qos=QoS.AT_LEAST_ONCE, packet_id=1))
        await publisher.next()
    await asyncio.wait_for(broker.stop(), BOUND)
    stuck.writer.transport.abort()
    publisher.writer.transport.abort()


async def test_slow_reader_does_not_slow_the_others_and_loses_nothing_within_its_bound(broker: EmbeddedBroker) -> None:
    slow = await Raw.connect(broker, "slow", "x")
    slow.writer.transport.pause_reading()  # type: ignore[attr-defined]  # as above
    quick = await Raw.connect(broker, "quick", "x")
    publisher = await Raw.connect(broker, "p")
    for number in range(200):
        publisher.send(PublishPacket("x", number.to_bytes(1) * 100_000))
    assert [(await quick.message()).payload[0] for _ in range(200)] == list(range(200))
    slow.writer.transport.resume_reading()  # type: ignore[attr-defined]  # as above
    assert [(await slow.message()).payload[0] for _ in range(200)] == list(range(200))
    for client in (slow, quick, publisher):
        await client.close()


async def test_peer_that_takes_nothing_is_cut_off() -> None:
    async with EmbeddedBroker(stall_timeout=0.2, limits=BrokerLimits(high_water=10_000)) as broker:
        watcher = await Raw.connect(broker, "watcher", "will")
        stuck = await Raw.connect(broker, "stuck", "x", will=Will("will", payload=b"gone"))
        stuck.writer.transport.pause_reading()  # type: ignore[attr-defined]  # as above
        publisher = await Raw.connect(broker, "p")
        for _ in range(40):  # more than the buffers of the system hold
            publisher.send(PublishPacket("x", bytes(1024 * 1024)))
        assert (await watcher.message()).payload == b"gone"
        for client in (watcher, publisher):
            await client.close()
        stuck.writer.transport.abort()


async def test_hostile_bytes_cost_only_the_connection_that_sent_them(broker: EmbeddedBroker) -> None:
    bystander = await Raw.connect(broker, "bystander", "x")
    for data in (b"\x00" * 100, b"GET / HTTP/1.1\r\n\r\n", b"\x10\xff\xff\xff\xff", os.urandom(5000)):
        hostile = await Raw.dial(broker)
        hostile.writer.write(data)
        hostile.writer.write_eof()
        await hostile.ends()
        await hostile.close()
    bystander.send(PublishPacket("x", b"alive"))
    assert (await bystander.message()).payload == b"alive"
    await bystander.close()


async def test_half_close_after_connect_is_an_abrupt_end(broker: EmbeddedBroker) -> None:
    watcher = await Raw.connect(broker, "watcher", "will")
    client = await Raw.connect(broker, "c", will=Will("will", payload=b"gone"))
    client.writer.write_eof()
    assert (await watcher.message()).payload == b"gone"
    for each in (client, watcher):
        each.writer.transport.abort()


async def test_a_turn_of_the_loop_writes_once_per_peer(broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    subscriber = await Raw.connect(broker, "s", "x")
    publisher = await Raw.connect(broker, "p")
    writes: list[int] = []
    write = asyncio.selector_events._SelectorSocketTransport.write  # type: ignore[attr-defined]  # the only seam there is

    def counting(transport: Any, data: bytes) -> None:
        writes.append(len(data))
        write(transport, data)

    publisher.send(*(PublishPacket("x", bytes(100)) for _ in range(500)))
    monkeypatch.setattr(asyncio.selector_events._SelectorSocketTransport, "write", counting)  # type: ignore[attr-defined]
    for _ in range(500):
        await subscriber.message()
    assert len(writes) < 20
    monkeypatch.undo()
    for client in (subscriber, publisher):
        await client.close()


async def test_unix_socket_serves_and_is_gone_after_stop(tmp_path: Path) -> None:
    path = tmp_path / "broker.sock"
    async with EmbeddedBroker(unix_path=path) as broker:
        assert broker.url == f"mqtt+unix://{path}"
        client = Raw(*await asyncio.open_unix_connection(str(path)))
        client.send(ConnectPacket("c"))
        assert isinstance(await client.next(), mqtt5.ConnAckPacket)
        await client.close()
    assert not path.exists()


async def test_port_in_use_is_an_error(broker: EmbeddedBroker) -> None:
    with pytest.raises(OSError, match="in use"):
        await EmbeddedBroker(port=broker.port).start()


def test_missing_codec_is_an_error_that_tells_what_to_install() -> None:
    code = "import sys; sys.modules['mqtt5'] = None; import beskar_jobs.broker"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=BOUND)
    assert result.returncode == 1
    assert "pip install beskar-jobs[embedded]" in result.stderr
