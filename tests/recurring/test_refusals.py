"""Bad input: refused on the client's side with the reason, and again in the scheduler, where nothing of it is left."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest

from beskar_jobs import (
    BeskarError,
    EnqueueRejected,
    HandlerRegistry,
    InvalidCron,
    InvalidValue,
    JobContext,
    JobHandler,
    RawRequest,
    ValueNotSerializable,
    job_handler,
)
from beskar_jobs.model.recurring import RecurringDefinition
from tests.recurring.bed import REQUEST, Bed

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
SOUND = RecurringDefinition("r", "recurring.job", "default", b'{"a":1}', "0 3 * * *")

# What a client is asked for, what a definition on the wire says, and what both are told.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "an hour out of bounds": ({"cron": "0 25 * * *"}, {"schedule": "0 25 * * *"}, "hour field '25'"),
    "four fields": ({"cron": "0 3 * *"}, {"schedule": "0 3 * *"}, "fields"),
    "nothing": ({"cron": ""}, {"schedule": ""}, "has 0 fields"),
    "never": ({"cron": "0 0 31 6 *"}, {"schedule": "0 0 31 6 *"}, "never"),
    "unknown zone": (
        {"cron": "0 3 * * *", "time_zone": "Mars/Olympus"},
        {"time_zone": "Mars/Olympus"},
        "time zone 'Mars/Olympus' is unknown",
    ),
    "zero interval": ({"every": timedelta()}, {"schedule": "@every 0s"}, ""),
    "negative interval": ({"every": timedelta(seconds=-1)}, {"schedule": "@every -1s"}, ""),
    "interval below the minimum": ({"every": timedelta(milliseconds=99)}, {"schedule": "@every 99ms"}, "100 ms"),
    "end before start": (
        {"cron": "0 3 * * *", "start": NEW_YEAR, "end": NEW_YEAR - timedelta(days=1)},
        {"start": NEW_YEAR, "end": NEW_YEAR - timedelta(days=1)},
        "is not after start",
    ),
    "unknown overlap": ({"cron": "0 3 * * *", "overlap": "never"}, {"overlap": "never"}, "never"),
    "unknown misfire": ({"cron": "0 3 * * *", "misfire": "later"}, {"misfire": "later"}, "later"),
    "misfire limit": ({"cron": "0 3 * * *", "misfire_limit": 0}, {"misfire_limit": 0}, "misfire_limit"),
    "jitter": ({"cron": "0 3 * * *", "jitter": -1}, {"jitter": -1.0}, "jitter"),
    "priority": ({"cron": "0 3 * * *", "priority": 10**9}, {"priority": 10**9}, "priority"),
    "timeout": ({"cron": "0 3 * * *", "timeout": -1}, {"timeout": -1.0}, "timeout"),
    "queue": ({"cron": "0 3 * * *", "queue": "a/b"}, {"queue": "a/b"}, "queue"),
}


@pytest.mark.parametrize("case", CASES)
async def test_it_is_refused_by_the_client_and_by_the_scheduler(bed: Bed, case: str) -> None:
    options, changes, told = CASES[case]
    async with bed.scheduler():
        with pytest.raises((InvalidValue, EnqueueRejected), match=told or None):
            await bed.client.add_or_update_recurring("r", REQUEST, **options)
        # As a client of another make might send it: not checked before.
        commands, _ = bed.client._recurring_commands()
        with pytest.raises(EnqueueRejected, match=told or None):
            await commands.upsert(attrs.evolve(SOUND, **changes), None)
        assert await bed.client.recurring() == []
        await commands.upsert(SOUND, None)


@pytest.mark.parametrize("arguments", [b"", b"{", b'{"a":1} x', b"\xff"])
async def test_a_scheduler_refuses_arguments_that_are_no_json(bed: Bed, arguments: bytes) -> None:
    async with bed.scheduler():
        commands, _ = bed.client._recurring_commands()
        with pytest.raises(EnqueueRejected):
            await commands.upsert(attrs.evolve(SOUND, arguments=arguments), None)
        assert await bed.client.recurring() == []


async def test_a_refused_change_leaves_the_entry_as_it_was(bed: Bed) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("r", REQUEST, cron="0 3 * * *")
        before = await bed.client.get_recurring("r")
        with pytest.raises(InvalidCron):
            await bed.client.add_or_update_recurring("r", REQUEST, cron="0 99 * * *")
        assert await bed.client.get_recurring("r") == before


@attrs.frozen
class CountArgs:
    count: int


@job_handler("recurring.count", registry=HandlerRegistry())
class CountHandler(JobHandler[CountArgs]):
    async def execute(self, context: JobContext[CountArgs]) -> None: ...


async def test_arguments_that_do_not_fit_the_handler_never_leave_the_client(bed: Bed) -> None:
    wrong: Any = CountArgs("many")  # type: ignore[arg-type]  # that is what the test is about
    async with bed.scheduler():
        with pytest.raises(ValueNotSerializable, match="count"):
            await bed.client.add_or_update_recurring("r", CountHandler.request(wrong), cron="0 3 * * *")
        assert await bed.client.recurring() == []


async def test_names_and_requests_are_checked(bed: Bed) -> None:
    async with bed.scheduler():
        for name in ("", " ", "a/b", "a+", "x" * 300):
            with pytest.raises(InvalidValue, match="recurring name"):
                await bed.client.add_or_update_recurring(name, REQUEST, cron="0 3 * * *")
        with pytest.raises(InvalidValue, match="one of them"):
            await bed.client.add_or_update_recurring("r", REQUEST)
        with pytest.raises(InvalidValue, match="one of them"):
            await bed.client.add_or_update_recurring("r", REQUEST, cron="0 3 * * *", every=timedelta(hours=1))
        with pytest.raises(BeskarError):
            await bed.client.add_or_update_recurring("r", "recurring.job", cron="0 3 * * *")  # type: ignore[arg-type]
        with pytest.raises(InvalidValue, match="time zone"):
            await bed.client.add_or_update_recurring("r", REQUEST, cron="0 3 * * *", start=datetime(2026, 1, 1))
        assert RawRequest("recurring.job", {"a": 1}) == REQUEST
