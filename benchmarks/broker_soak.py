"""The embedded broker under attack and in long use: the figures behind what is said of it.

* ``attack``: random bytes and mutated packets, each over a connection of its own to a real broker in a process of its
  own, while a bystander measures its round trips at QoS 1.
* ``churn``: an hour of clients that come, subscribe, publish, and drop, ten a second, in simulated time; memory by
  tracemalloc.

    python benchmarks/broker_soak.py [--packets 100000] [--minutes 60]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from pathlib import Path

import mqtt5
from mqtt5 import ConnectPacket, PublishPacket, QoS, SubscribePacket, TopicFilter

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from broker_flood import Server, embedded  # noqa: E402  # found through the path above

from tests.broker.core_bed import CoreBed  # noqa: E402
from tests.broker.soak import Attack, churn  # noqa: E402

ATTACKERS = 8


async def strike(server: Server, attack: Attack) -> int:
    """One connection that sends hostile bytes; how many pieces it could send."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    pieces = 0
    try:
        if attack.connected():
            writer.write(ConnectPacket("", clean_start=True).write())
            await reader.read(1000)
        for _ in range(5):
            writer.write(attack.bytes())
            pieces += 1
            await writer.drain()
            if reader.at_eof():
                break
            await asyncio.sleep(0)
    except ConnectionError:
        pass
    finally:
        writer.transport.abort()
    return pieces


async def bystand(server: Server, stop: asyncio.Event) -> list[float]:
    """Round trips of a client that publishes to itself, in seconds, sorted."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    data = b""

    async def until(kind: type) -> mqtt5.Packet:
        nonlocal data
        while True:
            try:
                packet, used = mqtt5.read(memoryview(data)) if len(data) > 1 else (None, 0)
            except IndexError:
                packet, used = None, 0
            if packet is None:
                more = await asyncio.wait_for(reader.read(65_536), 10)
                assert more, "the bystander was cut off"
                data += more
                continue
            data = data[used:]
            if isinstance(packet, kind):
                return packet

    writer.write(ConnectPacket("bystander", clean_start=True).write())
    await until(mqtt5.ConnAckPacket)
    writer.write(SubscribePacket(1, [TopicFilter("bystander/topic", max_qos=QoS.AT_LEAST_ONCE)]).write())
    await until(mqtt5.SubAckPacket)
    times: list[float] = []
    while not stop.is_set():
        start = time.perf_counter()
        writer.write(PublishPacket("bystander/topic", b"x" * 200, qos=QoS.AT_LEAST_ONCE, packet_id=1).write())
        message = await until(PublishPacket)
        times.append(time.perf_counter() - start)
        assert isinstance(message, PublishPacket)
        writer.write(mqtt5.PubAckPacket(message.packet_id or 0).write())
        await asyncio.sleep(0.005)
    writer.close()
    return sorted(times)


def memory(server: Server) -> int:
    """Resident KB."""
    with open(f"/proc/{server.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


async def attack(packets: int) -> None:
    with embedded() as server:
        hostile = Attack(seed=2)
        sent = 0

        async def attacker() -> None:
            nonlocal sent
            while sent < packets:
                sent += await strike(server, hostile)

        async def wave(upto: int) -> None:
            nonlocal packets
            packets = upto
            await asyncio.gather(*[attacker() for _ in range(ATTACKERS)])

        goal = packets
        stop = asyncio.Event()
        watch = asyncio.create_task(bystand(server, stop))
        await wave(goal // 2)
        half = memory(server)
        await wave(goal)
        await asyncio.sleep(1)
        stop.set()
        times = await watch
        print(f"{sent:,} hostile pieces; broker memory {half:,} KB at half, {memory(server):,} KB at the end")
        p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
        print(f"bystander: {len(times):,} round trips, p50 {p50 * 1e3:.2f} ms, p99 {p99 * 1e3:.2f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=20_000, help="hostile pieces; 0: no attack")
    parser.add_argument("--minutes", type=int, default=10, help="of churn; 0: none")
    arguments = parser.parse_args()
    if arguments.packets:
        asyncio.run(attack(arguments.packets))
    if arguments.minutes:
        start = time.process_time()
        growth = churn(CoreBed(), minutes=arguments.minutes, warm_up=min(5, arguments.minutes))
        connections = 600 * arguments.minutes
        print(f"{arguments.minutes} simulated minutes, {connections:,} connections: memory {growth:+,} bytes")
        print(f"{time.process_time() - start:.0f} s of CPU")


if __name__ == "__main__":
    main()
