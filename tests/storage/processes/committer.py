"""A process that commits for ever, and prints the number of each commit once it has returned; to be killed.

    committer.py PATH

Commit *n* inserts job *n* and marks job *n - 1* as running.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from datetime import UTC, datetime

import attrs

from beskar_jobs.model.job import Job, JobId, JobSpec, JobStatus
from beskar_jobs.ports.storage import Change, Commit
from beskar_jobs.storage.sqlite import SqliteStorage


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def main(path: str) -> None:
    storage = SqliteStorage(path)
    await storage.open()
    now = datetime(2026, 1, 1, tzinfo=UTC)
    before: Job | None = None
    for number in itertools.count(1):
        job = Job(
            JobSpec(JobId(f"job-{number}"), "t", "q", b"x" * 2000, now, sequence=number), JobStatus.ENQUEUED, now, now
        )
        changes = [] if before is None else [Change(1, attrs.evolve(before, version=2, status=JobStatus.RUNNING))]
        outcome = await storage.commit(Commit([job], changes))
        if not all(outcome.applied):
            raise RuntimeError("a change of this process's own job was refused")
        say(number)
        before = job


asyncio.run(main(sys.argv[1]))
