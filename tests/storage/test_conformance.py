"""Every claim of the public storage suite holds for every storage, reached by its URL as an application would."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from beskar_jobs.ports.storage import JobStorage
from beskar_jobs.storage import create_storage
from beskar_jobs.testing.storage_suite import CLAIMS, DURABLE_CLAIMS, Claim, DurableClaim


@pytest.fixture(params=["memory", "sqlite"])
async def storage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[JobStorage]:
    storage = create_storage("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'jobs.db'}")
    await storage.open()
    yield storage
    await storage.close()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
async def test_every_storage(claim: Claim, storage: JobStorage) -> None:
    await claim(storage)


@pytest.mark.parametrize("claim", DURABLE_CLAIMS, ids=lambda claim: claim.__name__)
async def test_sqlite_is_durable_and_shared(claim: DurableClaim, tmp_path: Path) -> None:
    await claim(lambda: create_storage(f"sqlite:///{tmp_path / 'jobs.db'}"))
