"""A client that speaks packets over a real connection, one at a time."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TypeVar

import mqtt5
from mqtt5 import ConnectPacket, PublishPacket, QoS, SubscribePacket, TopicFilter

BOUND = 30.0
P = TypeVar("P")


class Dialed:
    """One connection to a broker on the loopback address."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer, self._data = reader, writer, b""
        self.session_present = False

    @classmethod
    async def dial(cls, port: int) -> Dialed:
        """A connection on which nothing was said yet."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    @classmethod
    async def connect(cls, port: int, client_id: str, *, lasting: int = 0, fresh: bool = False) -> Dialed:
        """A client that is let in; its session lasts *lasting* seconds beyond its connection."""
        dialed = await cls.dial(port)
        packet = ConnectPacket(client_id, clean_start=fresh, session_expiry_interval=lasting)
        connack = await dialed.ask(packet, mqtt5.ConnAckPacket)
        assert int(connack.reason_code) == 0
        dialed.session_present = connack.session_present
        return dialed

    async def __aenter__(self) -> Dialed:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.drop()

    def drop(self) -> None:
        self._writer.transport.abort()

    def send(self, packet: mqtt5.Packet) -> None:
        self.write(packet.write())

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    async def answer(self, packet: mqtt5.Packet) -> mqtt5.Packet:
        """Send *packet*; whatever comes next."""
        self.send(packet)
        return await self.any()

    async def ask(self, packet: mqtt5.Packet, kind: type[P]) -> P:
        """Send *packet*; the answer, which is a *kind*."""
        self.send(packet)
        return await self.next(kind)

    async def next(self, kind: type[P]) -> P:
        packet = await self.any()
        assert isinstance(packet, kind), packet
        return packet

    async def any(self) -> mqtt5.Packet:
        async with asyncio.timeout(BOUND):
            while True:
                try:
                    packet, used = mqtt5.read(memoryview(self._data))
                except IndexError:
                    more = await self._reader.read(65_536)
                    if not more:
                        raise EOFError from None
                    self._data += more
                else:
                    self._data = self._data[used:]
                    return packet

    async def subscribe(self, *filters: str, identifier: int | None = None, **options: object) -> list[int]:
        wanted = [TopicFilter(text, **options) for text in filters]  # type: ignore[arg-type]  # the codec checks them
        answer = await self.ask(SubscribePacket(1, wanted, subscription_id=identifier), mqtt5.SubAckPacket)
        return [int(code) for code in answer.reason_codes]

    async def publish(self, topic: str, payload: bytes = b"x", **options: object) -> int:
        """Publish at QoS 1; the reason code of the acknowledgement."""
        packet = PublishPacket(topic, payload, qos=QoS.AT_LEAST_ONCE, packet_id=7, **options)  # type: ignore[arg-type]  # as above
        return int((await self.ask(packet, mqtt5.PubAckPacket)).reason_code)

    async def heard(self) -> PublishPacket:
        """The next message; acknowledged, if that is asked for."""
        message = await self.next(PublishPacket)
        if message.packet_id is not None:
            self.send(mqtt5.PubAckPacket(message.packet_id))
        return message

    async def round_trip(self) -> None:
        """Until the broker has handled all that was sent before."""
        await self.ask(mqtt5.PingReqPacket(), mqtt5.PingRespPacket)
