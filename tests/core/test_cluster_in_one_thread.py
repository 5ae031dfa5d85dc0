"""A cluster of real sessions under random faults, in simulated time. Every seed is one history.

A failing seed is printed; ``run_one(seed)`` plays the very same history again.
"""

from __future__ import annotations

import random

import pytest

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
    )


def run_one(seed: int) -> Cluster:
    """The whole history of *seed*."""
    faults = faults_of(seed)
    cluster = Cluster(seed, faults, jobs=24)
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
