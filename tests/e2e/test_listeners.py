"""The most telling of the engine's faults, over each listener of the embedded broker that is not plain TCP."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import attrs
import pytest
import trustme

from beskar_jobs import ConnectionSettings, EmbeddedBroker, JobClient, JobScheduler, JobStatus, JobWorker, RawRequest
from beskar_jobs.broker import BrokerTls
from beskar_jobs.testing.processes import PartProcess
from tests.e2e.cluster import PATIENCE, eventually, reaches, results
from tests.e2e.jobs import Number, Product, SquareHandler
from tests.faults.jobs import Entry, NoteHandler, read

ROOT = Path(__file__).parents[2]
KINDS = ("mqtts", "ws", "wss", "mqtt+unix")


@attrs.frozen
class Site:
    """A broker with a place of each kind to listen on."""

    broker: EmbeddedBroker
    prefix: str
    folder: Path
    stack: AsyncExitStack

    def url(self, kind: str) -> str:
        return next(url for url in self.broker.urls if url.startswith(f"{kind}://"))

    @property
    def settings(self) -> ConnectionSettings:
        return ConnectionSettings(prefix=self.prefix, connect_timeout=PATIENCE, ca_file=str(self.folder / "ca.pem"))

    async def start(self, kind: str) -> JobClient:
        """A scheduler, and the client; they and what follows come over *kind*."""
        await self.stack.enter_async_context(JobScheduler(self.url(kind), settings=self.settings))
        return await self.stack.enter_async_context(JobClient(self.url(kind), settings=self.settings))

    async def worker_process(self, kind: str) -> PartProcess:
        arguments = ["worker", self.url(kind), self.prefix, kind.replace("+", "-"), "2.0", "1"]
        process = PartProcess(
            ["-m", "tests.faults.processes.part", *arguments],
            log=self.folder / f"{kind}.log",
            cwd=ROOT,
            env={"SSL_CERT_FILE": str(self.folder / "ca.pem")},
        )
        return await self.stack.enter_async_context(process)


@pytest.fixture
async def site(tmp_path: Path, topic_prefix: str) -> AsyncIterator[Site]:
    ca = trustme.CA()
    issued = ca.issue_cert("localhost", "127.0.0.1")
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    issued.private_key_and_cert_chain_pem.write_to_path(tmp_path / "broker.pem")
    places = [f"{kind}://{tmp_path}/b.sock" if "unix" in kind else f"{kind}://127.0.0.1:0" for kind in KINDS]
    tls = BrokerTls(tmp_path / "broker.pem", tmp_path / "broker.pem")
    async with EmbeddedBroker(listeners=places, tls=tls) as broker, AsyncExitStack() as stack:
        yield Site(broker, topic_prefix, tmp_path, stack)


async def test_the_jobs_of_killed_worker_processes_run_elsewhere(site: Site) -> None:
    """One worker over each listener, with one job each; they are killed, and another worker gets all of it."""
    client = await site.start("wss")
    processes = await asyncio.gather(*(site.worker_process(kind) for kind in KINDS))
    await eventually(client.workers, lambda beats: len(beats) == len(KINDS))
    journal = site.folder / "journal"
    handles = [await client.enqueue(NoteHandler.request(Entry(str(journal), 60))) for _ in KINDS]

    async def starts() -> set[int]:
        return {start.pid for start in read(journal)}

    await eventually(starts, lambda pids: pids == {process.pid for process in processes})
    for handle in handles:
        await reaches(handle, JobStatus.RUNNING)
    for process in processes:
        await process.kill()
    await site.stack.enter_async_context(
        JobWorker(site.url("mqtts"), handlers=[NoteHandler], settings=site.settings, stop_grace=2.0)
    )
    for handle in handles:
        assert await handle.result(PATIENCE) == os.getpid()
        details = await handle.get()
        assert (details.update.attempt, details.crashes, details.failures) == (2, 1, 0)


@pytest.mark.parametrize("kind", KINDS)
async def test_jobs_go_on_when_the_broker_comes_back_empty(site: Site, kind: str) -> None:
    client = await site.start(kind)
    await site.stack.enter_async_context(
        JobWorker(site.url(kind), handlers=[SquareHandler], settings=site.settings, stop_grace=2.0)
    )
    before = await client.enqueue_many([SquareHandler.request(Number(n)) for n in range(50)])
    await site.broker.stop()
    await site.broker.start()
    after = await client.enqueue(RawRequest("e2e.square", {"n": 6}, queue="math"))
    assert await results(before) == [Product(n * n) for n in range(50)]
    assert await after.result(PATIENCE) == {"value": 36}
