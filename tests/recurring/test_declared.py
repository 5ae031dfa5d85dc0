"""``@recurring`` on handlers: what workers announce, and what becomes of it when code changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import attrs
import pytest

from beskar_jobs import (
    HandlerRegistry,
    JobContext,
    JobDefinitionError,
    JobHandler,
    JobWorker,
    RecurringJob,
    job_handler,
    recurring,
)
from beskar_jobs.core.recurring import NOT_DECLARED
from beskar_jobs.handlers import definition_of
from beskar_jobs.handlers.recurrence import declared_recurring
from beskar_jobs.model.recurring import RecurringSource
from beskar_jobs.wire.serializer import JsonSerializer
from tests.recurring import declared
from tests.recurring.bed import PATIENCE, REQUEST, Bed


def worker(bed: Bed, registry: HandlerRegistry) -> JobWorker:
    return JobWorker(bed.broker, handlers=registry, clock=bed.clock, stop_grace=1.0)


async def until(bed: Bed, condition: Callable[[dict[str, RecurringJob]], bool]) -> dict[str, RecurringJob]:
    """The entries, once *condition* is true of them. A list comes in pages, so one more look sees all as of then."""

    async def entries() -> dict[str, RecurringJob]:
        return {entry.name: entry for entry in await bed.client.recurring()}

    async with asyncio.timeout(PATIENCE):
        while not condition(await entries()):
            pass
        return await entries()


async def test_a_worker_announces_what_its_handlers_declare(bed: Bed) -> None:
    async with bed.scheduler(), worker(bed, declared.first_release):
        entry = (await until(bed, lambda entries: "report" in entries))["report"]
        definition = entry.definition
        assert entry.source is RecurringSource.DECLARED
        assert (definition.schedule, definition.time_zone) == ("0 * * * *", "Europe/Berlin")
        assert (definition.job_type, definition.queue, definition.priority) == ("report", "reports", 3)
        assert definition.arguments == b'{"title":"all"}'
        assert entry.next_at == datetime(2026, 3, 1, 13, tzinfo=UTC)


async def test_it_is_announced_to_a_scheduler_that_comes_later(bed: Bed) -> None:
    async with worker(bed, declared.first_release), bed.scheduler():
        assert "report" in await until(bed, lambda entries: "report" in entries)


async def test_a_declared_job_fires_and_runs(bed: Bed) -> None:
    async with bed.scheduler(), worker(bed, declared.first_release):
        await until(bed, lambda entries: "report" in entries)
        await bed.pass_time(3600, step=600)
        (job,) = await bed.jobs()
        assert await bed.client.handle(job.id).result(timeout=PATIENCE) is None


async def test_a_changed_declaration_changes_the_entry(bed: Bed) -> None:
    async with bed.scheduler():
        async with worker(bed, declared.first_release):
            await until(bed, lambda entries: "report" in entries)
        async with worker(bed, declared.second_release):
            entries = await until(bed, lambda entries: len(entries) == 2)
            assert entries["report"].definition.schedule == "30 * * * *"
            assert entries["report"].definition.arguments == b'{"title":"half"}'
            assert entries["report"].next_at == datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


async def test_what_is_declared_no_longer_is_paused_an_hour_later(bed: Bed) -> None:
    async with bed.scheduler():
        async with worker(bed, declared.first_release):
            await until(bed, lambda entries: "report" in entries)
        async with worker(bed, declared.last_release):
            await until(bed, lambda entries: entries["report"].withdrawn_at is not None)
            await bed.pass_time(3570, step=35)
            assert len(await bed.fired()) == 1
            entry = await bed.client.get_recurring("report")
            assert not entry.paused
        await bed.pass_time(3 * 3600, step=600)
        assert len(await bed.fired()) == 1
        entry = await bed.client.get_recurring("report")
        assert (entry.paused, entry.problem) == (True, NOT_DECLARED)
        async with worker(bed, declared.first_release):
            entry = (await until(bed, lambda entries: not entries["report"].paused))["report"]
            assert (entry.problem, entry.withdrawn_at) == ("", None)
            assert entry.next_at is not None
            assert entry.next_at > bed.clock.now().wall


async def test_what_was_changed_through_a_client_stays(bed: Bed) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("report", REQUEST, cron="5 5 * * *")
        before = await bed.client.get_recurring("report")
        async with worker(bed, declared.second_release):
            entries = await until(bed, lambda entries: "report.daily" in entries)
            assert entries["report"] == before
        await bed.client.remove_recurring("report")
        async with worker(bed, declared.second_release):
            entries = await until(bed, lambda entries: "report" in entries)
            assert entries["report"].source is RecurringSource.DECLARED


async def test_what_is_paused_stays_paused_when_it_is_announced_again(bed: Bed) -> None:
    async with bed.scheduler():
        async with worker(bed, declared.first_release):
            await until(bed, lambda entries: "report" in entries)
            await bed.client.pause_recurring("report")
        async with worker(bed, declared.second_release):
            entries = await until(bed, lambda entries: "report.daily" in entries)
            assert entries["report"].paused
            assert entries["report"].definition.schedule == "30 * * * *"


async def test_the_worker_that_was_started_last_speaks_for_a_job_type(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = iter(["000000000001-old", "000000000002-new"])
    monkeypatch.setattr("beskar_jobs.worker.worker.new_incarnation", lambda: next(names))
    async with bed.scheduler(), worker(bed, declared.first_release) as old:
        await until(bed, lambda entries: "report" in entries)
        async with worker(bed, declared.second_release):
            await until(bed, lambda entries: len(entries) == 2)
            assert old._engine is not None
            old._engine._loop.call_soon_threadsafe(old._engine._declare)
            old._engine._loop.call_soon_threadsafe(old._engine._flush_soon)
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), old._engine._loop))
            await bed.settle()
            assert (await bed.client.get_recurring("report")).definition.schedule == "30 * * * *"


async def test_an_announcement_repeats_until_it_was_heard(bed: Bed) -> None:
    """One that came while the scheduler could not take it is made up for by the next."""
    async with bed.scheduler(), worker(bed, declared.first_release):
        await until(bed, lambda entries: "report" in entries)
        await bed.client.remove_recurring("report")
        for _ in range(40):
            bed.clock.advance(2)
            await bed.settle()
        assert "report" in await until(bed, lambda entries: "report" in entries)


async def test_two_handlers_cannot_declare_one_name(bed: Bed) -> None:
    registry = HandlerRegistry.of([declared.FirstHandler])
    registry.add(attrs.evolve(definition_of(declared.SecondHandler), job_type="other"))
    assert len(declared_recurring(registry, JsonSerializer())) == 3
    registry.register(TakesTheName)
    with pytest.raises(JobDefinitionError, match="'report' belongs to another @recurring") as raised:
        worker(bed, registry)
    assert raised.value.code == "JOBGEN027"


@recurring("0 1 * * *", name="report")
@job_handler("taker", registry=HandlerRegistry())
class TakesTheName(JobHandler[None]):
    async def execute(self, context: JobContext[None]) -> None: ...


def test_a_class_that_is_no_handler_is_told_when_a_worker_is_made(bed: Bed, caplog: pytest.LogCaptureFixture) -> None:
    class Forgotten(JobHandler[None]):
        async def execute(self, context: JobContext[None]) -> None: ...

    recurring("0 1 * * *")(Forgotten)
    with caplog.at_level(logging.WARNING):
        worker(bed, declared.first_release)
    assert "Forgotten has @recurring and no @job_handler, so it does not recur" in caplog.text


def test_a_declaration_is_the_definition_that_a_client_would_send() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)

    @recurring("0 0 1 * *", jitter=timedelta(minutes=1), misfire="fire_all", misfire_limit=3, start=start)
    class Plain(declared.FirstHandler): ...

    handler = attrs.evolve(definition_of(declared.FirstHandler), handler=Plain)
    (definition,) = declared_recurring([handler], JsonSerializer())
    assert (definition.jitter, definition.misfire, definition.misfire_limit) == (60.0, "fire_all", 3)
    assert (definition.start, definition.end, definition.name) == (start, None, "report")
