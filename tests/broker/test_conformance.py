"""Every claim of the public transport suite holds for the in-memory transport, and for paho on the embedded broker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from beskar_jobs.broker import EmbeddedBroker
from beskar_jobs.testing.transport_suite import CLAIMS, SECRET, Claim, TransportFixture
from beskar_jobs.transport import create_transport
from beskar_jobs.transport.memory import MemoryBroker


@pytest.fixture
async def memory() -> AsyncIterator[TransportFixture]:
    async with MemoryBroker() as broker:

        @asynccontextmanager
        async def outage() -> AsyncIterator[None]:
            broker.stop()
            try:
                yield
            finally:
                broker.restart(keep_retained=False)

        yield TransportFixture(
            prefix=f"suite/{uuid4().hex}",
            make=lambda options, listener: create_transport(broker.url, options, listener),
            make_unreachable=lambda options, listener: create_transport(
                f"memory://user:{SECRET}@nowhere", options, listener
            ),
            outage=outage,
        )


@pytest.fixture
async def embedded() -> AsyncIterator[TransportFixture]:
    async with EmbeddedBroker() as broker:

        @asynccontextmanager
        async def outage() -> AsyncIterator[None]:
            await broker.stop()
            try:
                yield
            finally:
                await broker.start()

        yield TransportFixture(
            prefix=f"suite/{uuid4().hex}",
            make=lambda options, listener: create_transport(broker.url, options, listener),
            make_unreachable=lambda options, listener: create_transport(
                f"mqtt://user:{SECRET}@127.0.0.1:1", options, listener
            ),
            outage=outage,
        )


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
async def test_in_memory(claim: Claim, memory: TransportFixture) -> None:
    await claim(memory)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
async def test_paho_on_the_embedded_broker(claim: Claim, embedded: TransportFixture) -> None:
    await claim(embedded)
