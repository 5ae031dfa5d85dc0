"""A broker that does what a test tells it to, for faults that no real broker can be asked to have."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import mqtt5

Script = Callable[["Session"], Awaitable[None]]


class Session:
    """One connection, from the broker's end."""

    def __init__(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.number = number
        self.reader = reader
        self.writer = writer
        self.slow = 0.0
        """Seconds of rest before each read of 64 KB at most."""
        self._rest = b""

    async def receive(self) -> Any:
        """The next packet."""
        while True:
            try:
                packet, size = mqtt5.read(memoryview(self._rest))
            except IndexError:  # not all of it has come
                await asyncio.sleep(self.slow)
                data = await self.reader.read(65536)
                if not data:
                    raise ConnectionError("the client has gone") from None
                self._rest += data
                continue
            self._rest = self._rest[size:]
            return packet

    def send(self, packet: Any) -> None:
        self.writer.write(packet.write())

    async def accept(self, **limits: Any) -> Any:
        """Take CONNECT and grant it; gives the CONNECT."""
        connect = await self.receive()
        self.send(mqtt5.ConnAckPacket(**limits))
        return connect

    async def serve(self) -> None:
        """Be a well-behaved broker, that has no other client, for as long as the client stays."""
        with contextlib.suppress(ConnectionError):
            while True:
                packet = await self.receive()
                if isinstance(packet, mqtt5.PublishPacket) and packet.packet_id is not None:
                    self.send(mqtt5.PubAckPacket(packet.packet_id))
                elif isinstance(packet, mqtt5.PingReqPacket):
                    self.send(mqtt5.PingRespPacket())
                elif isinstance(packet, mqtt5.DisconnectPacket):
                    return

    def reset(self) -> None:
        """End the connection with RST."""
        sock: socket.socket = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


@asynccontextmanager
async def scripted_broker(script: Script) -> AsyncIterator[str]:
    """Run *script* for each connection; gives the URL. What goes wrong in a script is raised at the end."""
    errors: list[BaseException] = []
    tasks: set[asyncio.Task[None]] = set()
    numbers = iter(range(1, 1_000_000))

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await script(Session(next(numbers), reader, writer))
        except asyncio.CancelledError:
            pass
        except Exception as error:
            errors.append(error)
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(run, "127.0.0.1", 0)
    try:
        yield f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if errors:
        raise errors[0]
