"""What processes do to one SQLite file: share it, die over it, run out of room. All of them are real processes."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from beskar_jobs.model.job import JobId, JobStatus
from beskar_jobs.storage.sqlite import SqliteStorage
from beskar_jobs.testing.storage_bed import make_job, put

PROCESSES = Path(__file__).parent / "processes"
CONTENDERS = 8
ROUNDS = 25


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts programs of the folder ``processes``; none outlives the test."""
    with ExitStack() as stack:

        def start(program: str, *arguments: object) -> subprocess.Popen[str]:
            command = [sys.executable, str(PROCESSES / program), *map(str, arguments)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def finish(process: subprocess.Popen[str]) -> tuple[list[str], str, int]:
    """What else the process prints, its errors, and its return code."""
    assert process.stdout is not None
    assert process.stderr is not None
    lines = process.stdout.read().splitlines()
    return lines, process.stderr.read(), process.wait(timeout=30)


@pytest.mark.parametrize("mode_at_start", ["WAL", "DELETE"])
async def test_processes_share_a_file_without_lock_errors_or_double_changes(
    start: Start, tmp_path: Path, mode_at_start: str
) -> None:
    path = tmp_path / "jobs.db"
    jobs = [make_job(f"job-{number}", sequence=number) for number in range(20)]
    storage = SqliteStorage(path)
    await storage.open()
    await put(storage, *jobs)
    await storage.close()
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute(f"PRAGMA journal_mode = {mode_at_start}")
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM beskar_jobs").fetchall()

    processes = [start("contender.py", path, ROUNDS, *(job.id for job in jobs)) for _ in range(CONTENDERS)]
    assert [read_line(process) for process in processes] == ["opening"] * CONTENDERS
    if mode_at_start == "DELETE":
        # Nobody can write, or turn the log on, while this transaction reads. The processes wait for it to end.
        with (
            closing(sqlite3.connect(path, timeout=0.2, isolation_level=None)) as other,
            pytest.raises(sqlite3.OperationalError, match="locked"),
        ):
            other.execute("PRAGMA journal_mode = WAL")
        reader.execute("COMMIT")
    endings = [finish(process) for process in processes]
    if mode_at_start == "WAL":
        reader.execute("COMMIT")
    reader.close()

    assert [(errors, code) for _, errors, code in endings] == [("", 0)] * CONTENDERS
    wins = Counter(line for lines, _, _ in endings for line in lines)
    assert [win for win, times in wins.items() if times > 1] == []
    await storage.open()
    final = {job.id: job.version for job in await storage.get([job.id for job in jobs]) if job is not None}
    await storage.close()
    assert sorted(wins) == sorted(f"{name} {version}" for name, last in final.items() for version in range(1, last))
    assert len(wins) >= ROUNDS * len(jobs)


async def test_what_a_killed_process_had_committed_is_there(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    process = start("committer.py", path)
    printed = [int(read_line(process)) for _ in range(100)]
    process.send_signal(signal.SIGKILL)
    rest, errors, code = finish(process)
    assert (errors, code) == ("", -signal.SIGKILL)
    printed += map(int, rest)

    storage = SqliteStorage(path)
    await storage.open()
    last = await storage.last_sequence()
    stored = await storage.get([JobId(f"job-{number}") for number in range(1, last + 1)])
    await storage.close()
    assert last >= printed[-1]
    assert [job and job.status for job in stored] == [JobStatus.RUNNING] * (last - 1) + [JobStatus.ENQUEUED]


def test_a_full_disk_is_a_storage_error_that_passes(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    lines, errors, code = finish(start("full_disk.py", path))
    assert (errors, code) == ("", 0)
    said, traces, stored = lines
    assert str(path) in said
    assert "nothing was written" in said
    assert (traces, stored) == ("traces 0", "stored 20")
