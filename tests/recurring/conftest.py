"""Every test of recurring jobs runs on each storage."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from beskar_jobs.ports.storage import JobStorage
from beskar_jobs.storage.memory import MemoryStorage
from beskar_jobs.storage.sqlite import SqliteStorage
from tests.recurring.bed import Bed, open_bed


class KeptOpen:
    """A storage that a scheduler's end does not close, so that a test can go on reading it."""

    def __init__(self, storage: JobStorage) -> None:
        self._storage = storage
        self._opened = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._storage, name)

    async def open(self) -> None:
        self._opened += 1
        await self._storage.open()

    async def close(self) -> None:
        self._opened -= 1
        if not self._opened:
            await self._storage.close()


@pytest.fixture(params=["memory", "sqlite"])
async def bed(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bed]:
    storage = MemoryStorage() if request.param == "memory" else SqliteStorage(tmp_path / "jobs.db")
    async with open_bed(KeptOpen(storage)) as bed:  # type: ignore[arg-type]  # passes everything on
        yield bed
