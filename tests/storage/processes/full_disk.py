"""A process whose files may not grow beyond a bound: its storage must say so, and go on once there is room again.

    full_disk.py PATH

The bound is the system's own (RLIMIT_FSIZE), so that SQLite meets a real refused write. Prints the error, then whether
the refused commit left a trace, then whether it went through when it was given again.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from datetime import UTC, datetime

from beskar_jobs.model.errors import StorageError
from beskar_jobs.model.job import Job, JobId, JobSpec, JobStatus
from beskar_jobs.ports.storage import Commit
from beskar_jobs.storage.sqlite import SqliteStorage


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def main(path: str) -> None:
    storage = SqliteStorage(path)
    await storage.open()
    now = datetime(2026, 1, 1, tzinfo=UTC)
    jobs = [
        Job(
            JobSpec(JobId(f"job-{number}"), "t", "q", b"x" * 100_000, now, sequence=number),
            JobStatus.ENQUEUED,
            now,
            now,
        )
        for number in range(20)
    ]
    ids = [job.id for job in jobs]
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))
    try:
        await storage.commit(Commit(jobs))
    except StorageError as error:
        say(error)
    say("traces", sum(job is not None for job in await storage.get(ids)))
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await storage.commit(Commit(jobs))
    say("stored", sum(job is not None for job in await storage.get(ids)))
    await storage.close()


asyncio.run(main(sys.argv[1]))
