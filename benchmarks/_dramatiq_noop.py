"""The peer's side of the throughput benchmark: the same job in Dramatiq on Redis, results stored in Redis."""

from __future__ import annotations

import os

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

URL = os.environ["BENCH_REDIS_URL"]
backend = RedisBackend(url=URL)
broker = RedisBroker(url=URL)  # type: ignore[no-untyped-call]  # its constructor is not annotated
broker.add_middleware(Results(backend=backend))  # type: ignore[no-untyped-call]  # nor is this one's
dramatiq.set_broker(broker)


@dramatiq.actor(store_results=True)
def noop(number: int) -> dict[str, int]:
    return {"number": number}
