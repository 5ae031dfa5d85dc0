"""A whole system in the event loop of a test: the real broker, scheduler, worker and client, without socket or file.

Handlers run as they do in production: their arguments and results go through JSON, ``def`` runs in a thread, retries
and time-outs hold. It needs the extra ``embedded``, on whose packet codec the in-memory transport stands.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final

from beskar_jobs.client import JobClient
from beskar_jobs.handlers.registry import HandlerItem, HandlerRegistry
from beskar_jobs.ports.clock import Clock
from beskar_jobs.scheduler import JobScheduler
from beskar_jobs.storage.memory import MemoryStorage
from beskar_jobs.transport.memory_broker import MemoryBroker
from beskar_jobs.worker import JobWorker

__all__ = ["cluster"]

_STOP_GRACE: Final = 1.0
"""Seconds that a job has which still runs when the test is over."""


@asynccontextmanager
async def cluster(
    handlers: Iterable[HandlerItem] | HandlerRegistry | None = None,
    *,
    max_concurrency: int = 10,
    clock: Clock | None = None,
) -> AsyncIterator[JobClient]:
    """A system of its own for one test; gives its client, and takes all of it down at the end.

    Example::

        async with cluster(handlers=[MailJobHandler(fake_smtp)]) as client:
            handle = await client.enqueue(MailJobHandler.request(MailArgs("a@example.org")))
            assert await handle.result(timeout=10) is None

    Args:
        handlers: as for :class:`~beskar_jobs.JobWorker`: classes, instances, ``(class, factory)`` pairs, or a registry;
            ``None``: all decorated classes that were imported.
        max_concurrency: attempts that run at the same time at most.
        clock: the time of scheduler and worker; with a :class:`~beskar_jobs.testing.ManualClock` the test moves it, and
            delays, retries and recurring jobs come when it says. The client's own time-outs stay in real time.

    Raises:
        InvalidValue: a handler is none, or cannot be built.
    """
    async with (
        MemoryBroker() as broker,
        JobScheduler(broker, storage=MemoryStorage(), clock=clock),
        JobWorker(broker, handlers=handlers, max_concurrency=max_concurrency, stop_grace=_STOP_GRACE, clock=clock),
        JobClient(broker) as client,
    ):
        yield client
