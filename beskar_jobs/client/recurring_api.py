"""The methods of ``JobClient`` about recurring jobs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime, timedelta
from typing import Any, TypeVar

from beskar_jobs.client.handle import JobHandle
from beskar_jobs.client.options import EnqueueOptions, Seconds
from beskar_jobs.client.recurring import RecurringCommands, recurring_definition
from beskar_jobs.model.errors import EnqueueRejected
from beskar_jobs.model.job import JobId
from beskar_jobs.model.names import checked_name
from beskar_jobs.model.recurring import DEFAULT_MISFIRE_LIMIT, Misfire, Occurrence, Overlap, RecurringJob
from beskar_jobs.model.request import JobRequest
from beskar_jobs.model.retry import Retry
from beskar_jobs.ports.serializer import Serializer
from beskar_jobs.runtime.identity import new_job_id

R = TypeVar("R")


class RecurringClient(ABC):
    """What a client does about recurring jobs."""

    @abstractmethod
    def _recurring_commands(self) -> tuple[RecurringCommands, Serializer]:
        """What to ask with; complains if the client is not started."""

    @abstractmethod
    def handle(self, job_id: str, result_type: Any = Any) -> JobHandle[Any]: ...

    async def add_or_update_recurring(
        self,
        name: str,
        request: JobRequest[Any, Any],
        *,
        cron: str | None = None,
        every: timedelta | None = None,
        time_zone: str = "UTC",
        overlap: Overlap | str = Overlap.ALLOW_CONCURRENT,
        misfire: Misfire | str = Misfire.FIRE_ONCE,
        misfire_limit: int = DEFAULT_MISFIRE_LIMIT,
        start: datetime | None = None,
        end: datetime | None = None,
        jitter: Seconds = 0.0,
        paused: bool | None = None,
        queue: str | None = None,
        priority: int | None = None,
        retry: Retry | None = None,
        timeout: Seconds | None = None,
    ) -> RecurringJob:
        """Have *request* run again and again. When this returns, the entry is committed.

        The same call again changes nothing. Other times (cron, every, zone, start, end) count from now on; any other
        change leaves the next instant as it is.

        Args:
            name: of the entry; one that is there under this name is changed.
            request: which job, with which arguments.
            cron: the times, as a cron expression (see ``docs/cron.md``); or
            every: the interval, from 100 ms to 3660 days, in whole milliseconds; counted from 1970-01-01 UTC.
            time_zone: IANA name; the clock of *cron*.
            overlap: what happens while an earlier run has not ended: ``allow_concurrent``, ``skip_if_running`` or
                ``queue_next`` (one waits for its end).
            misfire: what happens to instants that passed by more than a minute while no scheduler ran: ``skip``,
                ``fire_once``, or ``fire_all`` (the latest *misfire_limit*, from 1 to 1000).
            start, end: no instant before, none after (aware).
            jitter: seconds (or a timedelta), up to a day; spreads the starts of its jobs.
            paused: add it paused, or pause or resume it; ``None`` leaves that as it is.
            queue, priority, retry, timeout: of its jobs, as for ``enqueue``.

        Raises:
            InvalidCron: *cron* is malformed, out of bounds, or never.
            InvalidValue: another option breaks its rule.
            EnqueueRejected: the scheduler refused it, or an option of its jobs breaks its rule; nothing was stored.
            ValueNotSerializable: the arguments do not fit their declared type.
            SchedulerUnavailable: no answer in time. Safe to try again.
        """
        commands, serializer = self._recurring_commands()
        if not isinstance(request, JobRequest):
            raise EnqueueRejected(f"a recurring job takes a request, such as VideoTranscode(…); this is {request!r}")
        definition = recurring_definition(
            name,
            request,
            serializer,
            cron=cron,
            every=every,
            time_zone=time_zone,
            overlap=overlap,
            misfire=misfire,
            misfire_limit=misfire_limit,
            start=start,
            end=end,
            jitter=jitter,
            job=EnqueueOptions(queue=queue, priority=priority, retry=retry, timeout=timeout),
        )
        return await commands.upsert(definition, paused)

    async def remove_recurring(self, name: str) -> bool:
        """Remove the entry and its history; its jobs stay. Whether there was one."""
        return await self._recurring_commands()[0].remove(name)

    async def pause_recurring(self, name: str) -> RecurringJob:
        """Let no instant fire until it is resumed; what runs goes on, what is queued is dropped.

        Raises:
            UnknownRecurring: no entry has this name.
        """
        return await self._recurring_commands()[0].pause(name)

    async def resume_recurring(self, name: str) -> RecurringJob:
        """Go on with the next instant from now; what passed meanwhile was not missed.

        Raises:
            UnknownRecurring: no entry has this name.
        """
        return await self._recurring_commands()[0].resume(name)

    async def trigger_recurring(self, name: str, *, job_id: str | None = None) -> JobHandle[Any]:
        """Run it once now, also while it is paused or an earlier run goes on.

        Args:
            job_id: the id of the job; the same id twice makes one.

        Raises:
            UnknownRecurring: no entry has this name.
        """
        commands, _ = self._recurring_commands()
        wanted = JobId(new_job_id() if job_id is None else checked_name("job id", job_id))
        await commands.trigger(name, wanted)
        return self.handle(wanted)

    async def recurring(self) -> list[RecurringJob]:
        """All entries by name, each with its next instant and its last occurrence."""
        return await self._recurring_commands()[0].entries()

    async def get_recurring(self, name: str) -> RecurringJob:
        """The entry of this name.

        Raises:
            UnknownRecurring: no entry has this name.
        """
        return await self._recurring_commands()[0].get(name)

    async def recurring_history(self, name: str, *, limit: int = 100) -> list[Occurrence]:
        """What became of its instants, the latest first; the last 100 are kept.

        Raises:
            UnknownRecurring: no entry has this name.
        """
        return await self._recurring_commands()[0].history(name, limit)
