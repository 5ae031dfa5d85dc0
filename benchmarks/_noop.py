"""The job of the throughput benchmark: does nothing, with a result. And the processes that run it."""

from __future__ import annotations

import asyncio
import signal
import sys

import attrs

from beskar_jobs import JobContext, JobHandlerWithResult, JobScheduler, JobWorker, job_handler


@attrs.frozen
class NoopArgs:
    number: int


@attrs.frozen
class NoopResult:
    number: int


@job_handler("bench.noop", queue="bench")
class NoopJobHandler(JobHandlerWithResult[NoopArgs, NoopResult]):
    async def execute(self, context: JobContext[NoopArgs]) -> NoopResult:
        return NoopResult(context.arguments.number)


async def _run(process: JobScheduler | JobWorker) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with process:
        print("ready", flush=True)
        await stop.wait()


if __name__ == "__main__":
    role, broker, option = sys.argv[1:]
    if role == "scheduler":
        asyncio.run(_run(JobScheduler(broker, storage=option)))
    else:
        asyncio.run(_run(JobWorker(broker, max_concurrency=int(option), worker_id="bench")))
