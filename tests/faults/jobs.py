"""Handlers whose every start is on record outside their process: a line in a file, which survives a SIGKILL."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import attrs

from beskar_jobs import JobContext, JobHandlerWithResult, job_handler


@attrs.frozen
class Entry:
    """Arguments of the handlers here.

    Attributes:
        journal: the file to write a line to at each start.
        hold: seconds that the first attempt takes; later ones end at once.
        every: how long each attempt takes besides.
    """

    journal: str
    hold: float = 0.0
    every: float = 0.0


@attrs.frozen(order=True)
class Start:
    """One line of a journal: a handler was started then (monotonic nanoseconds of the machine), there."""

    at: int
    job_id: str
    attempt: int
    pid: int


def write(journal: str, context: JobContext[Entry]) -> None:
    line = f"{time.monotonic_ns()} {context.job_id} {context.attempt} {os.getpid()}\n"
    # One write of a short line to a file opened for appending is whole, whoever else writes.
    handle = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, line.encode())
    finally:
        os.close(handle)


def read(journal: Path) -> list[Start]:
    if not journal.exists():
        return []
    starts = []
    for line in journal.read_text().splitlines():
        at, job_id, attempt, pid = line.split()
        starts.append(Start(int(at), job_id, int(attempt), int(pid)))
    return sorted(starts)


@job_handler("faults.note", queue="faults")
class NoteHandler(JobHandlerWithResult[Entry, int]):
    """Notes its start; returns the process it ran in."""

    async def execute(self, context: JobContext[Entry]) -> int:
        write(context.arguments.journal, context)
        await asyncio.sleep(context.arguments.every)
        if context.attempt == 1:
            await asyncio.sleep(context.arguments.hold)
        return os.getpid()


@job_handler("faults.busy", queue="faults")
class BusyHandler(JobHandlerWithResult[Entry, int]):
    """The same in a thread, which does not heed cancellation."""

    def execute(self, context: JobContext[Entry]) -> int:
        write(context.arguments.journal, context)
        time.sleep(context.arguments.every)
        if context.attempt == 1:
            time.sleep(context.arguments.hold)
        return os.getpid()
