"""Schedules in zones over changes of the clocks: the rule of Debian's cron."""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest

from beskar_jobs.cron import CronSchedule
from beskar_jobs.model.errors import InvalidValue
from tests.cron.clocks import MINUTE, ZONES, changes, changing_zones, firings

PARIS = ZoneInfo("Europe/Paris")
EVERY_CHANGE = bool(os.environ.get("BESKAR_CRON_EVERY_CHANGE"))
"""All changes of all zones from 2020 to 2040, not a sample: three minutes, so give pytest ``--timeout=1800``."""


def texts(expression: str, start: datetime, n: int) -> list[str]:
    return [t.isoformat(timespec="minutes") for t in CronSchedule.parse(expression).upcoming(start, n)]


@pytest.mark.parametrize("expression", ["30 2 * * *", "0 30 2 * * *"])
def test_a_fixed_time_in_a_gap_runs_once_at_its_end(expression: str) -> None:
    assert texts(expression, datetime(2026, 3, 28, 12, tzinfo=PARIS), 3) == [
        "2026-03-29T03:00+02:00",
        "2026-03-30T02:30+02:00",
        "2026-03-31T02:30+02:00",
    ]


@pytest.mark.parametrize("expression", ["30 2 * * *", "0 30 2 * * *"])
def test_a_fixed_time_in_an_overlap_runs_in_the_first_pass_only(expression: str) -> None:
    assert texts(expression, datetime(2026, 10, 24, 12, tzinfo=PARIS), 3) == [
        "2026-10-25T02:30+02:00",
        "2026-10-26T02:30+01:00",
        "2026-10-27T02:30+01:00",
    ]


def test_several_fixed_times_in_one_gap_are_one_run() -> None:
    assert texts("0,15,30,45 2-3 * * *", datetime(2026, 3, 29, 1, 59, tzinfo=PARIS), 3) == [
        "2026-03-29T03:00+02:00",
        "2026-03-29T03:15+02:00",
        "2026-03-29T03:30+02:00",
    ]


def test_in_the_second_pass_fixed_times_of_the_overlap_are_over() -> None:
    second_pass = datetime(2026, 10, 25, 2, 10, tzinfo=PARIS, fold=1)
    schedule = CronSchedule.parse("0,30 2-3 * * *")
    assert schedule.next_after(second_pass) == datetime(2026, 10, 25, 3, 0, tzinfo=PARIS)
    previous = schedule.previous_before(second_pass)
    assert previous is not None
    assert previous.isoformat() == "2026-10-25T02:30:00+02:00"
    assert not schedule.matches(datetime(2026, 10, 25, 2, 30, tzinfo=PARIS, fold=1))
    assert schedule.matches(datetime(2026, 10, 25, 2, 30, tzinfo=PARIS))


def test_an_hourly_job_runs_in_both_passes_of_an_overlap_and_skips_a_gap() -> None:
    assert texts("0 * * * *", datetime(2026, 10, 25, 1, 30, tzinfo=PARIS), 3) == [
        "2026-10-25T02:00+02:00",
        "2026-10-25T02:00+01:00",
        "2026-10-25T03:00+01:00",
    ]
    assert texts("0 * * * *", datetime(2026, 3, 29, 0, 30, tzinfo=PARIS), 2) == [
        "2026-03-29T01:00+01:00",
        "2026-03-29T03:00+02:00",
    ]


def test_a_job_that_repeats_within_an_hour_does_not_run_on_the_day_without_that_hour() -> None:
    assert texts("*/30 2 * * *", datetime(2026, 3, 28, 12, tzinfo=PARIS), 1) == ["2026-03-30T02:00+02:00"]


def test_half_an_hour_of_lord_howe_is_a_gap_and_an_overlap_like_any_other() -> None:
    lord_howe = ZoneInfo("Australia/Lord_Howe")
    assert texts("15 2 * * *", datetime(2026, 10, 3, 12, tzinfo=lord_howe), 2) == [
        "2026-10-04T02:30+11:00",
        "2026-10-05T02:15+11:00",
    ]
    assert texts("*/15 * * * *", datetime(2026, 4, 5, 1, 30, tzinfo=lord_howe), 4) == [
        "2026-04-05T01:45+11:00",
        "2026-04-05T01:30+10:30",
        "2026-04-05T01:45+10:30",
        "2026-04-05T02:00+10:30",
    ]


def test_a_midnight_that_does_not_exist_is_the_first_moment_of_the_day() -> None:
    cairo = ZoneInfo("Africa/Cairo")
    assert texts("@daily", datetime(2026, 4, 23, 12, tzinfo=cairo), 2) == [
        "2026-04-24T01:00+03:00",
        "2026-04-25T00:00+03:00",
    ]


def test_a_day_that_samoa_left_out_runs_at_the_start_of_the_next_once() -> None:
    apia = ZoneInfo("Pacific/Apia")
    assert texts("0 9 * * *", datetime(2011, 12, 29, 12, tzinfo=apia), 2) == [
        "2011-12-31T00:00+14:00",
        "2011-12-31T09:00+14:00",
    ]
    assert texts("0 */12 * * *", datetime(2011, 12, 29, 13, tzinfo=apia), 2) == [
        "2011-12-31T00:00+14:00",
        "2011-12-31T12:00+14:00",
    ]


def test_a_schedule_that_a_zone_never_shows_ends_the_search() -> None:
    new_york = ZoneInfo("America/New_York")
    always_in_the_gap = CronSchedule.parse("*/5 2 * 3 SUN#2")
    assert always_in_the_gap.next_after(datetime(2026, 1, 1, tzinfo=new_york)) is None
    assert always_in_the_gap.previous_before(datetime(2026, 1, 1, tzinfo=new_york)) is not None  # before 2007
    assert always_in_the_gap.next_after(datetime(2026, 1, 1)) == datetime(2026, 3, 8, 2)


def test_a_time_inside_a_gap_is_the_instant_that_it_denotes() -> None:
    in_gap = datetime(2026, 3, 29, 2, 40, tzinfo=PARIS)  # 01:40 UTC, which Paris calls 03:40
    schedule = CronSchedule.parse("50 * * * *")
    assert schedule.next_after(in_gap) == datetime(2026, 3, 29, 3, 50, tzinfo=PARIS)
    assert CronSchedule.parse("40 3 * * *").matches(in_gap)
    assert not CronSchedule.parse("40 2 * * *").matches(in_gap)


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=5, minutes=45)), ZoneInfo("UTC"), PARIS])
def test_answers_are_in_the_zone_of_the_question(zone: timezone | ZoneInfo) -> None:
    found = CronSchedule.parse("0 3 * * *").next_after(datetime(2026, 6, 1, 12, tzinfo=zone))
    assert found is not None
    assert found == datetime(2026, 6, 2, 3, tzinfo=zone)
    assert found.tzinfo is zone


def test_the_zone_of_the_process_is_no_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Apia")
    assert texts("0 3 * * *", datetime(2026, 6, 1, 12, tzinfo=PARIS), 1) == ["2026-06-02T03:00+02:00"]
    assert CronSchedule.parse("0 3 * * *").next_after(datetime(2026, 6, 1, 12)) == datetime(2026, 6, 2, 3)


@pytest.mark.parametrize("expression", ["30 2 * * *", "*/10 * * * *", "@every 1h", "0 0 L 2 *"])
@pytest.mark.parametrize("zone", [timezone(timedelta(hours=14)), timezone(timedelta(hours=-12)), PARIS])
def test_at_both_ends_of_the_calendar_there_is_an_answer_or_none(expression: str, zone: tzinfo) -> None:
    schedule = CronSchedule.parse(expression)
    for moment in (datetime.min, datetime(1, 1, 2), datetime(9998, 12, 31, 23, 59), datetime.max):
        t = moment.replace(tzinfo=zone)
        schedule.matches(t)
        assert schedule.next_after(t) != t
        assert schedule.previous_before(t) != t
    assert schedule.next_after(datetime.max.replace(tzinfo=zone)) is None
    assert schedule.previous_before(datetime.min.replace(tzinfo=zone)) is None


class OffsetsFromALocalizer(tzinfo):
    """As older libraries have them: the right offset comes from ``localize`` only."""

    def localize(self, t: datetime) -> datetime:
        return t.replace(tzinfo=self)

    def utcoffset(self, t: datetime | None, /) -> timedelta:
        return timedelta(hours=1)

    def dst(self, t: datetime | None, /) -> timedelta:
        return timedelta(0)

    def tzname(self, t: datetime | None, /) -> str:
        return "local"


def test_a_zone_that_knows_no_fold_is_refused_with_the_way_out() -> None:
    with pytest.raises(InvalidValue, match="zoneinfo"):
        CronSchedule.parse("0 3 * * *").next_after(datetime(2026, 6, 1, tzinfo=OffsetsFromALocalizer()))


EXPRESSIONS = (
    "*/15 * * * *",
    "0 * * * *",
    "30 2 * * *",
    "0 0 * * *",
    "15,45 0-5 * * *",
    "20 */2 * * *",
    "*/10 1-3 * * *",
)


def sample() -> list[tuple[str, datetime]]:
    if EVERY_CHANGE:
        return [(name, at) for name in changing_zones() for at in changes(name, 2020, 2040)]
    dice = random.Random(11)
    every = [(name, at) for name in ZONES for at in changes(name, 2020, 2040)]
    return dice.sample(every, 40)


def test_over_changes_of_the_clocks_schedules_fire_as_the_plain_rule_says_and_time_goes_on() -> None:
    for name, change in sample():
        zone = ZoneInfo(name)
        start, end = change - timedelta(hours=5), change + timedelta(hours=5)
        for expression in EXPRESSIONS:
            schedule = CronSchedule.parse(expression)
            where = (name, change, expression)
            expected = list(firings(schedule.matches, zone, start, end, real_time=schedule.follows_real_time))
            found, at = [], start
            while (t := schedule.next_after(at.astimezone(zone))) is not None and t.astimezone(UTC) < end:
                assert at < t.astimezone(UTC), where
                at = t.astimezone(UTC)
                assert schedule.matches(t), (where, t)
                found.append(at)
            assert found == expected, where
            back, at = [], end
            while (t := schedule.previous_before(at.astimezone(zone))) is not None and t.astimezone(UTC) > start:
                at = t.astimezone(UTC)
                back.append(at)
            assert back[::-1] == expected, where
            minutes = (start + k * MINUTE for k in range(1, (end - start) // MINUTE))
            if EVERY_CHANGE or expression == EXPRESSIONS[2]:
                assert [t for t in minutes if schedule.matches(t.astimezone(zone))] == expected, where
