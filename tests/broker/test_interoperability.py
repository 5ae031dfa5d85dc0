"""Clients that others have written talk to the embedded broker: mosquitto_pub and mosquitto_sub; many clients."""

from __future__ import annotations

import asyncio
import shutil
from asyncio.subprocess import DEVNULL, PIPE, Process

from beskar_jobs.broker import EmbeddedBroker
from beskar_jobs.testing.broker_bed import Bench, BrokerFixture

BOUND = 30.0


async def start(tool: str, broker: EmbeddedBroker, *options: str, stdin: int = DEVNULL) -> Process:
    program = shutil.which(tool)
    assert program is not None, f"{tool} is not installed; get it with 'apt-get install mosquitto-clients' or the like"
    arguments = ["-h", "127.0.0.1", "-p", str(broker.port), "-V", "mqttv5", *options]
    return await asyncio.create_subprocess_exec(program, *arguments, stdin=stdin, stdout=PIPE)


async def output(process: Process) -> bytes:
    async with asyncio.timeout(BOUND):
        out, _ = await process.communicate()
    assert process.returncode == 0
    return out


async def subscribed(bench: Bench, topic: str) -> None:
    """Return once somebody listens to *topic*."""
    probe = await bench.connect("probe")
    async with asyncio.timeout(BOUND):
        while await probe.publish(topic, b"probe") == 0x10:  # noqa: ASYNC110  # there is nothing to wait for
            await asyncio.sleep(0.02)


async def test_mosquitto_sub_gets_what_mosquitto_pub_publishes_at_every_qos() -> None:
    async with EmbeddedBroker() as broker:
        bench = Bench(BrokerFixture("127.0.0.1", broker.port, "i"))
        reader = await start(
            "mosquitto_sub", broker, "-t", "i/#", "-q", "2", "-T", "i/ready", "-C", "4", "-F", "%q %t %p"
        )
        await subscribed(bench, "ready")
        for qos in "012":
            sender = await start("mosquitto_pub", broker, "-t", f"i/{qos}", "-m", f"payload {qos}", "-q", qos)
            await output(sender)
        properties = ["-D", "publish", "user-property", "k", "v", "-D", "publish", "response-topic", "r"]
        await output(await start("mosquitto_pub", broker, "-t", "i/3", "-m", "with properties", "-q", "1", *properties))
        lines = (await output(reader)).decode().splitlines()
        assert lines == ["0 i/0 payload 0", "1 i/1 payload 1", "2 i/2 payload 2", "1 i/3 with properties"]
        bench.close()


async def test_mosquitto_sub_gets_retained_messages_and_shares_of_a_group() -> None:
    async with EmbeddedBroker() as broker:
        bench = Bench(BrokerFixture("127.0.0.1", broker.port, "i"))
        publisher = await bench.connect("p")
        for number in range(3):
            await publisher.publish(f"kept/{number}", b"%d" % number, retain=True)
        late = await start("mosquitto_sub", broker, "-t", "i/kept/+", "-C", "3", "-F", "%r %p", "-q", "1")
        assert sorted((await output(late)).splitlines()) == [b"1 0", b"1 1", b"1 2"]
        members = [
            await start(
                "mosquitto_sub",
                broker,
                *("-t", "$share/g/i/work", "-t", f"i/ready{number}", "-T", f"i/ready{number}"),
                *("-C", "5", "-q", "1", "-i", f"member{number}"),
            )
            for number in range(2)
        ]
        for number in range(2):
            await subscribed(bench, f"ready{number}")
        for number in range(10):
            await publisher.publish("work", b"%d" % number)
        lines = [line for member in members for line in (await output(member)).split()]
        assert sorted(lines) == sorted(b"%d" % number for number in range(10))
        bench.close()


async def test_two_hundred_clients_each_get_their_messages() -> None:
    async with EmbeddedBroker() as broker:
        bench = Bench(BrokerFixture("127.0.0.1", broker.port, "i"))
        clients = [await bench.connect(f"c{number}", f"own/{number}", "all") for number in range(200)]
        for number, client in enumerate(clients):
            await client.publish(f"own/{(number + 1) % 200}", b"from %d" % number)
        await clients[0].publish("all", b"to all")
        for number, client in enumerate(clients):
            assert await client.payloads() == [b"from %d" % ((number - 1) % 200), b"to all"]
        bench.close()
