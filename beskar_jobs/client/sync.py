"""``SyncJobClient``: the same client for programs without asyncio.

A thread with an event loop of its own holds a :class:`JobClient`; each call is handed over to it and waited for. One
client may be used from several threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from beskar_jobs.client.client import REQUEST_TIMEOUT, JobClient
from beskar_jobs.client.handle import CancelOutcome, JobHandle
from beskar_jobs.client.options import Seconds
from beskar_jobs.client.recurring_sync import SyncRecurringClient
from beskar_jobs.model.details import JobDetails, QueueDetails
from beskar_jobs.model.job import JobId, JobStatus
from beskar_jobs.model.presence import WorkerHeartbeat
from beskar_jobs.model.request import JobRequest
from beskar_jobs.model.retry import Retry
from beskar_jobs.model.updates import JobStatusUpdate
from beskar_jobs.runtime.connection import Broker, ConnectionSettings

R = TypeVar("R")
T = TypeVar("T")

END_TIMEOUT: Final = 10.0


class SyncJobHandle(Generic[R]):
    """A job whose result is an *R*; see :class:`JobHandle`."""

    __slots__ = ("_client", "_handle")

    def __init__(self, client: SyncJobClient, handle: JobHandle[R]) -> None:
        self._client = client
        self._handle = handle

    @property
    def job_id(self) -> JobId:
        return self._handle.job_id

    @property
    def id(self) -> JobId:
        """The same as :attr:`job_id`."""
        return self._handle.job_id

    @property
    def latest(self) -> JobStatusUpdate | None:
        """The latest update that has come in; ``None`` before the first."""
        return self._handle.latest

    def __repr__(self) -> str:
        return repr(self._handle)

    def result(self, timeout: float | None = None) -> R:
        """Wait for the job to end, and return its result; see :meth:`JobHandle.result`."""
        return self._client.run(self._handle.result(timeout))

    def watch(self) -> Iterator[JobStatusUpdate]:
        """The states of the job; see :meth:`JobHandle.watch`."""
        updates = self._handle.watch()
        while (update := self._client.run(_next(updates))) is not None:
            yield update

    def cancel(self, reason: str = "") -> CancelOutcome:
        """Cancel the job; see :meth:`JobClient.cancel`."""
        return self._client.cancel(self.job_id, reason)

    def get(self) -> JobDetails:
        """The job as it is stored now."""
        return self._client.get(self.job_id)


class SyncJobClient(SyncRecurringClient):
    """Enqueues jobs and follows them, blocking. The methods are those of :class:`JobClient`.

    Args: see :class:`JobClient`.
    """

    def __init__(
        self,
        broker: Broker,
        *,
        client_id: str | None = None,
        request_timeout: float = REQUEST_TIMEOUT,
        settings: ConnectionSettings | None = None,
    ) -> None:
        self._client = JobClient(broker, client_id=client_id, request_timeout=request_timeout, settings=settings)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def client_id(self) -> str:
        return self._client.client_id

    def start(self) -> None:
        """Connect; see :meth:`JobClient.start`."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="beskar-client", daemon=True)
        self._thread.start()
        try:
            self.run(self._client.start())
        except BaseException:
            self._end()
            raise

    def stop(self) -> None:
        """Disconnect. Jobs that were enqueued go on."""
        if self._loop is not None:
            self.run(self._client.stop())
            self._end()

    def _end(self) -> None:
        loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(END_TIMEOUT)
            loop.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the asynchronous client, and wait for it."""
        if self._loop is None:
            work.close()
            raise RuntimeError("the client is not started; use 'with SyncJobClient(…)' or start()")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def enqueue(
        self,
        request: JobRequest[Any, R],
        *,
        delay: Seconds | None = None,
        run_at: datetime | None = None,
        queue: str | None = None,
        priority: int | None = None,
        retry: Retry | None = None,
        timeout: Seconds | None = None,
        metadata: Mapping[str, str] | None = None,
        job_id: str | None = None,
    ) -> SyncJobHandle[R]:
        """Enqueue one job; see :meth:`JobClient.enqueue`."""
        return SyncJobHandle(
            self,
            self.run(
                self._client.enqueue(
                    request,
                    delay=delay,
                    run_at=run_at,
                    queue=queue,
                    priority=priority,
                    retry=retry,
                    timeout=timeout,
                    metadata=metadata,
                    job_id=job_id,
                )
            ),
        )

    def enqueue_many(
        self,
        requests: Iterable[JobRequest[Any, R]],
        *,
        delay: Seconds | None = None,
        run_at: datetime | None = None,
        queue: str | None = None,
        priority: int | None = None,
        retry: Retry | None = None,
        timeout: Seconds | None = None,
        metadata: Mapping[str, str] | None = None,
        job_ids: Sequence[str] | None = None,
    ) -> list[SyncJobHandle[R]]:
        """Enqueue many jobs as one; see :meth:`JobClient.enqueue_many`."""
        handles = self.run(
            self._client.enqueue_many(
                requests,
                delay=delay,
                run_at=run_at,
                queue=queue,
                priority=priority,
                retry=retry,
                timeout=timeout,
                metadata=metadata,
                job_ids=job_ids,
            )
        )
        return [SyncJobHandle(self, handle) for handle in handles]

    def handle(self, job_id: str, result_type: Any = Any) -> SyncJobHandle[Any]:
        """The handle of a job that was enqueued elsewhere; see :meth:`JobClient.handle`."""

        async def make() -> JobHandle[Any]:
            return self._client.handle(job_id, result_type)

        return SyncJobHandle(self, self.run(make()))

    def trigger_recurring(self, name: str, *, job_id: str | None = None) -> SyncJobHandle[Any]:
        """Run the recurring job once now; see :meth:`JobClient.trigger_recurring`."""
        return SyncJobHandle(self, self.run(self._client.trigger_recurring(name, job_id=job_id)))

    def get(self, job_id: str) -> JobDetails:
        """The job as it is stored now; see :meth:`JobClient.get`."""
        return self.run(self._client.get(job_id))

    def find(
        self,
        *,
        status: JobStatus | Iterable[JobStatus] | None = None,
        queue: str | None = None,
        job_type: str | None = None,
        limit: int = 100,
        before_sequence: int | None = None,
    ) -> list[JobDetails]:
        """Jobs that match; see :meth:`JobClient.find`."""
        return self.run(
            self._client.find(
                status=status, queue=queue, job_type=job_type, limit=limit, before_sequence=before_sequence
            )
        )

    def cancel(self, job_id: str, reason: str = "") -> CancelOutcome:
        """Cancel a job; see :meth:`JobClient.cancel`."""
        return self.run(self._client.cancel(job_id, reason))

    def workers(self) -> list[WorkerHeartbeat]:
        """The workers that are online."""
        return self.run(self._client.workers())

    def queues(self) -> list[QueueDetails]:
        """The queues that have jobs, and how they stand."""
        return self.run(self._client.queues())


async def _next(updates: Any) -> JobStatusUpdate | None:
    update: JobStatusUpdate | None = await anext(updates, None)
    return update
