"""A cluster of real sessions under random faults, in simulated time. Every seed is one history.

A failing seed is printed; ``run_one(seed)`` plays the very same history again.
"""

from __future__ import annotations

import random

import pytest

from beskar_jobs.core import lanes
from beskar_jobs.core.scheduling import dispatching, session
from tests.core.simulation import Cluster, Faults

SEEDS_PER_CHUNK = 30
CHUNKS = 10


def faults_of(seed: int) -> Faults:
    """Each seed its own kind of bad day."""
    rng = random.Random(-seed)
    return Faults(
        until=15.0,
        lost=rng.choice([0.0, 0.02, 0.2]),
        doubled=rng.choice([0.0, 0.05, 0.3]),
        lag=rng.choice([0.002, 0.05, 1.0]),
        worker_crashes=rng.choice([0, 1, 4]),
        worker_cuts=rng.choice([0, 1, 4]),
        scheduler_crashes=rng.choice([0, 0, 1, 3]),
        scheduler_sleeps=rng.choice([0, 0, 2]),
        drains=rng.choice([0, 0, 2]),
        cancels=rng.choice([0.0, 0.3]),
        unstoppable=0.05,
    )


def run_one(seed: int, jobs: int = 24) -> Cluster:
    """The whole history of *seed*."""
    faults = faults_of(seed)
    cluster = Cluster(seed, faults, jobs=jobs)
    try:
        cluster.run()
        cluster.verify()
    except Exception as problem:
        raise AssertionError(f"seed {seed} at {cluster.time:.3f} s, {faults}: {problem}") from problem
    return cluster


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_whatever_happens_every_job_ends_once(chunk: int) -> None:
    for seed in range(chunk * SEEDS_PER_CHUNK, (chunk + 1) * SEEDS_PER_CHUNK):
        run_one(seed)


@pytest.mark.parametrize("chunk", range(2))
def test_nothing_changes_when_memory_holds_only_a_few_of_the_waiting_jobs(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "HEAD_LIMIT", 6)
    monkeypatch.setattr(dispatching, "REFILL", 3)
    monkeypatch.setattr(session, "DUE_LIMIT", 2)
    for seed in range(1000 + chunk * 15, 1000 + (chunk + 1) * 15):
        run_one(seed, jobs=60)


@pytest.mark.parametrize("seed", range(10))
def test_on_a_good_day_nothing_is_said_or_done_twice(seed: int) -> None:
    cluster = Cluster(seed, Faults(until=10.0), jobs=60)
    cluster.run()
    cluster.verify()
    counters = cluster.session.counters
    assert cluster.rejections == 0
    assert counters["claims repeated"] == 0
    assert counters["writes refused"] == 0
    assert counters["attempts lost"] == 0
    assert counters["late ends refused"] == 0
    assert len(cluster.started) == sum(job.fence for job in cluster.storage.jobs.values())
    assert all(job.crashes == 0 for job in cluster.storage.jobs.values())
