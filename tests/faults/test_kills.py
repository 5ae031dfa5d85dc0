"""Processes killed, frozen and thawed: nothing is lost, nothing is accepted twice, and it goes on at once."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from beskar_jobs import JobStatus
from beskar_jobs.testing.processes import PartProcess
from tests.e2e.cluster import PATIENCE, eventually, reaches, results
from tests.faults.conftest import Site
from tests.faults.jobs import BusyHandler, Entry


async def test_the_job_of_a_killed_worker_starts_elsewhere_within_two_seconds(site: Site) -> None:
    await site.scheduler()
    client = await site.client()
    workers: dict[int, PartProcess] = {}
    for name in ("w0", "w1"):
        worker = await site.worker(name)
        workers[worker.pid] = worker
    await eventually(client.workers, lambda beats: len(beats) == 2)
    for kill in range(3):
        handle = await client.enqueue(site.note(hold=60))
        first = (await site.until_started(2 * kill + 1))[-1]
        await reaches(handle, JobStatus.RUNNING)
        killed_at = time.monotonic_ns()
        await workers.pop(first.pid).kill()
        second = (await site.until_started(2 * kill + 2))[-1]
        assert second.job_id == first.job_id
        assert second.pid != first.pid
        assert second.at - killed_at < 2e9
        assert await handle.result(PATIENCE) == second.pid
        details = await handle.get()
        assert (details.update.attempt, details.crashes, details.failures) == (2, 1, 0)
        # The next one comes under a fresh id, and under that of the killed one, in turn.
        replacement = await site.worker(f"w{kill + 2}" if kill % 2 else "w0-again")
        workers[replacement.pid] = replacement
        await eventually(client.workers, lambda beats: len(beats) == 2)


async def test_a_worker_killed_and_started_again_under_its_id_at_once_does_its_jobs_again(site: Site) -> None:
    await site.scheduler()
    client = await site.client()
    worker = await site.worker("same")
    handles = await client.enqueue_many([site.note(hold=60) for _ in range(4)])
    await site.until_started(4)
    await worker.kill()
    again = await site.worker("same")
    assert await results(handles) == [again.pid] * 4
    assert sorted(Counter(start.job_id for start in site.starts()).values()) == [2] * 4


async def test_a_killed_scheduler_goes_on_from_its_storage_and_no_job_runs_twice(site: Site) -> None:
    scheduler = await site.scheduler()
    client = await site.client()
    for name in ("w0", "w1"):
        await site.worker(name)
    waiting = await client.enqueue_many([site.note(every=0.02) for _ in range(100)])
    delayed = await client.enqueue(site.note(), delay=0.5)
    for kill in range(2):
        await site.until_started(15 + 30 * kill)
        await scheduler.kill()
        scheduler, more = await asyncio.gather(site.scheduler(), client.enqueue_many([site.note() for _ in range(5)]))
        waiting += more
    handles = [*waiting, delayed]
    assert len(await results(handles, patience=40)) == 111
    starts = Counter(start.job_id for start in site.starts())
    assert set(starts) == {handle.job_id for handle in handles}
    assert set(starts.values()) == {1}
    assert {details.update.attempt for details in await client.find(limit=200)} == {1}


async def test_everything_goes_on_after_the_broker_was_killed_and_came_back_empty(site: Site) -> None:
    await site.scheduler()
    client = await site.client()
    for name in ("w0", "w1"):
        await site.worker(name)
    handles = await client.enqueue_many([site.note(every=0.02) for _ in range(100)])
    for kill in range(3):
        await site.until_started(20 + 20 * kill)
        await site.kill_broker()
        _, more = await asyncio.gather(site.start_broker(), client.enqueue_many([site.note() for _ in range(5)]))
        handles += more
    assert len(await results(handles, patience=40)) == 115
    starts = Counter(start.job_id for start in site.starts())
    assert set(starts) == {handle.job_id for handle in handles}
    assert set(starts.values()) == {1}
    await eventually(client.workers, lambda beats: sum(beat.is_online and not beat.active for beat in beats) == 2)


async def test_a_frozen_scheduler_declares_nobody_dead_when_it_thaws(site: Site) -> None:
    """Frozen for a little, and for much, longer than the deadline of the workers' heartbeats."""
    interval = 0.2
    scheduler = await site.scheduler()
    client = await site.client()
    for name in ("w0", "w1"):
        await site.worker(name, interval)
    await eventually(client.workers, lambda beats: len(beats) == 2)
    handles = await client.enqueue_many([site.note(hold=4.5) for _ in range(4)])
    await site.until_started(4)
    for frozen in (0.65, 0.8, 1.5):
        scheduler.pause()
        await asyncio.sleep(frozen)  # the length of the freeze is the fault itself
        scheduler.resume()
        assert len(await client.workers()) == 2
    await results(handles)
    assert len(site.starts()) == 4
    assert {details.crashes for details in await client.find()} == {0}


async def test_a_frozen_worker_loses_its_jobs_and_its_late_results_are_refused_when_it_thaws(site: Site) -> None:
    await site.scheduler()
    client = await site.client()
    frozen = await site.worker("frozen", 0.2)
    handle = await client.enqueue(BusyHandler.request(Entry(str(site.journal), hold=1.0)))
    await site.until_started(1)
    await reaches(handle, JobStatus.RUNNING)
    frozen.pause()
    other = await site.worker("other", 0.2)
    assert await handle.result(PATIENCE) == other.pid
    frozen.resume()
    # It is of use again once it has given up what it had; its result, when it comes, changes nothing.
    await eventually(
        client.workers, lambda beats: [beat.held for beat in beats] == [(), ()] and not any(b.active for b in beats)
    )
    details = await handle.get()
    assert (details.status, details.update.attempt, details.crashes) == (JobStatus.SUCCEEDED, 2, 1)
    assert details.update.result == str(other.pid).encode()
    assert len(site.starts()) == 2
