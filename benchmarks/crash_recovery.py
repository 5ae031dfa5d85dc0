"""From the SIGKILL of a worker to the first line of its job's handler in another worker, in milliseconds.

Broker, scheduler (on SQLite) and workers are processes of their own, on one machine, with the settings that users get.
The handler notes the monotonic clock of the machine as the first thing it does; the killer notes it just before the
kill. Each kill is a job of its own; the killed worker is replaced before the next.

    python benchmarks/crash_recovery.py [--kills 30] [embedded mosquitto]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

import attrs

from beskar_jobs import (
    ConnectionSettings,
    EmbeddedBroker,
    JobClient,
    JobContext,
    JobHandler,
    JobScheduler,
    JobWorker,
    job_handler,
)
from beskar_jobs.testing.processes import PartProcess
from beskar_jobs.testing.services import MosquittoServer

PATIENCE = 20.0


@attrs.frozen
class Hold:
    journal: str


def note(journal: str, line: str) -> None:
    with Path(journal).open("a") as file:
        file.write(line)


def lines(journal: Path) -> list[str]:
    return journal.read_text().splitlines() if journal.exists() else []


@job_handler("benchmark.hold", queue="benchmark")
class HoldHandler(JobHandler[Hold]):
    """Says that it was started; the first attempt then waits to be killed."""

    async def execute(self, context: JobContext[Hold]) -> None:
        at = time.monotonic_ns()
        note(context.arguments.journal, f"{at} {context.attempt} {os.getpid()}\n")
        if context.attempt == 1:
            await asyncio.sleep(600)


async def part(kind: str, arguments: list[str]) -> None:
    """The main program of one process."""
    running: EmbeddedBroker | JobScheduler | JobWorker
    if kind == "broker":
        running = EmbeddedBroker()
    elif kind == "scheduler":
        running = JobScheduler(arguments[0], storage=arguments[1])
    else:
        running = JobWorker(arguments[0], handlers=[HoldHandler])
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with running:
        print(running.url if isinstance(running, EmbeddedBroker) else "ready", flush=True)
        await stopped.wait()


async def started(journal: Path, attempt: int) -> tuple[int, int]:
    """When, and in which process, the handler was started for that attempt."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for line in lines(journal):
            at, number, pid = map(int, line.split())
            if number == attempt:
                return at, pid
        await asyncio.sleep(0.002)
    raise TimeoutError(f"attempt {attempt} was not started within {PATIENCE:g} s")


async def measure(broker: str, kills: int) -> list[float]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with AsyncExitStack() as stack:

            async def process(*arguments: str) -> PartProcess:
                program = PartProcess([__file__, "--part", *arguments], log=folder / "log")
                return await stack.enter_async_context(program)

            if broker == "embedded":
                url = (await process("broker")).first_line
            else:
                url = stack.enter_context(MosquittoServer()).url
            await process("scheduler", url, f"sqlite:///{folder}/jobs.db")
            client = await stack.enter_async_context(JobClient(url, settings=ConnectionSettings()))
            workers: dict[int, PartProcess] = {}
            times: list[float] = []
            for kill in range(kills):
                while len(workers) < 2:
                    worker = await process("worker", url)
                    workers[worker.pid] = worker
                while len(await client.workers()) != 2:  # noqa: ASYNC110  # presence can only be asked for
                    await asyncio.sleep(0.01)
                journal = folder / f"journal-{kill}"
                handle = await client.enqueue(HoldHandler.request(Hold(str(journal))))
                _, pid = await started(journal, 1)
                await asyncio.sleep(0.05)  # all is quiet: the start is committed
                killed_at = time.monotonic_ns()
                os.kill(pid, signal.SIGKILL)
                at, _ = await started(journal, 2)
                times.append((at - killed_at) / 1e6)
                await workers.pop(pid).kill()
                await handle.result(PATIENCE)
            return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("brokers", nargs="*", default=["embedded", "mosquitto"])
    parser.add_argument("--kills", type=int, default=30)
    options = parser.parse_args()
    print(f"{'broker':<12}{'kills':>6}{'p50 ms':>9}{'p95 ms':>9}{'max ms':>9}")
    for broker in options.brokers:
        times = sorted(asyncio.run(measure(broker, options.kills)))
        p95 = times[min(len(times) - 1, round(0.95 * len(times)))]
        print(f"{broker:<12}{len(times):>6}{statistics.median(times):>9.1f}{p95:>9.1f}{times[-1]:>9.1f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--part"]:
        asyncio.run(part(sys.argv[2], sys.argv[3:]))
    else:
        main()
