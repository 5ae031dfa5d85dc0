"""Recurring jobs in simulated time: every instant once, over restarts, downtime, clock steps and rival schedulers."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import attrs
import pytest

from beskar_jobs.model.recurring import OccurrenceOutcome
from beskar_jobs.ports.storage import Commit, RecurringChange
from beskar_jobs.testing.storage_recurring import make_entry
from tests.recurring.bed import REQUEST, Bed, minute

_O = OccurrenceOutcome


async def test_every_instant_fires_once(bed: Bed) -> None:
    async with bed.scheduler():
        entry = await bed.client.add_or_update_recurring("r", REQUEST, cron="* * * * *")
        assert entry.next_at == minute(1)
        await bed.pass_time(180)
        assert await bed.fired() == [minute(1), minute(2), minute(3)]
        (seen,) = await bed.client.recurring()
        assert (seen.next_at, seen.last_instant) == (minute(4), minute(3))


async def test_the_same_call_again_changes_nothing(bed: Bed) -> None:
    async with bed.scheduler():
        first = await bed.client.add_or_update_recurring("r", REQUEST, every=timedelta(minutes=1))
        await bed.pass_time(60)
        again = await bed.client.add_or_update_recurring("r", REQUEST, every=timedelta(minutes=1))
        assert (again.created_at, again.next_at, again.version) == (first.created_at, minute(2), first.version + 1)
        await bed.pass_time(60)
        assert await bed.fired() == [minute(1), minute(2)]


@pytest.mark.parametrize(
    ("misfire", "fired", "left_out"),
    [("skip", [], [3]), ("fire_once", [180], [2]), ("fire_all", [60, 120, 180], [])],
)
async def test_after_hours_without_a_scheduler_the_misfire_rule_holds(
    bed: Bed, misfire: str, fired: list[int], left_out: list[int]
) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("r", REQUEST, cron="0 * * * *", misfire=misfire)
    bed.clock.advance(181 * 60)
    async with bed.scheduler():
        await bed.client.recurring()  # a look changes nothing
        await bed.settle()
    async with bed.scheduler():
        await bed.settle()
        assert await bed.fired() == [minute(number) for number in fired]
        missed = [item.missed for item in await bed.client.recurring_history("r") if item.outcome is _O.MISSED]
        assert missed == left_out
        await bed.pass_time(60 * 60, step=30)
        assert (await bed.fired())[-1] == minute(240)


async def test_fire_all_has_a_bound(bed: Bed) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("r", REQUEST, cron="0 * * * *", misfire="fire_all", misfire_limit=2)
    bed.clock.advance(5 * 3600 + 120)
    async with bed.scheduler():
        await bed.settle()
        assert await bed.fired() == [minute(240), minute(300)]


async def test_a_clock_set_back_doubles_nothing_and_loses_nothing(bed: Bed) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("r", REQUEST, cron="* * * * *")
        await bed.pass_time(125)
        bed.clock.step_wall(-90)
        await bed.pass_time(240)
        assert await bed.fired() == [minute(number) for number in (1, 2, 3, 4, 5)]


async def test_a_clock_set_back_over_a_restart_doubles_nothing(bed: Bed) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("r", REQUEST, cron="* * * * *")
        await bed.pass_time(125)
    bed.clock.step_wall(-90)
    async with bed.scheduler():
        await bed.pass_time(120)
        assert await bed.fired() == [minute(1), minute(2), minute(3)]


async def test_a_clock_set_forward_is_noticed_and_follows_the_misfire_rule(bed: Bed) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("all", REQUEST, cron="* * * * *", misfire="fire_all")
        await bed.pass_time(60)
        bed.clock.step_wall(600)
        await bed.pass_time(60)
        assert await bed.fired() == [minute(number) for number in range(1, 13)]


async def test_two_schedulers_fire_each_instant_once(bed: Bed) -> None:
    async with bed.scheduler("one"):
        await bed.client.add_or_update_recurring("r", REQUEST, cron="* * * * *")
        async with bed.scheduler("two"):
            await bed.pass_time(300)
            assert await bed.fired() == [minute(number) for number in range(1, 6)]
            assert [instant for instant, _ in await bed.outcomes()] == await bed.fired()


async def test_one_bad_entry_is_shown_and_stops_no_other(bed: Bed) -> None:
    bad = make_entry("bad", next_at=minute(1))
    broken = attrs.evolve(bad, definition=attrs.evolve(bad.definition, schedule="99 * * * *"))
    nowhere = make_entry("nowhere", next_at=minute(1))
    nowhere = attrs.evolve(nowhere, definition=attrs.evolve(nowhere.definition, time_zone="Mars/Olympus"))
    await bed.storage.commit(
        Commit(recurring=[RecurringChange("bad", 0, broken), RecurringChange("nowhere", 0, nowhere)])
    )
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("good", REQUEST, cron="* * * * *")
        await bed.pass_time(120)
        assert await bed.fired() == [minute(1), minute(2)]
        problems = {entry.name: entry.problem for entry in await bed.client.recurring()}
        assert problems["good"] == ""
        assert "99" in problems["bad"]
        assert "Mars/Olympus" in problems["nowhere"]


async def test_the_zone_is_stored_and_that_of_the_process_does_not_matter(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("r", REQUEST, cron="0 15 * * *", time_zone="Europe/Berlin")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        async with bed.scheduler():
            (entry,) = await bed.client.recurring()
            assert entry.definition.time_zone == "Europe/Berlin"
            assert entry.next_at == datetime(2026, 3, 1, 14, tzinfo=UTC)
            await bed.pass_time(7200, step=600)
            assert await bed.fired() == [datetime(2026, 3, 1, 14, tzinfo=UTC)]
    finally:
        monkeypatch.undo()
        time.tzset()


async def test_a_paused_entry_fires_nothing_and_goes_on_with_the_next_instant(bed: Bed) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("r", REQUEST, cron="* * * * *")
        assert (await bed.client.pause_recurring("r")).next_at is None
        await bed.pass_time(600, step=60)
        assert await bed.fired() == []
        assert (await bed.client.resume_recurring("r")).next_at == minute(11)
        await bed.pass_time(60)
        assert await bed.fired() == [minute(11)]


async def test_start_and_end_bound_the_instants(bed: Bed) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("r", REQUEST, cron="* * * * *", start=minute(3), end=minute(4))
        await bed.pass_time(400, step=30)
        assert await bed.fired() == [minute(3), minute(4)]
        assert (await bed.client.get_recurring("r")).next_at is None


async def test_jitter_delays_jobs_and_keeps_instants(bed: Bed) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("r", REQUEST, cron="* * * * *", jitter=30)
        await bed.pass_time(180)
        jobs = await bed.jobs()
        assert await bed.fired() == [minute(1), minute(2), minute(3)]
        delays = {(job.due_at - minute(n)).total_seconds() for n, job in enumerate(jobs, 1)}
        assert len(delays) == 3
        assert all(0 <= delay <= 30 for delay in delays)


async def test_a_removed_entry_is_gone_and_its_jobs_stay(bed: Bed) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("r", REQUEST, cron="* * * * *")
        await bed.pass_time(60)
        assert await bed.client.remove_recurring("r")
        assert not await bed.client.remove_recurring("r")
        await bed.pass_time(120)
        assert await bed.fired() == [minute(1)]
        assert await bed.client.recurring() == []


async def test_a_trigger_runs_once_whatever_the_schedule(bed: Bed) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("r", REQUEST, cron="0 0 1 1 *", paused=True)
        handles = [await bed.client.trigger_recurring("r", job_id="by-hand") for _ in range(2)]
        other = await bed.client.trigger_recurring("r")
        assert [job.id for job in await bed.jobs()] == [handles[0].job_id, other.job_id]
        assert [outcome for _, outcome in await bed.outcomes()] == [_O.TRIGGERED] * 2
