"""What holds for every schedule: the next firing matches, nothing between does, and back is the inverse of forth."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from beskar_jobs.cron import CronSchedule
from beskar_jobs.model.errors import InvalidCron
from tests.cron.clocks import MINUTE, ZONES, changes
from tests.cron.expressions import expression

SECOND = timedelta(seconds=1)


def _schedule(seed: int) -> CronSchedule:
    dice = random.Random(seed)
    while True:
        try:
            return CronSchedule.parse(expression(dice))
        except InvalidCron:
            continue


schedules = st.integers(0, 2**32).map(_schedule) | st.sampled_from(
    ["@every 250ms", "@every 7h", "0 0 L * *", "0 0 15W,1 * MON", "30 2 * * FRI#2", "H H * * *", "*/20 * * * * *"]
).map(CronSchedule.parse)
moments = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1))


@st.composite
def instants(draw: st.DrawFn) -> datetime:
    """Aware moments, half of them within a day of a change of the clocks."""
    name = draw(st.sampled_from(ZONES))
    near = changes(name, 2020, 2040)
    at_a_change = draw(st.booleans())
    if near and at_a_change:
        instant = draw(st.sampled_from(near)) + timedelta(seconds=draw(st.integers(-90_000, 90_000)))
    else:
        instant = draw(moments).replace(tzinfo=UTC)
    return instant.astimezone(ZoneInfo(name))


def utc(t: datetime) -> datetime:
    return t.astimezone(UTC) if t.tzinfo else t


@settings(max_examples=400, deadline=None)
@given(schedules, moments | instants())
def test_the_next_firing_matches_and_is_later_and_the_previous_of_the_next_is_not_later(
    schedule: CronSchedule, t: datetime
) -> None:
    following = schedule.next_after(t)
    if following is None:
        return
    assert utc(following) > utc(t)
    assert schedule.matches(following)
    assert following.tzinfo is t.tzinfo
    before = schedule.previous_before(following)
    assert before is not None
    assert utc(before) <= utc(t)
    again = schedule.next_after(before)
    assert again is not None
    assert utc(again) == utc(following)


@settings(max_examples=400, deadline=None)
@given(schedules, moments | instants())
def test_the_previous_firing_matches_and_is_earlier_and_the_next_of_the_previous_is_not_earlier(
    schedule: CronSchedule, t: datetime
) -> None:
    before = schedule.previous_before(t)
    if before is None:
        return
    assert utc(before) < utc(t)
    assert schedule.matches(before)
    following = schedule.next_after(before)
    assert following is not None
    assert utc(following) >= utc(t)
    again = schedule.previous_before(following)
    assert again is not None
    assert utc(again) == utc(before)


@settings(max_examples=150, deadline=None)
@given(schedules, moments | instants(), st.data())
def test_nothing_between_two_firings_matches(schedule: CronSchedule, t: datetime, data: st.DataObject) -> None:
    following = schedule.next_after(t)
    if following is None:
        return
    start, end = utc(t).replace(microsecond=0), utc(following)
    step = MINUTE if len(schedule.text.split()) == 5 else SECOND
    first = start.replace(second=0) if step == MINUTE else start
    count = int((end - first) / step)
    offsets = range(1, count) if count < 300 else data.draw(st.lists(st.integers(1, count - 1), max_size=100))
    for offset in offsets:
        between = first + offset * step
        if utc(t) < between < end:
            assert not schedule.matches(between.astimezone(t.tzinfo) if t.tzinfo else between), between


@settings(max_examples=200, deadline=None)
@given(schedules, moments | instants())
def test_upcoming_ascends_strictly_and_is_what_asking_again_and_again_gives(
    schedule: CronSchedule, t: datetime
) -> None:
    found = schedule.upcoming(t, 5)
    at: datetime | None = t
    for expected in found:
        assert at is not None
        at = schedule.next_after(at)
        assert at is not None
        assert at == expected
        assert at.fold == expected.fold
    assert sorted({utc(t) for t in found}) == [utc(t) for t in found]


@settings(max_examples=300, deadline=None)
@given(schedules)
def test_a_schedule_is_told_in_one_sentence_and_its_text_reads_the_same(schedule: CronSchedule) -> None:
    sentence = schedule.describe()
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert "  " not in sentence
    assert CronSchedule.parse(schedule.text).describe() == sentence


@settings(max_examples=500, deadline=None)
@given(st.text(alphabet="0123456789*/-,?LWH#()@ SUNFEB.", max_size=40) | st.text(max_size=20))
def test_any_text_is_a_schedule_or_refused_by_name(text: str) -> None:
    try:
        schedule = CronSchedule.parse(text)
    except InvalidCron:
        return
    schedule.next_after(datetime(2026, 1, 1))
    schedule.describe()


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 10**9), st.datetimes())
def test_an_interval_has_its_own_pace(milliseconds: int, t: datetime) -> None:
    interval = timedelta(milliseconds=max(10, milliseconds % 10**8))
    every = CronSchedule.parse(f"@every {interval // timedelta(milliseconds=1)}ms")
    found = every.upcoming(t, 3)
    assert all(every.matches(t) for t in found)
    assert {later - earlier for earlier, later in pairwise(found)} <= {interval}
    assert not found or found[0] - t <= interval
