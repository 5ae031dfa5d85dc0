"""What the claims of :mod:`beskar_jobs.testing.broker_suite` stand on: the fixture, and a client that speaks packets.

That nothing has come is seen without waiting: a broker answers PINGREQ behind all it has sent before, and a publisher
that has its PUBACK knows that the message is with every subscriber that takes it.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import attrs
import mqtt5
from mqtt5 import ConnAckPacket, ConnectPacket, Packet, PubAckPacket, PublishPacket, QoS, SubscribePacket, TopicFilter

__all__ = ["PATIENCE", "QOS", "Bench", "BrokerClaim", "BrokerFixture", "Claims", "RawClient"]

PATIENCE: Final = 30.0
"""Seconds that a claim waits for what must come; far more than any machine needs."""

QOS: Final = (QoS.AT_MOST_ONCE, QoS.AT_LEAST_ONCE, QoS.EXACTLY_ONCE)

P = TypeVar("P", bound=Packet)


@attrs.frozen
class BrokerFixture:
    """What the claims need to know of a broker.

    Attributes:
        host: address of a plain TCP listener that lets everybody in.
        port: its port.
        name: stands in every topic and client identifier; one level, another one for each claim.
        stall_timeout: seconds after which the broker takes the work of a stuck member of a shared subscription away.
    """

    host: str
    port: int
    name: str
    stall_timeout: float = 1.0


BrokerClaim = Callable[[BrokerFixture], Awaitable[None]]


class Bench:
    """The clients of one claim; they are closed at its end."""

    def __init__(self, fixture: BrokerFixture) -> None:
        self.fixture = fixture
        self._clients: list[RawClient] = []

    def topic(self, rest: str) -> str:
        return f"{self.fixture.name}/{rest}"

    async def dial(self) -> RawClient:
        reader, writer = await asyncio.open_connection(self.fixture.host, self.fixture.port)
        client = RawClient(self, reader, writer)
        self._clients.append(client)
        return client

    async def connect(self, name: str, *filters: str, qos: int = 1, **options: Any) -> RawClient:
        """A client that is connected, and subscribed to *filters* below the claim's name."""
        client = await self.dial()
        options.setdefault("clean_start", True)
        client.send(ConnectPacket(f"{self.fixture.name}-{name}", **options))
        client.connack = await client.expect(ConnAckPacket)
        if filters:
            await client.subscribe(*filters, qos=qos)
        return client

    def close(self) -> None:
        for client in self._clients:
            client.cut()


class RawClient:
    """A connection that sends and reads packets, and does nothing by itself.

    Attributes:
        connack: the answer to its CONNECT.
    """

    connack: ConnAckPacket

    def __init__(self, bench: Bench, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._bench = bench
        self._reader = reader
        self._writer = writer
        self._data = b""
        self._early: list[PublishPacket] = []

    def send(self, *packets: Packet) -> None:
        self.send_bytes(b"".join(packet.write() for packet in packets))

    def send_bytes(self, data: bytes) -> None:
        self._writer.write(data)

    async def next(self) -> Packet | None:
        """The next packet; ``None`` at the end of the connection."""
        while True:
            if len(self._data) >= 2:
                try:
                    packet, used = mqtt5.read(memoryview(self._data))
                except IndexError:
                    pass  # incomplete
                else:
                    self._data = self._data[used:]
                    return packet
            try:
                async with asyncio.timeout(PATIENCE):
                    more = await self._reader.read(1 << 20)
            except ConnectionError:
                more = b""
            except TimeoutError:
                raise AssertionError(f"nothing came in {PATIENCE} s") from None
            if not more:
                return None
            self._data += more

    async def expect(self, kind: type[P]) -> P:
        """The next packet that is no PUBLISH, which must be of *kind*; messages that come before it are kept."""
        while True:
            packet = await self.next()
            if isinstance(packet, kind):
                return packet
            assert isinstance(packet, PublishPacket), f"{packet} came in place of a {kind.__name__}"
            self._early.append(packet)

    async def messages(self) -> list[PublishPacket]:
        """All messages that the broker has sent before it answers now."""
        self.send(mqtt5.PingReqPacket())
        await self.expect(mqtt5.PingRespPacket)
        messages, self._early = self._early, []
        return messages

    async def payloads(self) -> list[bytes]:
        return [message.payload for message in await self.messages()]

    async def message(self) -> PublishPacket:
        """The one message that comes next, however long it takes."""
        if self._early:
            return self._early.pop(0)
        packet = await self.next()
        assert isinstance(packet, PublishPacket), f"{packet} came in place of a message"
        return packet

    async def work(self) -> list[bytes]:
        """Take messages and acknowledge them, until there are no more."""
        done: list[bytes] = []
        while messages := await self.messages():
            self.acknowledge(messages)
            done += [message.payload for message in messages]
        return done

    def acknowledge(self, messages: list[PublishPacket]) -> None:
        self.send(*[PubAckPacket(message.packet_id) for message in messages if message.packet_id])

    async def subscribe(
        self, *filters: str, qos: int = 1, identifier: int | None = None, **options: Any
    ) -> mqtt5.SubAckPacket:
        """Subscribe to *filters*, which stand below the claim's name unless they start with ``$``."""
        options.setdefault("retain_as_published", False)
        wanted = [TopicFilter(self._full(text), max_qos=QOS[qos], **options) for text in filters]
        self.send(SubscribePacket(11, wanted, subscription_id=identifier))
        return await self.expect(mqtt5.SubAckPacket)

    async def publish(self, topic: str, payload: bytes = b"x", *, qos: int = 1, **options: Any) -> int:
        """Publish below the claim's name; at QoS 1 return the reason code of the PUBACK."""
        packet_id = 7 if qos else None
        self.send(PublishPacket(self._full(topic), payload, qos=QOS[qos], packet_id=packet_id, **options))
        if qos == 1:
            return int((await self.expect(PubAckPacket)).reason_code)
        if qos == 2:
            code = int((await self.expect(mqtt5.PubRecPacket)).reason_code)
            self.send(mqtt5.PubRelPacket(7))
            await self.expect(mqtt5.PubCompPacket)
            return code
        self.send(mqtt5.PingReqPacket())
        await self.expect(mqtt5.PingRespPacket)
        return 0

    async def ended(self) -> int | None:
        """Wait for the end of the connection; the reason in the DISCONNECT before it, if there was one."""
        reason: int | None = None
        while (packet := await self.next()) is not None:
            if isinstance(packet, mqtt5.DisconnectPacket):
                reason = int(packet.reason_code)
        return reason

    async def leave(self, **options: Any) -> None:
        """DISCONNECT, and wait until the broker has closed."""
        self.send(mqtt5.DisconnectPacket(**options))
        await self.ended()

    def cut(self) -> None:
        """Break the connection."""
        self._writer.transport.abort()

    def _full(self, text: str) -> str:
        if text.startswith("$share/"):
            share, _, rest = text.removeprefix("$share/").partition("/")
            return f"$share/{share}/{self._bench.topic(rest)}"
        return text if text.startswith("$") or not text else self._bench.topic(text)


class Claims(list[BrokerClaim]):
    """A list of claims, filled by using it as a decorator."""

    def __call__(self, function: Callable[[Bench], Awaitable[None]]) -> BrokerClaim:
        @functools.wraps(function)
        async def bounded(fixture: BrokerFixture) -> None:
            bench = Bench(fixture)
            try:
                async with asyncio.timeout(2 * PATIENCE):
                    await function(bench)
            finally:
                bench.close()

        self.append(bounded)
        return bounded
