"""What may be written, what it means, and how errors say what is wrong."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from beskar_jobs.cron import CronSchedule
from beskar_jobs.model.errors import BeskarError, InvalidCron, InvalidValue

START = datetime(2026, 2, 1)  # a Sunday


def days(expression: str, n: int = 8, *, start: datetime = START) -> list[int]:
    return [t.day for t in CronSchedule.parse(expression).upcoming(start - timedelta(seconds=1), n)]


@pytest.mark.parametrize(
    ("expression", "same"),
    [
        ("0 0 * * 0", "0 0 * * 7"),
        ("0 0 * * SUN", "0 0 * * 0"),
        ("0 0 * * sun,Mon", "0 0 * * 0,1"),
        ("0 0 * * 5-7", "0 0 * * FRI,SAT,SUN"),
        ("0 0 * * 7-2", "0 0 * * 0-2"),
        ("0 0 * * 7-7", "0 0 * * 0"),
        ("0 0 * * 0-7", "0 0 * * *"),
        ("0 0 * * FRI-MON", "0 0 * * 5,6,0,1"),
        ("0 0 * * 7/2", "0 0 * * 0,2,4,6"),
        ("0 0 * * 1/2", "0 0 * * 1,3,5"),
        ("0 0 * NOV-FEB *", "0 0 * 11,12,1,2 *"),
        ("0 22-2 * * *", "0 0,1,2,22,23 * * *"),
        ("0 22-3/2 * * *", "0 22,0,2 * * *"),
        ("0 22-3/3 * * *", "0 22,1 * * *"),
        ("0 0 28-3/2 * *", "0 0 28,30,1,3 * *"),
        ("5-5 * * * *", "5 * * * *"),
        ("10/20 * * * *", "10,30,50 * * * *"),
        ("0-10/5 * * * *", "0,5,10 * * * *"),
        ("0 0 ? * MON", "0 0 * * MON"),
        ("0 0 1 * ?", "0 0 1 * *"),
        ("0 30 2 * * *", "30 2 * * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@Weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
        ("@every 1h30m", "@every 90m"),
        ("@every 1s 500ms", "@every 1500ms"),
        ("  0\t0 * *  1 ", "0 0 * * 1"),
        ("059 * * * *", "59 * * * *"),
    ],
)
def test_two_ways_of_writing_mean_the_same(expression: str, same: str) -> None:
    first, second = CronSchedule.parse(expression), CronSchedule.parse(same)
    assert first.upcoming(START, 50) == second.upcoming(START, 50)
    assert first.describe() == second.describe()


def test_two_restricted_day_fields_are_either_or_and_a_star_makes_it_both() -> None:
    assert days("0 0 13 * 5", 5) == [6, 13, 20, 27, 6]
    assert days("0 0 */2 * 1", 4) == [9, 23, 9, 23]
    assert days("0 0 1-7 * */2", 4) == [1, 3, 5, 7]
    assert days("0 0 1,*/9 * 1", 4) == [1, 2, 9, 10]


def test_leap_days_are_found_over_the_year_2100() -> None:
    leap = CronSchedule.parse("0 9 29 2 *")
    assert leap.next_after(datetime(2096, 2, 29, 9)) == datetime(2104, 2, 29, 9)
    assert leap.previous_before(datetime(2104, 2, 29, 9)) == datetime(2096, 2, 29, 9)
    assert leap.next_after(datetime(2028, 2, 29, 8)) == datetime(2028, 2, 29, 9)
    fifth_friday = CronSchedule.parse("0 0 * 2 FRI#5")
    assert fifth_friday.next_after(datetime(2080, 1, 1)) == datetime(2092, 2, 29)
    assert fifth_friday.next_after(datetime(2092, 3, 1)) == datetime(2104, 2, 29)


def test_the_end_of_the_calendar_is_the_end_of_the_search() -> None:
    assert CronSchedule.parse("@yearly").next_after(datetime(9999, 1, 1)) is None
    assert CronSchedule.parse("@yearly").previous_before(datetime(1, 1, 1)) is None
    assert CronSchedule.parse("@every 15m").next_after(datetime(9999, 12, 31, 23, 50)) is None
    assert CronSchedule.parse("@every 15m").previous_before(datetime(1, 1, 1)) is None
    assert len(CronSchedule.parse("@yearly").upcoming(datetime(9990, 6, 1), 50)) == 9


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 0 L * *", [28, 31, 30, 31]),
        ("0 0 LW * *", [27, 31, 30, 29]),
        ("0 0 15W * *", [16, 16, 15, 15]),
        ("0 0 1W,L * *", [2, 28, 2, 31]),
        ("0 0 * * FRI#2", [13, 13, 10, 8]),
        ("0 0 * * 5L", [27, 27, 24, 29]),
        ("0 0 * * FRIL", [27, 27, 24, 29]),
        ("0 0 * * L5", [27, 27, 24, 29]),
        ("0 0 * * 7#1,MON#1", [1, 2, 1, 2]),
        ("0 0 1 * 5#3", [1, 20, 1, 20]),
        ("0 0 */2 * 5#3", [17, 15, 19, 17]),
    ],
)
def test_days_that_depend_on_the_month(expression: str, expected: list[int]) -> None:
    assert days(expression, 4) == expected


def test_extended_days_go_backwards_as_well() -> None:
    last_day = CronSchedule.parse("0 0 L * *")
    assert last_day.previous_before(datetime(2028, 3, 5)) == datetime(2028, 2, 29)
    assert last_day.matches(datetime(2028, 2, 29))
    assert not last_day.matches(datetime(2028, 2, 28))


def test_hashed_values_are_spread_by_the_key_and_always_the_same() -> None:
    schedules = [CronSchedule.parse("H H(0-3) * * *", hash_key=f"job-{number}") for number in range(50)]
    times = {(t.hour, t.minute) for schedule in schedules for t in schedule.upcoming(START, 1)}
    assert len(times) > 30
    assert all(hour <= 3 for hour, _ in times)
    again = CronSchedule.parse("H H(0-3) * * *", hash_key="job-7")
    assert again == schedules[7]
    assert again != schedules[8]
    assert again.upcoming(START, 5) == schedules[7].upcoming(START, 5)
    quarters = CronSchedule.parse("H/15 * * * *", hash_key="a").upcoming(START, 5)
    assert {later - earlier for earlier, later in pairwise(quarters)} == {timedelta(minutes=15)}


REFUSED = [
    ("61 * * * *", "minute", "61", "0-59"),
    ("* 24 * * *", "hour", "24", "0-23"),
    ("0 0 0 * *", "day-of-month", "0", "1-31"),
    ("0 0 32 * *", "day-of-month", "32", "1-31"),
    ("0 0 1 13 *", "month", "13", "1-12 or JAN-DEC"),
    ("0 0 1 0 *", "month", "0", "1-12"),
    ("0 0 * * 8", "day-of-week", "8", "0-7 or SUN-SAT"),
    ("0 0 * * MONDAY", "day-of-week", "MONDAY", "SUN-SAT"),
    ("0 0 * FOO *", "month", "FOO", "JAN-DEC"),
    ("60 0 0 * * *", "second", "60", "0-59"),
    ("0-4294967295 * * * *", "minute", "4294967295", "0-59"),
    ("1-5/0 * * * *", "minute", "0", "1-60"),
    ("*/61 * * * *", "minute", "61", "1-60"),
    ("* */25 * * *", "hour", "25", "1-24"),
    ("1,,2 * * * *", "minute", "1,,2", "empty"),
    (", * * * *", "minute", ",", "empty"),
    ("-5 * * * *", "minute", "-5", "negative"),
    ("5- * * * *", "minute", "5-", "0-59"),
    ("1-2-3 * * * *", "minute", "1-2-3", "0-59"),
    ("1/2/3 * * * *", "minute", "1/2/3", "0-59"),
    ("**/2 * * * *", "minute", "**/2", "0-59"),
    ("1.5 * * * *", "minute", "1.5", "0-59"),
    ("? * * * *", "minute", "?", "'*'"),
    ("0 0 1,? * *", "day-of-month", "?", "1-31"),
    ("R * * * *", "minute", "R", "H"),
    ("H(0-60) * * * *", "minute", "H(0-60)", "0-59"),
    ("H(5-5) * * * *", "minute", "H(5-5)", "0-59"),
    ("H/0 * * * *", "minute", "H/0", "0-59"),
    ("L * * * *", "minute", "L", "0-59"),
    ("0 0 L-3 * *", "day-of-month", "L-3", "15W"),
    ("0 0 32W * *", "day-of-month", "32W", "15W"),
    ("0 0 0W * *", "day-of-month", "0W", "15W"),
    ("0 0 * * L", "day-of-week", "L", "FRIL"),
    ("0 0 * * 5#6", "day-of-week", "5#6", "FRI#2"),
    ("0 0 * * FOO#1", "day-of-week", "FOO#1", "FRI#2"),
    ("0 0 * * 8L", "day-of-week", "8L", "FRIL"),
    ("0 0 31 2 *", "day-of-month", "31", "FEB"),
    ("0 0 30 FEB ?", "day-of-month", "30", "29"),
    ("0 0 31 6 *", "day-of-month", "31", "JUN"),
    ("0 0 31 4,6,9,11 *", "day-of-month", "31", "30"),
    ("0 0 31 2 */2", "day-of-month", "31", "never"),
    ("0 0 */31 * 5#5", "day-of-week", "5#5", "never"),
    (f"{','.join(['1'] * 100)} * * * *", "minute", "100 terms", "ranges"),
    ("@every 0s", "interval", "0s", "at least 10 ms"),
    ("@every 9ms", "interval", "9ms", "at least 10 ms"),
    ("@every 9999d", "interval", "9999d", "at most 3660 days"),
    ("@every 999999999d", "interval", "999999999d", "at most 3660 days"),
    ("@every -5s", "interval", "-5s", "15m"),
    ("@every 1.5h", "interval", "1.5h", "1h30m"),
    ("@every 30m1h", "interval", "30m1h", "largest unit first"),
    ("@every", "interval", "", "15m"),
    ("@every 5", "interval", "5", "15m"),
    ("@reboot", "", "@reboot", "@daily"),
    ("@fortnightly", "", "@fortnightly", "@weekly"),
    ("@daily 5", "", "@daily 5", "@daily"),
    ("", "", "0 fields", "five fields"),
    ("* * * *", "", "4 fields", "five fields"),
    ("0 0 0 1 1 * 2027", "", "7 fields", "years"),
    ("x" * 10_000, "", "10000 characters", "1000"),
    ("* * * * é", "", "é", "ASCII"),
    ("٣ * * * *", "", "٣", "ASCII"),
]


@pytest.mark.parametrize(("expression", "field", "value", "allowed"), REFUSED, ids=[case[0][:20] for case in REFUSED])
def test_what_is_wrong_is_refused_and_the_error_names_field_value_and_what_is_allowed(
    expression: str, field: str, value: str, allowed: str
) -> None:
    with pytest.raises(InvalidCron) as caught:
        CronSchedule.parse(expression)
    message = str(caught.value)
    assert caught.value.field == field
    assert field in message or field == "interval"
    assert value in message
    assert allowed in message
    assert len(message) < 400


def test_an_error_of_cron_is_a_value_error_and_one_of_the_library() -> None:
    assert issubclass(InvalidCron, InvalidValue)
    assert issubclass(InvalidCron, ValueError)
    assert issubclass(InvalidCron, BeskarError)
    with pytest.raises(InvalidCron, match="is a text, not 5"):
        CronSchedule.parse(5)  # type: ignore[arg-type]


def test_hostile_expressions_cost_next_to_nothing() -> None:
    hostile = [
        "0-4294967295 * * * *",
        f"*/{'9' * 900} * * * *",
        f"{'9' * 900} * * * *",
        f"{','.join(str(n % 60) for n in range(330))} * * * *",
        "1," * 5000 + "1 * * * *",
        "* " * 400,
        "(" * 999,
        f"@every {'1d' * 400}",
        f"@every {'9' * 900}s",
        f"H({'0' * 400}-5) * * * *",
        "0 0 */31 2-12/2 5#5",
    ]
    started = time.process_time()
    for expression in hostile:
        with pytest.raises(InvalidCron):
            CronSchedule.parse(expression)
    assert time.process_time() - started < 5  # seconds; a thousandth of it is usual


def test_croniter_is_loaded_by_those_alone_who_need_it() -> None:
    code = (
        "import sys; from beskar_jobs.cron import CronSchedule; "
        "CronSchedule.parse('*/5 9-17 1 JAN MON-FRI'); assert 'croniter' not in sys.modules; "
        "CronSchedule.parse('H * * * *'); "
        "assert 'croniter' in sys.modules"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr


def test_a_schedule_is_a_value() -> None:
    schedule = CronSchedule.parse("0 3  * * mon")
    assert schedule == CronSchedule.parse("0 3 * * MON")
    assert hash(schedule) == hash(CronSchedule.parse("0 3 * * MON"))
    assert schedule != CronSchedule.parse("0 4 * * MON")
    assert schedule.text == str(schedule) == "0 3 * * MON"
    assert repr(schedule) == "CronSchedule.parse('0 3 * * MON')"
    assert CronSchedule.parse(schedule.text) == schedule
    with pytest.raises(AttributeError):
        schedule.text = "* * * * *"  # type: ignore[misc]


def test_a_match_is_exact_to_the_microsecond() -> None:
    schedule = CronSchedule.parse("30 12 * * *")
    assert schedule.matches(datetime(2026, 2, 1, 12, 30))
    assert not schedule.matches(datetime(2026, 2, 1, 12, 30, 1))
    assert not schedule.matches(datetime(2026, 2, 1, 12, 30, 0, 1))
    assert schedule.previous_before(datetime(2026, 2, 1, 12, 30, 0, 1)) == datetime(2026, 2, 1, 12, 30)
    assert schedule.next_after(datetime(2026, 2, 1, 12, 29, 59, 999_999)) == datetime(2026, 2, 1, 12, 30)


@pytest.mark.parametrize("n", [-1, 100_001, True, 2.0])
def test_upcoming_takes_a_number_within_bounds(n: int) -> None:
    with pytest.raises(InvalidValue, match="from 0 to 100000"):
        CronSchedule.parse("* * * * *").upcoming(START, n)


def test_a_schedule_is_asked_with_a_datetime() -> None:
    for question in (CronSchedule.parse("* * * * *").next_after, CronSchedule.parse("@every 5s").matches):
        with pytest.raises(InvalidValue, match="with a datetime"):
            question("2026-01-01")  # type: ignore[arg-type]
