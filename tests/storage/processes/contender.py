"""A process that changes the jobs of a SQLite file as fast as it can, while others do; prints what it won.

    contender.py PATH ROUNDS JOB_ID...

It prints ``opening`` first; then, for each change of its own that was applied, the job and the version it was made
over. Losing is part of the game; any error ends the process with a traceback.
"""

from __future__ import annotations

import asyncio
import os
import sys

import attrs

from beskar_jobs.model.job import JobId
from beskar_jobs.ports.storage import Change, Commit
from beskar_jobs.storage.sqlite import SqliteStorage


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def main(path: str, rounds: int, names: list[str]) -> None:
    say("opening")
    storage = SqliteStorage(path, patience=90)
    await storage.open()
    for _ in range(rounds):
        jobs = [job for job in await storage.get([JobId(name) for name in names]) if job is not None]
        changes = [
            Change(job.version, attrs.evolve(job, version=job.version + 1, reason=f"process {os.getpid()}"))
            for job in jobs
        ]
        outcome = await storage.commit(Commit(changes=changes))
        for change, applied in zip(changes, outcome.applied, strict=True):
            if applied:
                say(change.job.id, change.expected_version)
    await storage.close()


asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
