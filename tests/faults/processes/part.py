"""One part as a process of its own; prints a line when it is ready, and runs until it is killed or gets SIGTERM.

python -m tests.faults.processes.part broker PORT
python -m tests.faults.processes.part scheduler URL PREFIX STORAGE
python -m tests.faults.processes.part worker URL PREFIX WORKER_ID HEARTBEAT_INTERVAL SLOTS
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys

from beskar_jobs import ConnectionSettings, EmbeddedBroker, JobScheduler, JobWorker
from tests.faults.jobs import BusyHandler, NoteHandler


def make(kind: str, *arguments: str) -> EmbeddedBroker | JobScheduler | JobWorker:
    if kind == "broker":
        return EmbeddedBroker(port=int(arguments[0]))
    url, prefix, *rest = arguments
    settings = ConnectionSettings(prefix=prefix)
    if kind == "scheduler":
        return JobScheduler(url, storage=rest[0], settings=settings)
    worker_id, interval, slots = rest
    return JobWorker(
        url,
        handlers=[NoteHandler, BusyHandler],
        worker_id=worker_id,
        heartbeat_interval=float(interval),
        max_concurrency=int(slots),
        settings=settings,
    )


async def main() -> None:
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with make(*sys.argv[1:]) as part:
        sys.stdout.write(f"{part.url if isinstance(part, EmbeddedBroker) else 'ready'}\n")
        sys.stdout.flush()
        await stopped.wait()


logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
asyncio.run(main())
