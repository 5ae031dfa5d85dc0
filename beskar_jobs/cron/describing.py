"""A schedule as a plain English sentence. It is made from the masks, so that two spellings of one thing read alike.

The sentence has two parts, the time of day and the days. Times are listed on a 24-hour clock as long as they are few
(``At 09:00 and 17:30``); what repeats evenly is told by its step, and everything else field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from beskar_jobs.cron.every import Every
from beskar_jobs.cron.extended import SpecialDays
from beskar_jobs.cron.fields import DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH, SECOND, Field, values
from beskar_jobs.cron.pattern import Pattern

_WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS: Final = (
    "",
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_UNITS: Final = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000), ("millisecond", 1))
_NTH: Final = {"1": "first", "2": "second", "3": "third", "4": "fourth", "5": "fifth"}
_MOST_TIMES: Final = 6
"""Up to so many times of day are listed one by one."""
_OF_MONTH: Final = "of the month"
_LONG: Final = 4
"""From so many values on, an even step is told by its size."""


def describe(rule: Pattern | Every) -> str:
    """The sentence, with a capital at its start and a full stop."""
    if isinstance(rule, Every):
        return f"Every {_interval(rule.interval)}."
    time, is_listed = _time(rule)
    days = _days(rule)
    if not days and is_listed:
        days = "every day"
    return f"{time} {days}".rstrip() + "."


def _interval(interval: timedelta) -> str:
    rest = interval // timedelta(milliseconds=1)
    parts = []
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}s" if count > 1 else f"1 {unit}")
    if len(parts) == 1 and parts[0].startswith("1 "):
        return parts[0][2:]
    return _join(parts)


# --- the time of day ------------------------------------------------------------------------------------------------


def _time(rule: Pattern) -> tuple[str, bool]:
    """The time of day, and whether it is a list of times."""
    seconds, minutes, hours = values(rule.seconds), values(rule.minutes), values(rule.hours)
    if len(seconds) * len(minutes) * len(hours) <= _MOST_TIMES:
        clock = "{:02}:{:02}" if seconds == [0] else "{:02}:{:02}:{:02}"
        times = [clock.format(hour, minute, second) for hour in hours for minute in minutes for second in seconds]
        return f"At {_join(times)}", True
    if seconds != [0]:
        return _with_seconds(rule), False
    span = _span(rule)
    if rule.minutes == MINUTE.all:
        return f"Every minute{span}", False
    if step := _even_step(rule.minutes, MINUTE):
        return f"Every {step} minutes{span}", False
    if len(minutes) == 1 and len(_runs(rule.hours, HOUR)) == 1 and span:
        return f"Every hour{span}", False
    past = "on the hour" if minutes == [0] else f"at {_list(rule.minutes, MINUTE, str)} minutes past"
    past = "at 1 minute past" if minutes == [1] else past
    if rule.hours == HOUR.all:
        return f"Every hour, {past}", False
    if step := _even_step(rule.hours, HOUR):
        return f"Every {step} hours, {past}", False
    past = "At" if minutes == [0] else past.capitalize()
    return f"{past} {_named('hour', rule.hours, HOUR)}", True


def _span(rule: Pattern) -> str:
    """When something goes on that repeats by the minute: from the first time in a run of hours to the last."""
    if rule.hours == HOUR.all:
        return ""
    runs = _runs(rule.hours, HOUR)
    first, last = values(rule.minutes)[0], values(rule.minutes)[-1]
    return " from " + _join([f"{start:02}:{first:02} through {end:02}:{last:02}" for start, end in runs])


def _with_seconds(rule: Pattern) -> str:
    if rule.seconds == SECOND.all:
        time = "Every second"
    elif step := _even_step(rule.seconds, SECOND):
        time = f"Every {step} seconds"
    else:
        time = f"At {_named('second', rule.seconds, SECOND)}"
    if rule.minutes == MINUTE.all and rule.hours == HOUR.all:
        return time if time.startswith("Every") else f"{time} of every minute"
    if rule.minutes == MINUTE.all:
        time += " of every minute"
    elif step := _even_step(rule.minutes, MINUTE):
        time += f" of every {_ordinal(step)} minute"
    else:
        time += f" of {_named('minute', rule.minutes, MINUTE)}"
    if rule.hours == HOUR.all:
        return f"{time} of every hour"
    if step := _even_step(rule.hours, HOUR):
        return f"{time} of every {_ordinal(step)} hour"
    return f"{time} of {_named('hour', rule.hours, HOUR)}"


# --- the days -------------------------------------------------------------------------------------------------------


def _days(rule: Pattern) -> str:
    by_date = None if rule.days == DAY_OF_MONTH.all else _by_date(rule)
    by_weekday = None if rule.weekdays == DAY_OF_WEEK.all else _by_weekday(rule)
    if not rule.both_days and (by_date is None or by_weekday is None):
        by_date = by_weekday = None  # either is enough, and one of them is any day
    if by_date and by_weekday:
        link = "if it is" if rule.both_days else "and on"
        days = f"on {by_date} {link} {by_weekday}"
    else:
        days = f"on {by_date or by_weekday}" if by_date or by_weekday else ""
    if rule.months == MONTH.all:
        return days
    months = _list(rule.months, MONTH, _MONTHS.__getitem__)
    if days.count(_OF_MONTH) == 1 and not (by_date and by_weekday):
        return days.replace(_OF_MONTH, f"of {months}")
    return f"{days or 'every day'} in {months}"


def _by_date(rule: Pattern) -> str:
    found = []
    if rule.days:
        dates = values(rule.days)
        step = dates[1] - dates[0] if len(dates) >= _LONG else 0
        if step > 1 and dates == list(range(dates[0], DAY_OF_MONTH.high + 1, step)):
            found.append(f"every {_ordinal(step)} day {_OF_MONTH} from day {dates[0]}")
        else:
            found.append(f"{_named('day', rule.days, DAY_OF_MONTH)} {_OF_MONTH}")
    for term in sorted(_terms(rule.special_days)):
        if term == "L":
            found.append(f"the last day {_OF_MONTH}")
        elif term == "31W":
            found.append(f"the last working day (Monday to Friday) {_OF_MONTH}")
        else:
            found.append(f"the working day (Monday to Friday) nearest to day {term[:-1]} {_OF_MONTH}")
    return _join(found)


def _by_weekday(rule: Pattern) -> str:
    found = []
    last = "or" if rule.both_days and rule.days != DAY_OF_MONTH.all else "and"
    if rule.weekdays:
        found.append(_list(rule.weekdays, DAY_OF_WEEK, _WEEKDAYS.__getitem__, last))
    for term in sorted(_terms(rule.special_weekdays)):
        if term.startswith("L"):
            found.append(f"the last {_WEEKDAYS[int(term[1])]} {_OF_MONTH}")
        else:
            found.append(f"the {_NTH[term[2]]} {_WEEKDAYS[int(term[0])]} {_OF_MONTH}")
    return _join(found, last)


def _terms(special: SpecialDays | None) -> frozenset[str]:
    return special.terms if special else frozenset()


# --- words ----------------------------------------------------------------------------------------------------------


def _even_step(mask: int, field: Field) -> int | None:
    """The step of values that go evenly round the clock from 0 (``*/15``), or None."""
    found = values(mask)
    step = found[1] - found[0] if len(found) > 1 else 0
    return step if step > 1 and field.size % step == 0 and found == list(range(0, field.size, step)) else None


def _runs(mask: int, field: Field) -> list[tuple[int, int]]:
    """Values that follow one another, as first and last; one run may go across the end of the field."""
    runs: list[tuple[int, int]] = []
    for value in values(mask):
        if runs and runs[-1][1] == value - 1:
            runs[-1] = (runs[-1][0], value)
        else:
            runs.append((value, value))
    if len(runs) > 1 and field is not DAY_OF_MONTH and runs[0][0] == field.low and runs[-1][1] == field.high:
        start, _ = runs.pop()
        _, end = runs.pop(0)
        runs.append((start, end))
    return runs


def _list(mask: int, field: Field, word: Callable[[int], str], last: str = "and") -> str:
    words: list[str] = []
    for start, end in _runs(mask, field):
        count = (end - start) % field.size + 1
        if count > 2:
            words.append(f"{word(start)} through {word(end)}")
        else:
            words.extend([word(start), word(end)][:count])
    return _join(words, last)


def _named(noun: str, mask: int, field: Field) -> str:
    return f"{noun}{'' if mask & (mask - 1) == 0 else 's'} {_list(mask, field, str)}"


def _ordinal(number: int) -> str:
    ending = "th" if 11 <= number % 100 <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _join(words: Sequence[str], last: str = "and") -> str:
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
