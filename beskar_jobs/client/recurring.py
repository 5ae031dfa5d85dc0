"""Recurring jobs from a client's side: what is asked for, checked here as far as it can be known, and sent.

Whatever breaks a rule is refused before it is sent, with the reason; the scheduler checks it all again.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from beskar_jobs.client.options import EnqueueOptions, Seconds
from beskar_jobs.client.requests import Requests
from beskar_jobs.cron.timetable import as_member, as_utc, check_definition, every_text
from beskar_jobs.model.errors import EnqueueRejected, InvalidValue, SchedulerUnavailable, UnknownRecurring
from beskar_jobs.model.job import ClientId, JobId
from beskar_jobs.model.names import checked_name
from beskar_jobs.model.recurring import Misfire, Occurrence, Overlap, RecurringDefinition, RecurringJob
from beskar_jobs.model.request import JobRequest
from beskar_jobs.ports.serializer import Serializer
from beskar_jobs.wire.messages import RecurringCommand, RecurringReply

PAGE: Final = 500
"""Entries asked for at once."""
_PLACEHOLDER: Final = JobId("recurring")


def recurring_definition(
    name: str,
    request: JobRequest[Any, Any],
    serializer: Serializer,
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
    job: EnqueueOptions,
) -> RecurringDefinition:
    """The definition of *name* that asks for *request*, with the options of each *job*.

    Raises:
        InvalidValue, EnqueueRejected, ValueNotSerializable: see ``add_or_update_recurring``.
    """
    if (cron is None) == (every is None):
        raise InvalidValue("give cron='…' or every=timedelta(…), one of them")
    item = job.item(request, _PLACEHOLDER, serializer)
    definition = RecurringDefinition(
        name=checked_name("recurring name", name),
        job_type=item.job_type,
        queue=item.queue,
        arguments=bytes(item.arguments),
        schedule=(cron or "") if every is None else every_text(every),
        time_zone=time_zone,
        priority=item.priority,
        retry=item.retry,
        timeout=item.timeout,
        metadata=item.metadata,
        overlap=as_member("overlap", overlap, Overlap),
        misfire=as_member("misfire", misfire, Misfire),
        misfire_limit=misfire_limit,
        start=as_utc("start", start),
        end=as_utc("end", end),
        jitter=jitter.total_seconds() if isinstance(jitter, timedelta) else jitter,
    )
    check_definition(definition)
    return definition


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
