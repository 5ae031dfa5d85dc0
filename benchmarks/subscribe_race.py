"""Jobs that end while a client subscribes: whatever the timing, the client gets the end and the result, at once.

In each round a job is enqueued by one client, and another one, which has never heard of it, asks for its result while
it runs or has just ended. A round that takes longer than a second is counted as slow: the last state was not pushed,
and came by some fall-back. The exit code is 1 if there was one, or a wrong result.

    python benchmarks/subscribe_race.py [--rounds 10000] [--at-once 50] [in-memory embedded mosquitto]
"""

from __future__ import annotations

import argparse
import asyncio
import time
from contextlib import AsyncExitStack

import attrs

from beskar_jobs import (
    EmbeddedBroker,
    JobClient,
    JobContext,
    JobHandlerWithResult,
    JobScheduler,
    JobWorker,
    job_handler,
)
from beskar_jobs.testing.services import MosquittoServer
from beskar_jobs.transport.memory_broker import MemoryBroker

SLOW = 1.0
PATIENCE = 60.0


@attrs.frozen
class Number:
    n: int


@job_handler("benchmark.square", queue="benchmark")
class SquareHandler(JobHandlerWithResult[Number, int]):
    async def execute(self, context: JobContext[Number]) -> int:
        return context.arguments.n**2


async def race(broker: str, rounds: int, at_once: int) -> tuple[int, int, float]:
    """How many results were wrong, how many rounds slow, and the longest wait in seconds."""
    async with AsyncExitStack() as stack:
        if broker == "embedded":
            url = (await stack.enter_async_context(EmbeddedBroker())).url
        elif broker == "mosquitto":
            url = stack.enter_context(MosquittoServer()).url
        else:
            memory = await stack.enter_async_context(MemoryBroker())
            url = memory.url
        await stack.enter_async_context(JobScheduler(url))
        await stack.enter_async_context(JobWorker(url, handlers=[SquareHandler], max_concurrency=at_once))
        enqueuer = await stack.enter_async_context(JobClient(url))
        watcher = await stack.enter_async_context(JobClient(url))
        wrong, waits = 0, []

        async def one(number: int) -> bool:
            handle = await enqueuer.enqueue(SquareHandler.request(Number(number)))
            began = time.monotonic()
            result = await watcher.handle(handle.job_id, int).result(PATIENCE)
            waits.append(time.monotonic() - began)
            return bool(result == number**2)

        for start in range(0, rounds, at_once):
            right = await asyncio.gather(*[one(number) for number in range(start, min(start + at_once, rounds))])
            wrong += right.count(False)
        return wrong, sum(wait > SLOW for wait in waits), max(waits)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("brokers", nargs="*", default=["in-memory", "embedded", "mosquitto"])
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--at-once", type=int, default=50)
    options = parser.parse_args()
    print(f"{'broker':<12}{'rounds':>8}{'wrong':>7}{'slow':>6}{'longest s':>11}{'rounds/s':>10}")
    failed = False
    for broker in options.brokers:
        began = time.monotonic()
        wrong, slow, longest = asyncio.run(race(broker, options.rounds, options.at_once))
        rate = options.rounds / (time.monotonic() - began)
        print(f"{broker:<12}{options.rounds:>8}{wrong:>7}{slow:>6}{longest:>11.3f}{rate:>10.0f}", flush=True)
        failed = failed or bool(wrong or slow)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
