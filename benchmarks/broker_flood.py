"""How many messages a second a broker moves, and how fast a request is answered.

Floods at QoS 0 and 1: one publisher to one subscriber, 100 publishers to one subscriber, one publisher to 100
subscribers. Requests and responses at QoS 1 with 1 and with 64 in flight.

Runs the embedded broker, in a process of its own, and Mosquitto, one after the other. The client is as thin as can be
(packets encoded beforehand, frames counted by their length), so that the broker is what is measured; on a machine with
two cores the two share it evenly. CPU is the broker's own, user and system, per message delivered.

    python benchmarks/broker_flood.py [--messages 200000] [--payload 200] [--only embedded] [--profile FILE]
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
import signal
import sys
from beskar_jobs.broker import EmbeddedBroker

async def main():
    end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    async with EmbeddedBroker() as broker:
        print(broker.port, flush=True)
        await end.wait()

if len(sys.argv) > 1:
    import cProfile
    cProfile.run("asyncio.run(main())", sys.argv[1])
else:
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
def embedded(profile: str | None = None) -> Iterator[Server]:
    """The embedded broker; *profile*: a file for cProfile's figures of it."""
    command = [sys.executable, "-c", SERVE, *([] if profile is None else [profile])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Server("embedded", int(process.stdout.readline()), process.pid)
    finally:
        process.terminate()
        process.wait(10)


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


async def flood(
    server: Server, qos: int, messages: int, payload: int, *, publishers: int = 1, subscribers: int = 1
) -> tuple[float, float]:
    """Messages per second, and microseconds of the broker's CPU per message, both by messages delivered."""
    topic = "jobs/events/0123456789abcdef"
    each = messages // publishers // subscribers
    packets = [
        PublishPacket(
            topic,
            b"x" * payload,
            qos=QoS.AT_LEAST_ONCE if qos else QoS.AT_MOST_ONCE,
            packet_id=i % 60_000 + 1 if qos else None,
        ).write()
        for i in range(each if qos else 1)
    ]
    header = 3 if len(packets[0]) > 129 else 2
    readers = [Subscriber(len(packets[0]), header + 2 + len(topic) if qos else None) for _ in range(subscribers)]
    writers = [Publisher() for _ in range(publishers)]
    for number, reader in enumerate(readers):
        await dial(server.port, reader, f"subscriber{number}", topic)
    for number, writer in enumerate(writers):
        await dial(server.port, writer, f"publisher{number}")
    window = max(WINDOW // subscribers // publishers, 20)
    batch = min(BATCH, window)
    cpu, start = server.cpu(), time.perf_counter()
    sent = 0
    while (slowest := min(reader.received for reader in readers)) < each * publishers:
        while sent < each and sent - slowest // publishers < window:
            count = min(batch, each - sent)
            data = b"".join(packets[sent : sent + count]) if qos else packets[0] * count
            for writer in writers:
                writer.transport.write(data)
            sent += count
        last = min(readers, key=lambda reader: reader.received)
        last.progress.clear()
        await asyncio.wait_for(last.progress.wait(), 30)
    elapsed = time.perf_counter() - start
    spent = server.cpu() - cpu
    for link in (*readers, *writers):
        link.transport.close()
    delivered = each * publishers * subscribers
    return delivered / elapsed, spent / delivered * 1e6


class Echo(Link):
    """Answers each request, and acknowledges it; or, without *answer*, sees how long the answers took."""

    def __init__(self, answer: str) -> None:
        super().__init__()
        self._answer = answer
        self._rest = b""
        self._identifier = 0
        self.started: dict[bytes, float] = {}
        self.times: list[float] = []
        self.progress = asyncio.Event()

    def on_data(self, data: bytes) -> None:
        self._rest += data
        out: list[bytes] = []
        while len(self._rest) >= 2:
            try:
                packet, used = mqtt5.read(memoryview(self._rest))
            except IndexError:
                break
            self._rest = self._rest[used:]
            if isinstance(packet, PublishPacket):
                out.append(mqtt5.PubAckPacket(packet.packet_id or 0).write())
                correlation = packet.correlation_data or b""
                if self._answer:
                    out.append(self._encode(self._answer, packet.payload, correlation))
                else:
                    self.times.append(time.perf_counter() - self.started.pop(correlation))
                    self.progress.set()
        if out:
            self.transport.write(b"".join(out))

    def ask_for(self, topic: str, payload: bytes, number: int) -> None:
        correlation = number.to_bytes(8)
        self.started[correlation] = time.perf_counter()
        self.transport.write(self._encode(topic, payload, correlation))

    def _encode(self, topic: str, payload: bytes, correlation: bytes) -> bytes:
        self._identifier = self._identifier % 60_000 + 1
        return PublishPacket(
            topic, payload, qos=QoS.AT_LEAST_ONCE, packet_id=self._identifier, correlation_data=correlation
        ).write()


async def request_response(server: Server, rounds: int, payload: int, in_flight: int) -> tuple[list[float], float]:
    """Seconds of each round trip at QoS 1, sorted; and round trips per second."""
    worker, client = Echo("replies"), Echo("")
    await dial(server.port, worker, "worker", "requests")
    await dial(server.port, client, "client", "replies")
    asked = 0
    start = time.perf_counter()
    while len(client.times) < rounds:
        while asked < rounds and len(client.started) < in_flight:
            client.ask_for("requests", b"x" * payload, asked)
            asked += 1
        client.progress.clear()
        await asyncio.wait_for(client.progress.wait(), 30)
    elapsed = time.perf_counter() - start
    worker.transport.close()
    client.transport.close()
    return sorted(client.times), rounds / elapsed


async def measure(server: Server, messages: int, payload: int) -> None:
    for publishers, subscribers in ((1, 1), (100, 1), (1, 100)):
        for qos in (0, 1):
            await flood(server, qos, messages // 10, payload, publishers=publishers, subscribers=subscribers)  # warm
            rate, cpu = await flood(server, qos, messages, payload, publishers=publishers, subscribers=subscribers)
            print(
                f"{server.name:10} {publishers:3} to {subscribers:3}  QoS {qos}  {rate:9,.0f} messages/s"
                f"   {cpu:5.1f} us of broker CPU per message",
                flush=True,
            )
    for in_flight in (1, 64):
        times, rate = await request_response(server, messages // 50, payload, in_flight)
        p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
        print(
            f"{server.name:10} request/response, QoS 1, {in_flight:2} in flight"
            f"   p50 {p50 * 1e3:.3f} ms   p99 {p99 * 1e3:.3f} ms   {rate:,.0f} per second",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--payload", type=int, default=200)
    parser.add_argument("--only", choices=["embedded", "mosquitto"])
    parser.add_argument("--profile", help="write cProfile's figures of the embedded broker to this file")
    arguments = parser.parse_args()
    if arguments.only != "mosquitto":
        with embedded(arguments.profile) as server:
            asyncio.run(measure(server, arguments.messages, arguments.payload))
    if arguments.only != "embedded" and arguments.profile is None:
        with mosquitto() as server:
            asyncio.run(measure(server, arguments.messages, arguments.payload))


if __name__ == "__main__":
    main()
