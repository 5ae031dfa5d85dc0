"""What the claims of :mod:`beskar_jobs.testing.transport_suite` stand on: the fixture, and a listener that records."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final
from uuid import uuid4

import attrs

from beskar_jobs.model.errors import TransportClosed
from beskar_jobs.ports.transport import (
    InboundMessage,
    OutboundMessage,
    Transport,
    TransportListener,
    TransportOptions,
)

__all__ = [
    "PATIENCE",
    "SECRET",
    "Claim",
    "Claims",
    "Peer",
    "Recorder",
    "TransportFixture",
    "connected",
    "expect_closed",
    "numbered",
    "quick_options",
]

PATIENCE: Final = 30.0
"""Seconds that a claim waits for what must come; far more than any machine needs."""

SECRET: Final = "open-sesame"
"""The password in the URL of ``make_unreachable``; it must not show in any text."""

MakeTransport = Callable[[TransportOptions, TransportListener], Transport]


@attrs.frozen
class TransportFixture:
    """What the claims need to know of a transport and its broker.

    Attributes:
        prefix: stands before every topic; another one for each claim.
        make: a transport to the broker, not open yet. It may add to the options (a CA file), not change them.
        make_unreachable: one to an address where nobody answers, with the password :data:`SECRET` in its URL.
        outage: a context in which the broker is away: connections are cut on entering, and nobody answers until it is
            left. What the broker has retained may be lost with it.
        large: bytes of the largest payload that the broker is asked to pass on; less only where the broker, not the
            transport, cannot do a megabyte.
    """

    prefix: str
    make: MakeTransport
    make_unreachable: MakeTransport
    outage: Callable[[], AbstractAsyncContextManager[None]]
    large: int = 1024 * 1024


Claim = Callable[[TransportFixture], Awaitable[None]]


class Claims(list[Claim]):
    """A list of claims, filled by using it as a decorator."""

    def __call__(self, function: Claim) -> Claim:
        @functools.wraps(function)
        async def bounded(fixture: TransportFixture) -> None:
            async with asyncio.timeout(2 * PATIENCE):
                await function(fixture)

        self.append(bounded)
        return function


class Recorder:
    """A listener that keeps all it is told, and lets a test wait for it."""

    def __init__(self) -> None:
        self.connections: list[int] = []
        self.heard_before: list[int] = []
        """How many messages had come when each connection was made."""
        self.losses: list[str] = []
        self.messages: list[InboundMessage] = []
        self.fails_on: bytes | None = None
        self._waiting: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []

    def on_connected(self, connection: int) -> None:
        self.connections.append(connection)
        self.heard_before.append(len(self.messages))
        self._look()

    def on_disconnected(self, reason: str) -> None:
        self.losses.append(reason)
        self._look()

    def on_message(self, message: InboundMessage) -> None:
        self.messages.append(message)
        self._look()
        if message.payload == self.fails_on:
            raise RuntimeError("a listener that fails, on purpose")

    @property
    def payloads(self) -> list[bytes]:
        return [message.payload for message in self.messages]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return once *condition* holds; it is looked at after every call of the transport."""
        if condition():
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((condition, future))
        try:
            async with asyncio.timeout(PATIENCE):
                await future
        except TimeoutError:
            raise AssertionError(
                f"did not come true in {PATIENCE} s; connections {self.connections}, losses {self.losses}, "
                f"{len(self.messages)} messages, the last of them {self.messages[-3:]}"
            ) from None

    async def until_payload(self, payload: bytes) -> None:
        await self.until(lambda: any(message.payload == payload for message in self.messages))

    def _look(self) -> None:
        for condition, future in self._waiting:
            if not future.done() and condition():
                future.set_result(None)
        self._waiting = [pair for pair in self._waiting if not pair[1].done()]


@attrs.frozen
class Peer:
    """A transport that is open, and what it has been told."""

    transport: Transport
    heard: Recorder


@asynccontextmanager
async def connected(fixture: TransportFixture, *filters: str, **options: Any) -> AsyncIterator[Peer]:
    """A peer subscribed to *filters* (below the prefix)."""
    heard = Recorder()
    transport = fixture.make(quick_options(**options), heard)
    await transport.open()
    try:
        if filters:
            await transport.subscribe([f"{fixture.prefix}/{text}" for text in filters])
        yield Peer(transport, heard)
    finally:
        await transport.close()


def quick_options(**options: Any) -> TransportOptions:
    settings: dict[str, Any] = {
        "client_id": f"suite-{uuid4().hex[:12]}",
        "reconnect_cap": 0.5,
        "connect_timeout": PATIENCE,
    }
    return TransportOptions(**(settings | options))


def numbered(topic: str, count: int, **fields: Any) -> list[OutboundMessage]:
    return [OutboundMessage(topic, b"%d" % number, **fields) for number in range(count)]


async def expect_closed(action: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(PATIENCE):
            await action
    except TransportClosed:
        return
    raise AssertionError("it should have raised TransportClosed")
