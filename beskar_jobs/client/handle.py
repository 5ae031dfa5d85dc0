"""``JobHandle``: one enqueued job, in the hands of its client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from beskar_jobs.client.feed import JobFeed
from beskar_jobs.model.details import JobDetails
from beskar_jobs.model.errors import JobCancelled, JobFailed, ResultTimeout
from beskar_jobs.model.job import FailureKind, JobFailure, JobId, JobStatus
from beskar_jobs.model.updates import JobStatusUpdate

if TYPE_CHECKING:
    from beskar_jobs.client.client import JobClient

R = TypeVar("R")
CancelOutcome = Literal["cancelled", "requested", "finished"]


class JobHandle(Generic[R]):
    """A job whose result is an *R*."""

    __slots__ = ("_client", "_feed", "_result_type")

    def __init__(self, client: JobClient, feed: JobFeed, result_type: Any) -> None:
        self._client = client
        self._feed = feed
        self._result_type = result_type

    @property
    def job_id(self) -> JobId:
        return self._feed.job_id

    @property
    def id(self) -> JobId:
        """The same as :attr:`job_id`."""
        return self._feed.job_id

    @property
    def latest(self) -> JobStatusUpdate | None:
        """The latest update that has come in; ``None`` before the first."""
        return self._feed.latest

    def __repr__(self) -> str:
        latest = self._feed.latest
        return f"<job {self.job_id}{'' if latest is None else f', {latest.status}'}>"

    async def result(self, timeout: float | None = None) -> R:
        """Wait for the job to end, and return its result.

        Args:
            timeout: seconds to wait at most; ``None``: as long as the job takes.

        Raises:
            JobFailed: it was dead-lettered; ``.failure`` tells why.
            JobCancelled: it was cancelled.
            ResultTimeout: it had not ended in time; it goes on.
            UnknownJob: there is no job with this id (any more).
            ValueNotSerializable: the result does not fit the type that this client expects.
        """
        await self._client.attach(self._feed)
        try:
            async with asyncio.timeout(timeout):
                update = await self._feed.end()
                if update.result_omitted:
                    update = (await self._client.get(self.job_id)).update
        except TimeoutError:
            raise ResultTimeout(
                f"job {self.job_id} has not ended within {timeout:g} s; it is {_state(self._feed.latest)}"
            ) from None
        if update.status is JobStatus.CANCELLED:
            raise JobCancelled(self.job_id, update.reason)
        if update.status is JobStatus.DEAD_LETTERED:
            raise JobFailed(self.job_id, update.failure or JobFailure(FailureKind.EXCEPTION, update.reason))
        result: R = self._client.load_result(update, self._result_type)
        return result

    async def watch(self) -> AsyncIterator[JobStatusUpdate]:
        """The states of the job: at once the one it is in, then each newer one; ends with the terminal one.

        Under load, steps that follow one another quickly may be told as one.

        Raises:
            UnknownJob: there is no job with this id (any more).
        """
        await self._client.attach(self._feed)
        sequence = -1
        while True:
            update = await self._feed.newer_than(sequence)
            yield update
            if update.status.is_terminal:
                return
            sequence = update.sequence

    async def cancel(self, reason: str = "") -> CancelOutcome:
        """Cancel the job: see :meth:`JobClient.cancel`."""
        return await self._client.cancel(self.job_id, reason)

    async def get(self) -> JobDetails:
        """The job as it is stored now."""
        return await self._client.get(self.job_id)


def _state(latest: JobStatusUpdate | None) -> str:
    """How it stands with a job that has not ended: what it waits for, and what went wrong last."""
    if latest is None:
        return "not heard of yet"
    told = latest.status.value
    if latest.waiting_for is not None:
        told += f", waiting for: {latest.waiting_for.value}"
    if latest.failure is not None:
        told += f"; the last attempt failed: {latest.failure.summary}"
    return told
