"""How many messages a second a broker moves from one publisher to one subscriber, and how fast a request is answered.

Runs the embedded broker, in a process of its own, and Mosquitto, one after the other. The client is as thin as can be
(packets encoded beforehand, frames counted by their length), so that the broker is what is measured; on a machine with
two cores the two share it evenly. CPU is the broker's own, user and system, per message.

    python benchmarks/broker_flood.py [--messages 200000] [--payload 200]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import attrs
import mqtt5
from mqtt5 import ConnectPacket, PublishPacket, QoS, SubscribePacket, TopicFilter

from beskar_jobs.testing.services import MosquittoServer

WINDOW = 2000  # messages on their way at most; less than any broker's queue
BATCH = 100
SERVE = """
import asyncio
from beskar_jobs.broker import EmbeddedBroker

async def main():
    async with EmbeddedBroker() as broker:
        print(broker.port, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@attrs.frozen
class Server:
    name: str
    port: int
    pid: int

    def cpu(self) -> float:
        """Seconds of CPU used so far."""
        with open(f"/proc/{self.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def embedded() -> Iterator[Server]:
    process = subprocess.Popen([sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Server("embedded", int(process.stdout.readline()), process.pid)
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def mosquitto() -> Iterator[Server]:
    with MosquittoServer() as server:
        yield Server("mosquitto", urlsplit(server.url).port or 0, server.pid)


class Link(asyncio.Protocol):
    """One connection: handshakes through the codec, then everything to ``on_data``."""

    def __init__(self) -> None:
        self._data = b""
        self._arrived = asyncio.Event()
        self.flooding = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.flooding:
            self.on_data(data)
        else:
            self._data += data
            self._arrived.set()

    def on_data(self, data: bytes) -> None:
        raise NotImplementedError

    async def ask(self, packet: ConnectPacket | SubscribePacket) -> None:
        self.transport.write(packet.write())
        while True:
            try:
                _, used = mqtt5.read(memoryview(self._data))
            except IndexError:
                self._arrived.clear()
                await self._arrived.wait()
            else:
                self._data = self._data[used:]
                return


class Subscriber(Link):
    """Counts frames of one length; at QoS 1 it acknowledges each."""

    def __init__(self, frame: int, identifier_at: int | None) -> None:
        super().__init__()
        self.flooding = False
        self._frame = frame
        self._at = identifier_at
        self._rest = b""
        self.received = 0
        self.progress = asyncio.Event()

    def on_data(self, data: bytes) -> None:
        if self._rest:
            data = self._rest + data
        size, at = self._frame, self._at
        whole = len(data) // size
        if at is not None and whole:
            self.transport.write(
                b"".join([b"\x40\x02" + data[i + at : i + at + 2] for i in range(0, whole * size, size)])
            )
        self._rest = data[whole * size :]
        self.received += whole
        self.progress.set()


class Publisher(Link):
    """Ignores what comes: acknowledgements."""

    def on_data(self, data: bytes) -> None:
        pass


async def dial(port: int, link: Link, name: str, *filters: str) -> None:
    await asyncio.get_running_loop().create_connection(lambda: link, "127.0.0.1", port)
    await link.ask(ConnectPacket(name, clean_start=True))
    if filters:
        await link.ask(SubscribePacket(1, [TopicFilter(text) for text in filters]))
    link.flooding = True


async def flood(server: Server, qos: int, messages: int, payload: int) -> tuple[float, float]:
    """Messages per second, and microseconds of the broker's CPU per message."""
    topic = "jobs/events/0123456789abcdef"
    packets = [
        PublishPacket(
            topic,
            b"x" * payload,
            qos=QoS.AT_LEAST_ONCE if qos else QoS.AT_MOST_ONCE,
            packet_id=i % 60_000 + 1 if qos else None,
        ).write()
        for i in range(messages if qos else 1)
    ]
    header = 3 if len(packets[0]) > 129 else 2
    subscriber = Subscriber(len(packets[0]), header + 2 + len(topic) if qos else None)
    publisher = Publisher()
    await dial(server.port, subscriber, "subscriber", topic)
    await dial(server.port, publisher, "publisher")
    cpu, start = server.cpu(), time.perf_counter()
    sent = 0
    while subscriber.received < messages:
        while sent < messages and sent - subscriber.received < WINDOW:
            batch = min(BATCH, messages - sent)
            publisher.transport.write(b"".join(packets[sent : sent + batch]) if qos else packets[0] * batch)
            sent += batch
        subscriber.progress.clear()
        await asyncio.wait_for(subscriber.progress.wait(), 30)
    elapsed = time.perf_counter() - start
    spent = server.cpu() - cpu
    subscriber.transport.close()
    publisher.transport.close()
    return messages / elapsed, spent / messages * 1e6


class Echo(Link):
    """Answers each request, and acknowledges it."""

    def __init__(self, answer: str) -> None:
        super().__init__()
        self._answer = answer
        self._rest = b""
        self.done = asyncio.Event()

    def on_data(self, data: bytes) -> None:
        self._rest += data
        while self._rest:
            try:
                packet, used = mqtt5.read(memoryview(self._rest))
            except IndexError:
                return
            self._rest = self._rest[used:]
            if isinstance(packet, PublishPacket):
                self.transport.write(mqtt5.PubAckPacket(packet.packet_id or 0).write())
                if self._answer:
                    self.publish(self._answer, packet.payload)
                self.done.set()

    def publish(self, topic: str, payload: bytes) -> None:
        self.transport.write(
            PublishPacket(topic, payload, qos=QoS.AT_LEAST_ONCE, packet_id=1, correlation_data=b"12345678").write()
        )


async def request_response(server: Server, rounds: int, payload: int) -> list[float]:
    """Seconds of each round trip at QoS 1, one at a time, sorted."""
    worker, client = Echo("replies"), Echo("")
    await dial(server.port, worker, "worker", "requests")
    await dial(server.port, client, "client", "replies")
    times: list[float] = []
    for _ in range(rounds):
        client.done.clear()
        start = time.perf_counter()
        client.publish("requests", b"x" * payload)
        await client.done.wait()
        times.append(time.perf_counter() - start)
    worker.transport.close()
    client.transport.close()
    return sorted(times)


async def measure(server: Server, messages: int, payload: int) -> None:
    for qos in (0, 1):
        await flood(server, qos, messages // 10, payload)  # warm
        rate, cpu = await flood(server, qos, messages, payload)
        print(f"{server.name:10} QoS {qos}  {rate:9,.0f} messages/s   {cpu:5.1f} us of broker CPU per message")
    times = await request_response(server, 3000, payload)
    p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    print(f"{server.name:10} request/response at QoS 1   p50 {p50 * 1e3:.3f} ms   p99 {p99 * 1e3:.3f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--payload", type=int, default=200)
    arguments = parser.parse_args()
    for start in (embedded, mosquitto):
        with start() as server:
            asyncio.run(measure(server, arguments.messages, arguments.payload))


if __name__ == "__main__":
    main()
