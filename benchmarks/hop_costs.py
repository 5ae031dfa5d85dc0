"""What each hop of a job costs, in microseconds of CPU per job, without sockets and threads: where speed
is to be had.

One scheduler session and one worker session are driven by hand; every message is encoded and decoded as on the wire;
storage is SQLite, committed hop by hop. The handler's own work is left out.

    python benchmarks/hop_costs.py [--jobs 6400] [--batch 64]
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TypeVar

import attrs
import msgspec
from rich.console import Console
from rich.table import Table

from beskar_jobs.core.scheduling import ReadLane, Reply, SchedulerSession
from beskar_jobs.core.working import WorkerSession
from beskar_jobs.model.job import WorkerId
from beskar_jobs.model.presence import HandlerPolicy
from beskar_jobs.ports.clock import Now
from beskar_jobs.ports.storage import JobStorage
from beskar_jobs.storage import create_storage
from beskar_jobs.wire.messages import (
    MAX_ITEMS,
    AttemptEvent,
    ClaimReply,
    ClaimRequest,
    ControlMessage,
    EnqueueCommand,
    EnqueueItem,
    EnqueueReply,
    EventBatch,
    Message,
    StatusMessage,
    UpdatesMessage,
)
from beskar_jobs.wire.serializer import JsonSerializer
from beskar_jobs.wire.topics import Topics
from beskar_jobs.wire.views import status_update

M = TypeVar("M", bound=Message)


@attrs.frozen
class Args:
    number: int


class Costs:
    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def hop(self, name: str) -> Iterator[None]:
        started = time.process_time()
        yield
        self.seconds[name] += time.process_time() - started


def now() -> Now:
    return Now(datetime.now(UTC), time.monotonic())


class Bench:
    """Client, scheduler and worker, and the costs of what passes between them."""

    def __init__(self, storage: JobStorage, slots: int) -> None:
        self.costs = Costs()
        self.json = JsonSerializer()
        self.storage = storage
        self.scheduler = SchedulerSession("s", Topics(), lambda: 0.0)
        self.scheduler.load(active=[], lanes=[], last_sequence=0, next_due=None, now=now())
        handlers = {"bench.noop": HandlerPolicy()}
        self.worker = WorkerSession(
            WorkerId("w"), "i", queues=(), handlers=handlers, max_concurrency=slots, interval=2.0
        )
        self.worker.connection = 1
        self.scheduler.on_heartbeat(self.worker.heartbeat(), now())
        self.ended = 0

    def decode(self, who: str, data: bytes, kind: type[M]) -> M:
        with self.costs.hop(f"{who}: decode {kind.__name__}"):
            return self.json.decode(data, kind)

    def encode(self, who: str, message: Message) -> bytes:
        with self.costs.hop(f"{who}: encode {type(message).__name__}"):
            return self.json.encode(message)

    async def run(self, jobs: int) -> None:
        with self.costs.hop("client: write arguments"):
            values = [self.json.dump_value(Args(number), Args) for number in range(jobs)]
        with self.costs.hop("client: make the items"):
            items = [
                EnqueueItem(f"{n:032x}", "bench.noop", "bench", msgspec.Raw(value)) for n, value in enumerate(values)
            ]
        for start in range(0, jobs, MAX_ITEMS):
            part = EnqueueCommand(items=items[start : start + MAX_ITEMS], watcher="c")
            command = self.decode("scheduler", self.encode("client", part), EnqueueCommand)
            with self.costs.hop("scheduler: on_enqueue"):
                self.scheduler.on_enqueue(command, Reply("jobs/clients/c/replies", b"1"), now())
        await self.commit()
        while self.ended < jobs:
            with self.costs.hop("scheduler: dispatch"):
                self.scheduler.advance(now())
            await self.read()
            await self.commit()
            self.pass_messages()
            await self.commit()
            with self.costs.hop("scheduler: encode statuses"):
                for item in self.scheduler.outbox.take_statuses(256):
                    self.json.encode(StatusMessage(job=item))
            self.pass_messages()

    async def read(self) -> None:
        for read in self.scheduler.take_reads():
            if isinstance(read, ReadLane):
                with self.costs.hop("storage: read ready jobs"):
                    ready = await self.storage.ready(read.lane, read.limit)
                with self.costs.hop("scheduler: take ready jobs in"):
                    self.scheduler.lane_loaded(read.lane, ready, read.limit)

    async def commit(self) -> None:
        with self.costs.hop("scheduler: take what is pending"):
            batch = self.scheduler.take_batch()
        if batch is not None:
            with self.costs.hop("storage: commit"):
                outcome = await self.storage.commit(batch.commit())
            with self.costs.hop("scheduler: after the commit"):
                self.scheduler.committed(batch, outcome, now())

    def pass_messages(self) -> None:
        with self.costs.hop("scheduler: gather messages"):
            sends = self.scheduler.outbox.take()
        for send in sends:
            data = self.encode("scheduler", send.message)
            match send.message:
                case EnqueueReply():
                    self.decode("client", data, EnqueueReply)
                case UpdatesMessage():
                    self.take_updates(self.decode("client", data, UpdatesMessage))
                case ControlMessage():
                    control = self.decode("worker", data, ControlMessage)
                    with self.costs.hop("worker: obey"):
                        self.worker.on_control(control)
                case ClaimRequest():
                    self.work(self.decode("worker", data, ClaimRequest))

    def take_updates(self, message: UpdatesMessage) -> None:
        with self.costs.hop("client: take updates in, read results"):
            for item in message.jobs:
                update = status_update(item)
                if update.status.is_terminal:
                    self.ended += 1
                    self.json.load_value(update.result or b"null", Args)

    def work(self, request: ClaimRequest) -> None:
        with self.costs.hop("worker: decide on claims"):
            reply, start = self.worker.on_claims("bench", request)
        assert reply is not None
        verdicts = self.decode("scheduler", self.encode("worker", reply), ClaimReply)
        with self.costs.hop("scheduler: on_claim_reply"):
            self.scheduler.on_claim_reply(verdicts, now())
        for claim in start:
            with self.costs.hop("worker: read arguments, write result"):
                value = self.json.load_value(bytes(claim.arguments), Args)
                result = self.json.dump_value(value, Args)
            with self.costs.hop("worker: end the attempt"):
                event = AttemptEvent("succeeded", claim.job_id, claim.fence, result=msgspec.Raw(result))
                self.worker.ended(event, time.monotonic())
        with self.costs.hop("worker: gather events"):
            batches = self.worker.take_events()
        for batch in batches:
            events = self.decode("scheduler", self.encode("worker", batch), EventBatch)
            with self.costs.hop("scheduler: on_events"):
                self.scheduler.on_events(events, now())


async def measure(jobs: int, slots: int, folder: str) -> Costs:
    storage = create_storage(f"sqlite:///{folder}/jobs.db")
    await storage.open()
    bench = Bench(storage, slots)
    await bench.run(jobs)
    await storage.close()
    return bench.costs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=6_400)
    parser.add_argument("--batch", type=int, default=64, help="slots of the worker")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        costs = asyncio.run(measure(options.jobs, options.batch, folder))
    table = Table("hop", "µs per job", title=f"{options.jobs} jobs, {options.batch} at a time")
    totals: defaultdict[str, float] = defaultdict(float)
    for name, seconds in costs.seconds.items():
        micros = seconds / options.jobs * 1e6
        totals[name.partition(":")[0]] += seconds / options.jobs * 1e6
        table.add_row(name, f"{micros:.2f}")
    table.add_section()
    for role, micros in totals.items():
        table.add_row(f"all of {role}", f"{micros:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
