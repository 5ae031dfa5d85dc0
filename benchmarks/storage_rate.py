"""How fast the storages take jobs in, and change them: jobs a second, and microseconds a job.

Each job is inserted once and changed three times (claimed, started, succeeded), in commits of 1, 16 and 256. *cpu* is
all threads of the process together; *wall* includes the hand-over to the storage's thread; *p50* is one commit's time.
With ``--busy`` the event loop computes all the while, as a loaded scheduler's does.

    python benchmarks/storage_rate.py [--jobs 20000] [--busy] [memory sqlite]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import attrs

from beskar_jobs.model.job import Job, JobId, JobPolicy, JobSpec, JobStatus, WorkerId, WorkerRef
from beskar_jobs.model.retry import Retry
from beskar_jobs.ports.storage import Change, Commit, JobStorage
from beskar_jobs.storage import create_storage

START = datetime(2026, 1, 1, tzinfo=UTC)
ARGUMENTS = b'{"source_file":"/media/incoming/intro.mov","codec":"av1","bitrate":4200000}'
RESULT = b'{"output_path":"/media/done/intro.mkv","size_bytes":73400320}'
POLICY = JobPolicy(Retry(3, delays=(15.0, 60.0, 300.0)), timeout=600.0)
WORKER = WorkerRef(WorkerId("worker-1"), "0197c1f0a8b2")


def new_job(number: int) -> Job:
    at = START + timedelta(milliseconds=number)
    # Ids as clients make them: milliseconds, then chance (here: the same chance in every run).
    name = f"{1_767_225_600_000 + number // 10:012x}{number * 0x9E3779B97F4A7C15F39CC060 % 2**80:020x}"
    spec = JobSpec(JobId(name), "media.video.transcode", "media", ARGUMENTS, at, number)
    return Job(spec, JobStatus.ENQUEUED, at, at)


def claimed(job: Job) -> Job:
    return attrs.evolve(
        job, status=JobStatus.DISPATCHED, version=2, fence=1, attempt=1, worker=WORKER, updated_at=START, policy=POLICY
    )


def started(job: Job) -> Job:
    return attrs.evolve(job, status=JobStatus.RUNNING, version=3, started_at=START, updated_at=START)


def succeeded(job: Job) -> Job:
    return attrs.evolve(
        job, status=JobStatus.SUCCEEDED, version=4, worker=None, result=RESULT, finished_at=START, updated_at=START
    )


def batches(jobs: Sequence[Job], size: int) -> Iterator[Sequence[Job]]:
    for start in range(0, len(jobs), size):
        yield jobs[start : start + size]


async def timed(storage: JobStorage, commits: Sequence[Commit], what: str, size: int, jobs: int) -> None:
    times = []
    wall, cpu = time.perf_counter(), time.process_time()
    for commit in commits:
        before = time.perf_counter()
        outcome = await storage.commit(commit)
        times.append(time.perf_counter() - before)
        if any(outcome.existing) or not all(outcome.applied):
            raise RuntimeError("the storage refused part of a commit that it should have taken whole")
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    p50, p99 = statistics.median(times), sorted(times)[int(len(times) * 0.99)]
    print(
        f"  {what:9} batch {size:4}: {jobs / wall:9,.0f}/s  wall {wall / jobs * 1e6:7.1f} us  "
        f"cpu {cpu / jobs * 1e6:6.1f} us  p50 {p50 * 1e3:7.3f} ms  p99 {p99 * 1e3:7.3f} ms"
    )


async def churn() -> None:
    while True:
        sum(range(10_000))
        await asyncio.sleep(0)


async def measure(url: str, size: int, count: int, *, busy: bool) -> None:
    storage = create_storage(url)
    await storage.open()
    load = asyncio.create_task(churn()) if busy else None
    jobs = [new_job(number) for number in range(1, count + 1)]
    await timed(storage, [Commit(batch) for batch in batches(jobs, size)], "insert", size, count)
    steps: list[tuple[str, Callable[[Job], Job]]] = [("claim", claimed), ("start", started), ("succeed", succeeded)]
    for what, step in steps:
        stepped = [step(job) for job in jobs]
        commits = [Commit(changes=[Change(job.version - 1, job) for job in batch]) for batch in batches(stepped, size)]
        await timed(storage, commits, what, size, count)
        jobs = stepped
    if load is not None:
        load.cancel()
        with suppress(asyncio.CancelledError):
            await load
    await storage.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("storages", nargs="*", default=["memory", "sqlite"])
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 16, 256])
    parser.add_argument("--busy", action="store_true", help="let the event loop compute all the while")
    options = parser.parse_args()
    for name in options.storages:
        print(name)
        for size in options.sizes:
            with tempfile.TemporaryDirectory() as folder:
                url = "memory://" if name == "memory" else f"sqlite:///{Path(folder, 'jobs.db')}"
                asyncio.run(measure(url, size, min(options.jobs, size * 2_000), busy=options.busy))


if __name__ == "__main__":
    main()
