"""What the transport costs: messages per second, and CPU time of this process per message, on a Mosquitto on loopback.

``python benchmarks/transport_rate.py [--public-api] [--url URL] [--count N]``

* publish-many: ``publish`` calls of 1000 messages with a retained status each, as the scheduler makes them (QoS 0 with
  Message Expiry), and at QoS 1, awaited;
* receive: the same number of messages to one subscriber, from another process;
* request/response at QoS 1 with ResponseTopic and CorrelationData between two processes, with 1 and 64 in flight.

The broker takes part of the two cores and is often what limits the rate; CPU time per message is what the transport is
to blame for. Each figure is the best of three runs.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from multiprocessing.synchronize import Event
from uuid import uuid4

from beskar_jobs.ports.transport import InboundMessage, OutboundMessage, TransportOptions
from beskar_jobs.testing.services import MosquittoServer
from beskar_jobs.transport.mqtt import MqttTransport

STATUS = b'{"v":1,"status":"RUNNING","progress_percent":50,"message":"encoding a.mov"}' + b" " * 125
RUNS = 3


class Listener:
    def __init__(self, on_message: Callable[[InboundMessage], None] | None = None) -> None:
        self.got = 0
        self._on_message = on_message
        self._target: tuple[int, asyncio.Future[None]] | None = None

    def on_connected(self, connection: int) -> None: ...

    def on_disconnected(self, reason: str) -> None:
        raise SystemExit(f"connection lost: {reason}")

    def on_message(self, message: InboundMessage) -> None:
        self.got += 1
        if self._on_message is not None:
            self._on_message(message)
        if self._target is not None and self.got == self._target[0]:
            self._target[1].set_result(None)

    async def until(self, count: int) -> None:
        if self.got < count:
            self._target = count, asyncio.get_running_loop().create_future()
            await self._target[1]


def options() -> TransportOptions:
    return TransportOptions(client_id=f"bench-{uuid4().hex[:8]}", max_outbound=1_000_000)


async def opened(url: str, fast: bool, listener: Listener) -> MqttTransport:
    transport = MqttTransport(url, options(), listener, fast_path=fast)
    await transport.open()
    return transport


async def measure(name: str, count: int, work: Callable[[], Awaitable[None]]) -> None:
    best_rate, best_cpu = 0.0, float("inf")
    for _ in range(RUNS):
        wall, cpu = time.perf_counter(), time.process_time()
        await work()
        best_rate = max(best_rate, count / (time.perf_counter() - wall))
        best_cpu = min(best_cpu, (time.process_time() - cpu) / count * 1e6)
    print(f"{name:<44} {best_rate:>10,.0f} msgs/s   {best_cpu:>6.2f} µs CPU per message")


def statuses(count: int, qos: int) -> list[OutboundMessage]:
    return [OutboundMessage(f"jobs/status/{n:032x}", STATUS, qos, retain=True, expiry=86400) for n in range(count)]


async def publish_rates(url: str, fast: bool, count: int) -> None:
    transport = await opened(url, fast, Listener())
    for qos in (0, 1):
        messages = statuses(count, qos)

        async def send(messages: list[OutboundMessage] = messages) -> None:
            for start in range(0, count, 1000):
                await transport.publish(messages[start : start + 1000])
            await transport.publish([OutboundMessage("bench/end", b"")])

        await measure(f"publish 1000 at a time, retained, expiry, QoS {qos}", count, send)
    await transport.close()


def flood(url: str, topic: str, count: int, payload: bytes, go: Event) -> None:
    async def run() -> None:
        transport = await opened(url, True, Listener())
        message = OutboundMessage(topic, payload, 0, response_topic="bench/replies", correlation=b"0123456789abcdef")
        for _ in range(RUNS):
            await asyncio.to_thread(go.wait)
            go.clear()
            for start in range(0, count, 1000):
                await transport.publish([message] * min(1000, count - start))
            await transport.publish([OutboundMessage("bench/end", b"")])
        await transport.close()

    asyncio.run(run())


async def receive_rate(url: str, fast: bool, count: int, size: int) -> None:
    listener = Listener()
    transport = await opened(url, fast, listener)
    await transport.subscribe(["bench/in"])
    go = multiprocessing.Event()
    sender = multiprocessing.Process(target=flood, args=(url, "bench/in", count, bytes(size), go), daemon=True)
    sender.start()

    async def receive() -> None:
        target = listener.got + count
        go.set()
        await listener.until(target)

    await measure(f"receive {size} bytes, 2 properties", count, receive)
    sender.join()
    await transport.close()


def echo(url: str, ready: Event) -> None:
    async def run() -> None:
        replies: set[asyncio.Task[None]] = set()

        def answer(message: InboundMessage) -> None:
            assert message.response_topic is not None
            reply = OutboundMessage(message.response_topic, message.payload, correlation=message.correlation)
            task = asyncio.ensure_future(transport.publish([reply]))
            replies.add(task)
            task.add_done_callback(replies.discard)

        transport = await opened(url, True, Listener(answer))
        await transport.subscribe(["bench/ask"])
        ready.set()
        await asyncio.Event().wait()

    asyncio.run(run())


async def round_trips(url: str, fast: bool, in_flight: int, count: int) -> None:
    waiting: dict[bytes, asyncio.Future[None]] = {}

    def answered(message: InboundMessage) -> None:
        assert message.correlation is not None
        waiting.pop(message.correlation).set_result(None)

    transport = await opened(url, fast, Listener(answered))
    await transport.subscribe(["bench/answers"])
    took: list[float] = []
    numbers = iter(range(count))

    async def ask() -> None:
        for number in numbers:
            key = number.to_bytes(8, "big")
            waiting[key] = answer = asyncio.get_running_loop().create_future()
            started = time.perf_counter()
            request = OutboundMessage("bench/ask", STATUS, 1, response_topic="bench/answers", correlation=key)
            await transport.publish([request])
            await answer
            took.append(time.perf_counter() - started)

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*[ask() for _ in range(in_flight)])
    rate = count / (time.perf_counter() - wall)
    spent = (time.process_time() - cpu) / count * 1e6
    took.sort()
    middle, late = statistics.median(took) * 1e3, took[int(len(took) * 0.99)] * 1e3
    print(
        f"round trip, {in_flight:>2} in flight {'':<22} {rate:>10,.0f} pairs/s  {spent:>6.2f} µs CPU per pair, "
        f"p50 {middle:.2f} ms, p99 {late:.2f} ms"
    )
    await transport.close()


async def main(url: str, fast: bool, count: int) -> None:
    await publish_rates(url, fast, count)
    await receive_rate(url, fast, count, 1000)
    await receive_rate(url, fast, count // 20, 50_000)
    ready = multiprocessing.Event()
    server = multiprocessing.Process(target=echo, args=(url, ready), daemon=True)
    server.start()
    await asyncio.to_thread(ready.wait)
    await round_trips(url, fast, 1, count // 20)
    await round_trips(url, fast, 64, count // 2)
    server.terminate()
    server.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--public-api", action="store_true", help="everything through paho's public API")
    parser.add_argument("--url", help="a broker that runs; default: a Mosquitto for the occasion")
    parser.add_argument("--count", type=int, default=40_000)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        broker_url = arguments.url or stack.enter_context(MosquittoServer()).url
        asyncio.run(main(broker_url, not arguments.public_api, arguments.count))
