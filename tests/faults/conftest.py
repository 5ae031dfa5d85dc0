"""Every part a process of its own, over either real broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import attrs
import pytest

from beskar_jobs import ConnectionSettings, JobClient, JobRequest
from beskar_jobs.testing.processes import PartProcess
from beskar_jobs.testing.services import MosquittoServer, free_port
from tests.e2e.cluster import eventually
from tests.faults.jobs import Entry, NoteHandler, Start, read

ROOT = Path(__file__).parents[2]


@attrs.define(eq=False)
class Site:
    """Where the processes of one test run."""

    folder: Path
    prefix: str
    port: int
    mosquitto: MosquittoServer | None = None
    _broker: PartProcess | None = None
    _stack: AsyncExitStack = attrs.field(factory=AsyncExitStack)

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}" if self.mosquitto is None else self.mosquitto.url

    @property
    def journal(self) -> Path:
        return self.folder / "journal"

    @property
    def settings(self) -> ConnectionSettings:
        return ConnectionSettings(prefix=self.prefix)

    def starts(self) -> list[Start]:
        """What the handlers have noted so far, in order of time."""
        return read(self.journal)

    def note(self, hold: float = 0.0, every: float = 0.0) -> JobRequest[Entry, int]:
        return NoteHandler.request(Entry(str(self.journal), hold, every))

    async def until_started(self, count: int) -> list[Start]:
        async def look() -> list[Start]:
            return self.starts()

        return await eventually(look, lambda starts: len(starts) >= count)

    async def start_broker(self) -> None:
        """Bring the broker up, for the first time or again; it comes back empty."""
        if self.mosquitto is not None:
            await asyncio.to_thread(self.mosquitto.start)
        else:
            self._broker = await self.part("broker", str(self.port))

    async def kill_broker(self) -> None:
        if self.mosquitto is not None:
            await asyncio.to_thread(self.mosquitto.kill)
        elif self._broker is not None:
            await self._broker.kill()

    async def part(self, kind: str, *arguments: str) -> PartProcess:
        process = PartProcess(
            ["-m", "tests.faults.processes.part", kind, *arguments], log=self.folder / f"{kind}.log", cwd=ROOT
        )
        return await self._stack.enter_async_context(process)

    async def scheduler(self) -> PartProcess:
        return await self.part("scheduler", self.url, self.prefix, f"sqlite:///{self.folder}/jobs.db")

    async def worker(self, worker_id: str, interval: float = 2.0, slots: int = 4) -> PartProcess:
        return await self.part("worker", self.url, self.prefix, worker_id, str(interval), str(slots))

    async def client(self) -> JobClient:
        return await self._stack.enter_async_context(JobClient(self.url, settings=self.settings, request_timeout=30))

    async def close(self) -> None:
        await self._stack.aclose()


@pytest.fixture(params=["embedded", "mosquitto"])
async def site(request: pytest.FixtureRequest, tmp_path: Path, topic_prefix: str) -> AsyncIterator[Site]:
    """A broker is up; it belongs to this test, which may kill it."""
    mosquitto = MosquittoServer() if request.param == "mosquitto" else None
    site = Site(tmp_path, topic_prefix, free_port(), mosquitto)
    try:
        await site.start_broker()
        yield site
    finally:
        await site.close()
        if mosquitto is not None:
            mosquitto.stop()
