"""One broker, and the schedulers, workers and clients that a test starts on it; everything is stopped at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from typing import Any, Final, TypeVar

import attrs

from beskar_jobs import (
    ConnectionSettings,
    JobClient,
    JobHandle,
    JobHandlerWithResult,
    JobRequest,
    JobScheduler,
    JobStatus,
    JobStatusUpdate,
    JobWorker,
    RawRequest,
)
from beskar_jobs.handlers.registry import HandlerItem
from beskar_jobs.model.details import JobDetails
from beskar_jobs.model.presence import WorkerHeartbeat
from beskar_jobs.ports.storage import JobStorage
from beskar_jobs.ports.transport import InboundMessage, OutboundMessage, Transport, TransportOptions
from beskar_jobs.transport import create_transport
from beskar_jobs.transport.memory_broker import MemoryBroker
from tests.e2e.jobs import Scene

PATIENCE: Final = 20.0
"""Seconds after which something that a test waits for will not come any more."""
T = TypeVar("T")


def play(handler: type[JobHandlerWithResult[Scene, Any]], name: str = "") -> JobRequest[Scene, Any]:
    """A request for one of the handlers that play."""
    return handler.request(Scene(name))


async def within(work: Awaitable[T], patience: float = PATIENCE) -> T:
    async with asyncio.timeout(patience):
        return await work


async def eventually(look: Callable[[], Awaitable[T]], holds: Callable[[T], bool], patience: float = PATIENCE) -> T:
    """What *look* sees once it *holds*; for what can only be asked for, and is not announced."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while True:
        seen = await look()
        if holds(seen):
            return seen
        assert loop.time() < deadline, f"still {seen!r}"
        await asyncio.sleep(0.01)


async def reaches(handle: JobHandle[Any], *statuses: JobStatus, patience: float = PATIENCE) -> JobStatusUpdate:
    """The update with which the job comes to one of *statuses*."""
    async with asyncio.timeout(patience):
        async for update in handle.watch():
            if update.status in statuses:
                return update
    raise AssertionError(f"the job ended without being {statuses}: {handle.latest}")


async def results(handles: Iterable[JobHandle[T]], patience: float = PATIENCE) -> list[T]:
    return await asyncio.gather(*[handle.result(patience) for handle in handles])


class Wire:
    """A bare connection to the broker, for a test that speaks the protocol itself: keeps what it hears."""

    def __init__(self, url: str, prefix: str, name: str) -> None:
        self.prefix = prefix
        self.heard: list[InboundMessage] = []
        self._news = asyncio.Event()
        self.transport: Transport = create_transport(url, TransportOptions(client_id=f"{prefix}-{name}"), self)

    def on_connected(self, connection: int) -> None:
        pass

    def on_disconnected(self, reason: str) -> None:
        pass

    def on_message(self, message: InboundMessage) -> None:
        self.heard.append(message)
        self._news.set()

    async def subscribe(self, *topics: str) -> None:
        await self.transport.subscribe([f"{self.prefix}/{topic}" for topic in topics])

    async def publish(self, topic: str, payload: bytes, **fields: Any) -> None:
        await self.transport.publish([OutboundMessage(f"{self.prefix}/{topic}", payload, **fields)])

    async def until(self, holds: Callable[[InboundMessage], bool], patience: float = PATIENCE) -> InboundMessage:
        """The first message that *holds*, also one heard before."""
        async with asyncio.timeout(patience):
            while True:
                for message in self.heard:
                    if holds(message):
                        return message
                self._news.clear()
                await self._news.wait()

    async def until_heard(self, count: int, patience: float = PATIENCE) -> None:
        async with asyncio.timeout(patience):
            while len(self.heard) < count:
                self._news.clear()
                await self._news.wait()


@attrs.define(eq=False)
class Cluster:
    """See the module.

    Attributes:
        memory: the broker itself, where it is the in-memory one; it takes faults.
        storage: for :meth:`scheduler`: a fresh object over the same stored jobs at every call.
    """

    url: str
    prefix: str
    storage: Callable[[], str | JobStorage]
    memory: MemoryBroker | None = None
    _schedulers: AsyncExitStack = attrs.field(factory=AsyncExitStack)
    _workers: AsyncExitStack = attrs.field(factory=AsyncExitStack)
    _clients: AsyncExitStack = attrs.field(factory=AsyncExitStack)
    _client: JobClient | None = None

    @property
    def settings(self) -> ConnectionSettings:
        return ConnectionSettings(prefix=self.prefix, connect_timeout=PATIENCE)

    @property
    def client(self) -> JobClient:
        """The client that was started first."""
        assert self._client is not None, "start() the cluster, or a client, first"
        return self._client

    async def start(self, *handlers: HandlerItem, **options: Any) -> JobWorker | None:
        """One scheduler, one client, and one worker, if there are *handlers*."""
        await self.scheduler()
        worker = await self.worker(*handlers, **options) if handlers else None
        await self.new_client()
        if handlers:
            await self.until_workers(1)
        return worker

    async def scheduler(self, **options: Any) -> JobScheduler:
        options = {"storage": self.storage(), "settings": self.settings} | options
        return await self._schedulers.enter_async_context(JobScheduler(self.url, **options))

    async def worker(self, *handlers: HandlerItem, **options: Any) -> JobWorker:
        options.setdefault("settings", self.settings)
        options.setdefault("stop_grace", 2.0)
        return await self._workers.enter_async_context(JobWorker(self.url, handlers=handlers, **options))

    async def new_client(self, **options: Any) -> JobClient:
        options = {"settings": self.settings} | options
        client = await self._clients.enter_async_context(JobClient(self.url, **options))
        self._client = self._client or client
        return client

    async def wire(self, name: str = "wire") -> Wire:
        wire = Wire(self.url, self.prefix, name)
        await wire.transport.open()
        self._clients.push_async_callback(wire.transport.close)
        return wire

    async def until_workers(self, count: int) -> list[WorkerHeartbeat]:
        """The workers, once the scheduler sees so many."""
        return await eventually(self.client.workers, lambda workers: len(workers) == count)

    async def until_job(self, job_id: str, holds: Callable[[JobDetails], bool]) -> JobDetails:
        """The stored job, once it *holds*."""
        return await eventually(lambda: self.client.get(job_id), holds)

    async def works(self) -> None:
        """A job sent now is done, where a worker has the ``SquareHandler``."""
        handle = await self.client.enqueue(RawRequest("e2e.square", {"n": 6}, queue="math"))
        assert await handle.result(PATIENCE) == {"value": 36}

    async def close(self) -> None:
        """Clients first and schedulers last: a worker that stops waits until its last results are acknowledged."""
        async with self._schedulers, self._workers, self._clients:
            pass
