"""Recurring jobs from a client's side: what is asked for, checked here as far as it can be known, and sent.

Whatever breaks a rule is refused before it is sent, with the reason; the scheduler checks it all again.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import attrs

from beskar_jobs.client.options import EnqueueOptions, Seconds
from beskar_jobs.client.requests import Requests
from beskar_jobs.cron.timetable import check_definition, every_text
from beskar_jobs.model.errors import EnqueueRejected, InvalidValue, SchedulerUnavailable, UnknownRecurring
from beskar_jobs.model.job import ClientId, JobId
from beskar_jobs.model.names import checked_name
from beskar_jobs.model.recurring import Misfire, Occurrence, Overlap, RecurringDefinition, RecurringJob
from beskar_jobs.model.request import JobRequest
from beskar_jobs.model.retry import Retry
from beskar_jobs.ports.serializer import Serializer
from beskar_jobs.wire.messages import RecurringCommand, RecurringReply

E = TypeVar("E", Overlap, Misfire)

PAGE: Final = 500
"""Entries asked for at once."""
_PLACEHOLDER: Final = JobId("recurring")


@attrs.frozen
class RecurringOptions:
    """The options of ``add_or_update_recurring``; see there."""

    cron: str | None
    every: timedelta | None
    time_zone: str
    overlap: Overlap | str
    misfire: Misfire | str
    misfire_limit: int
    start: datetime | None
    end: datetime | None
    jitter: Seconds
    job: EnqueueOptions

    def definition(self, name: str, request: JobRequest[Any, Any], serializer: Serializer) -> RecurringDefinition:
        """The definition of *name* that asks for *request*.

        Raises:
            InvalidValue, EnqueueRejected, ValueNotSerializable: see ``add_or_update_recurring``.
        """
        if (self.cron is None) == (self.every is None):
            raise InvalidValue("give cron='…' or every=timedelta(…), one of them")
        item = self.job.item(request, _PLACEHOLDER, serializer)
        definition = RecurringDefinition(
            name=checked_name("recurring name", name),
            job_type=item.job_type,
            queue=item.queue,
            arguments=bytes(item.arguments),
            schedule=self.cron
            if self.every is None and self.cron is not None
            else every_text(self.every or timedelta()),
            time_zone=self.time_zone,
            priority=item.priority,
            retry=item.retry,
            timeout=item.timeout,
            metadata=item.metadata,
            overlap=_member("overlap", self.overlap, Overlap),
            misfire=_member("misfire", self.misfire, Misfire),
            misfire_limit=self.misfire_limit,
            start=_utc("start", self.start),
            end=_utc("end", self.end),
            jitter=self.jitter.total_seconds() if isinstance(self.jitter, timedelta) else self.jitter,
        )
        check_definition(definition)
        return definition


def recurring_options(
    *,
    cron: str | None,
    every: timedelta | None,
    time_zone: str,
    overlap: Overlap | str,
    misfire: Misfire | str,
    misfire_limit: int,
    start: datetime | None,
    end: datetime | None,
    jitter: Seconds,
    queue: str | None,
    priority: int | None,
    retry: Retry | None,
    timeout: Seconds | None,
) -> RecurringOptions:
    """The options, those of each job gathered."""
    job = EnqueueOptions(queue=queue, priority=priority, retry=retry, timeout=timeout)
    return RecurringOptions(cron, every, time_zone, overlap, misfire, misfire_limit, start, end, jitter, job)


def _member(option: str, value: Any, kind: type[E]) -> E:
    try:
        return kind(value)
    except ValueError:
        names = ", ".join(member.value for member in kind)
        raise InvalidValue(f"{option} is one of {names}; not {value!r}") from None


def _utc(option: str, moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise InvalidValue(f"{option} is a datetime with a time zone, not {moment!r}")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidValue(f"{option} {moment.isoformat()} is no time in UTC") from None


class RecurringCommands:
    """Sends commands about recurring entries, and reads the answers."""

    def __init__(self, requests: Requests, topic: str, client_id: ClientId, timeout: float) -> None:
        self._requests = requests
        self._topic = topic
        self._client_id = client_id
        self._timeout = timeout

    async def upsert(self, definition: RecurringDefinition, paused: bool | None) -> RecurringJob:
        reply = await self._ask(RecurringCommand(action="upsert", definition=definition, paused=paused))
        return reply.entries[0]

    async def remove(self, name: str) -> bool:
        return not (await self._ask(RecurringCommand(action="remove", name=name), may_be_unknown=True)).unknown

    async def pause(self, name: str) -> RecurringJob:
        return (await self._ask(RecurringCommand(action="pause", name=name))).entries[0]

    async def resume(self, name: str) -> RecurringJob:
        return (await self._ask(RecurringCommand(action="resume", name=name))).entries[0]

    async def trigger(self, name: str, job_id: JobId) -> None:
        await self._ask(RecurringCommand(action="trigger", name=name, job_id=job_id, watcher=self._client_id))

    async def get(self, name: str) -> RecurringJob:
        reply = await self._ask(RecurringCommand(action="list", name=checked_name("recurring name", name)))
        if not reply.entries:
            raise UnknownRecurring(name)
        return reply.entries[0]

    async def entries(self) -> list[RecurringJob]:
        found: list[RecurringJob] = []
        after = ""
        while page := (await self._ask(RecurringCommand(action="list", after=after, limit=PAGE))).entries:
            found += page
            after = page[-1].name
        return found

    async def history(self, name: str, limit: int) -> list[Occurrence]:
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 1000:
            raise InvalidValue(f"limit is a whole number from 1 to 1000, not {limit!r}")
        return (await self._ask(RecurringCommand(action="history", name=name, limit=limit))).occurrences

    async def _ask(self, command: RecurringCommand, *, may_be_unknown: bool = False) -> RecurringReply:
        if command.action not in ("upsert", "list"):
            checked_name("recurring name", command.name)
        reply = await self._requests.ask(self._topic, command, RecurringReply, self._timeout)
        if reply.error:
            if command.action in ("list", "history"):
                raise SchedulerUnavailable(reply.error)
            raise EnqueueRejected(reply.error)
        if reply.unknown and not may_be_unknown:
            raise UnknownRecurring(command.name)
        return reply
