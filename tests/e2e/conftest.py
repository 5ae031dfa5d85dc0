"""The cluster of every end-to-end test, over each broker and each storage in turn."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from beskar_jobs import EmbeddedBroker
from beskar_jobs.ports.storage import JobStorage
from beskar_jobs.storage.memory import MemoryStorage
from beskar_jobs.testing.services import MosquittoServer
from beskar_jobs.transport.memory_broker import MemoryBroker
from tests.e2e.cluster import Cluster


@pytest.fixture(params=["in-memory", "embedded", "mosquitto"])
def broker_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["memory", "sqlite"])
def storage_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def cluster(
    request: pytest.FixtureRequest, broker_kind: str, storage_kind: str, topic_prefix: str, tmp_path: Path
) -> AsyncIterator[Cluster]:
    """Nothing runs yet but the broker: ``await cluster.start(handlers…)``."""
    storage = _storage(storage_kind, tmp_path)
    if broker_kind == "mosquitto":
        server: MosquittoServer = request.getfixturevalue("mosquitto")
        cluster = Cluster(server.url, topic_prefix, storage)
        try:
            yield cluster
        finally:
            await cluster.close()
    elif broker_kind == "embedded":
        async with EmbeddedBroker() as broker:
            cluster = Cluster(broker.url, topic_prefix, storage)
            try:
                yield cluster
            finally:
                await cluster.close()
    else:
        async with MemoryBroker() as memory:
            cluster = Cluster(memory.url, topic_prefix, storage, memory)
            try:
                yield cluster
            finally:
                await cluster.close()


def _storage(kind: str, folder: Path) -> Callable[[], str | JobStorage]:
    if kind == "sqlite":
        return lambda: f"sqlite:///{folder}/jobs.db"
    memory = MemoryStorage()
    return lambda: memory
