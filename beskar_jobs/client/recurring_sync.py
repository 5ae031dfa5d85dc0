"""The methods of ``SyncJobClient`` about recurring jobs; each is that of ``JobClient``, waited for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any, TypeVar

from beskar_jobs.client.client import JobClient
from beskar_jobs.client.options import Seconds
from beskar_jobs.model.recurring import DEFAULT_MISFIRE_LIMIT, Misfire, Occurrence, Overlap, RecurringJob
from beskar_jobs.model.request import JobRequest
from beskar_jobs.model.retry import Retry

T = TypeVar("T")


class SyncRecurringClient(ABC):
    """What a blocking client does about recurring jobs."""

    _client: JobClient

    @abstractmethod
    def run(self, work: Coroutine[Any, Any, T]) -> T: ...

    def add_or_update_recurring(
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
        """Have *request* run again and again; see :meth:`JobClient.add_or_update_recurring`."""
        return self.run(
            self._client.add_or_update_recurring(
                name,
                request,
                cron=cron,
                every=every,
                time_zone=time_zone,
                overlap=overlap,
                misfire=misfire,
                misfire_limit=misfire_limit,
                start=start,
                end=end,
                jitter=jitter,
                paused=paused,
                queue=queue,
                priority=priority,
                retry=retry,
                timeout=timeout,
            )
        )

    def remove_recurring(self, name: str) -> bool:
        """Remove the entry; whether there was one."""
        return self.run(self._client.remove_recurring(name))

    def pause_recurring(self, name: str) -> RecurringJob:
        """Let no instant fire; see :meth:`JobClient.pause_recurring`."""
        return self.run(self._client.pause_recurring(name))

    def resume_recurring(self, name: str) -> RecurringJob:
        """Go on with the next instant; see :meth:`JobClient.resume_recurring`."""
        return self.run(self._client.resume_recurring(name))

    def recurring(self) -> list[RecurringJob]:
        """All entries by name."""
        return self.run(self._client.recurring())

    def get_recurring(self, name: str) -> RecurringJob:
        """The entry of this name."""
        return self.run(self._client.get_recurring(name))

    def recurring_history(self, name: str, *, limit: int = 100) -> list[Occurrence]:
        """What became of its instants, the latest first."""
        return self.run(self._client.recurring_history(name, limit=limit))
