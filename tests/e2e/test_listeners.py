"""The most telling of the engine's faults, over each listener of the embedded broker that is not plain TCP."""

from __future__ import annotations

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
    broker: EmbeddedBroker
    settings: ConnectionSettings
    folder: Path
    stack: AsyncExitStack

    async def start(self) -> JobClient:
        await self.stack.enter_async_context(JobScheduler(self.broker.url, settings=self.settings))
        return await self.stack.enter_async_context(JobClient(self.broker.url, settings=self.settings))

    async def worker_process(self, name: str) -> PartProcess:
        arguments = ["worker", self.broker.url, self.settings.prefix, name, "2.0", "4"]
        process = PartProcess(
            ["-m", "tests.faults.processes.part", *arguments],
            log=self.folder / f"{name}.log",
            cwd=ROOT,
            env={"SSL_CERT_FILE": str(self.folder / "ca.pem")},
        )
        return await self.stack.enter_async_context(process)


@pytest.fixture(params=KINDS)
async def site(request: pytest.FixtureRequest, tmp_path: Path, topic_prefix: str) -> AsyncIterator[Site]:
    ca = trustme.CA()
    issued = ca.issue_cert("localhost", "127.0.0.1")
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    issued.private_key_and_cert_chain_pem.write_to_path(tmp_path / "broker.pem")
    place = f"{request.param}://{tmp_path}/b.sock" if "unix" in request.param else f"{request.param}://127.0.0.1:0"
    tls = BrokerTls(tmp_path / "broker.pem", tmp_path / "broker.pem")
    settings = ConnectionSettings(
        prefix=topic_prefix,
        connect_timeout=PATIENCE,
        ca_file=str(tmp_path / "ca.pem") if request.param in {"mqtts", "wss"} else None,
    )
    async with EmbeddedBroker(listeners=[place], tls=tls) as broker, AsyncExitStack() as stack:
        yield Site(broker, settings, tmp_path, stack)


async def test_the_job_of_a_killed_worker_process_runs_elsewhere(site: Site) -> None:
    client = await site.start()
    workers = {}
    for name in ("w0", "w1"):
        process = await site.worker_process(name)
        workers[process.pid] = process
    await eventually(client.workers, lambda beats: len(beats) == 2)
    journal = site.folder / "journal"
    handle = await client.enqueue(NoteHandler.request(Entry(str(journal), 60)))

    async def starts() -> list[int]:
        return [start.pid for start in read(journal)]

    (first,) = await eventually(starts, lambda pids: len(pids) == 1)
    await reaches(handle, JobStatus.RUNNING)
    await workers[first].kill()
    assert await handle.result(PATIENCE) in set(workers) - {first}
    details = await handle.get()
    assert (details.update.attempt, details.crashes, details.failures) == (2, 1, 0)


async def test_jobs_go_on_when_the_broker_comes_back_empty(site: Site) -> None:
    client = await site.start()
    await site.stack.enter_async_context(
        JobWorker(site.broker.url, handlers=[SquareHandler], settings=site.settings, stop_grace=2.0)
    )
    before = await client.enqueue_many([SquareHandler.request(Number(n)) for n in range(50)])
    await site.broker.stop()
    await site.broker.start()
    after = await client.enqueue(RawRequest("e2e.square", {"n": 6}, queue="math"))
    assert await results(before) == [Product(n * n) for n in range(50)]
    assert await after.result(PATIENCE) == {"value": 36}
