"""A recurring definition's schedule in its zone, between its start and its end; and the check of all of it.

The same check stands on both sides of the wire: a client refuses what it can know, a scheduler refuses all of it again.
Instants come and go in UTC, whatever zone the process is in.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, Self, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import attrs

from beskar_jobs.cron.every import MAX_INTERVAL
from beskar_jobs.cron.schedule import CronSchedule
from beskar_jobs.model.errors import InvalidCron, InvalidValue
from beskar_jobs.model.names import checked_name
from beskar_jobs.model.recurring import MAX_JITTER, MAX_MISFIRE_LIMIT, Misfire, Overlap, RecurringDefinition

E = TypeVar("E", Overlap, Misfire)

MIN_RECURRING_INTERVAL: Final = timedelta(milliseconds=100)
"""The shortest interval of a recurring job; each instant is a commit and a job."""
MAX_SCHEDULE_TEXT: Final = 1_000

_MICROSECOND: Final = timedelta(microseconds=1)
_MILLISECOND: Final = timedelta(milliseconds=1)


def every_text(interval: timedelta) -> str:
    """*interval* as the schedule ``@every …``.

    Raises:
        InvalidValue: zero, negative, below 100 ms, above ten years, or not whole milliseconds.
    """
    if not isinstance(interval, timedelta):
        raise InvalidValue(f"every is a timedelta, such as timedelta(minutes=15), not {interval!r}")
    if not MIN_RECURRING_INTERVAL <= interval <= MAX_INTERVAL:
        raise InvalidValue(f"every is from 100 ms to {MAX_INTERVAL.days} days, not {interval.total_seconds():g} s")
    if interval % _MILLISECOND:
        raise InvalidValue(f"every is whole milliseconds, not {interval!r}")
    parts, rest = [], interval
    for unit, length in (("d", timedelta(days=1)), ("s", timedelta(seconds=1)), ("ms", _MILLISECOND)):
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count}{unit}")
    return f"@every {''.join(parts)}"


@lru_cache(maxsize=1024)
def zone_of(name: str) -> ZoneInfo:
    """The IANA zone of this name.

    Raises:
        InvalidValue: there is none.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidValue(
            f"the time zone {name[:100]!r} is unknown; give an IANA name such as 'Europe/Berlin'"
        ) from None


@lru_cache(maxsize=4096)
def _schedule_of(text: str, hash_key: str) -> CronSchedule:
    schedule = CronSchedule.parse(text, hash_key=hash_key)
    first = schedule.next_after(datetime(2026, 1, 1))  # only an interval can repeat within a second
    second = None if first is None else schedule.next_after(first)
    if first is not None and second is not None and second - first < MIN_RECURRING_INTERVAL:
        raise InvalidCron(f"a recurring job has at least 100 ms between instants; {text!r} has less", field="interval")
    return schedule


@attrs.frozen
class Timetable:
    """When an entry is to fire."""

    schedule: CronSchedule
    zone: ZoneInfo
    start: datetime | None
    end: datetime | None

    @classmethod
    def of(cls, definition: RecurringDefinition) -> Self:
        """The timetable of *definition*.

        Raises:
            InvalidValue: its schedule or its zone is none.
        """
        text = definition.schedule
        if not isinstance(text, str) or len(text) > MAX_SCHEDULE_TEXT:
            raise InvalidValue(f"a schedule is a text of up to {MAX_SCHEDULE_TEXT} characters")
        # The name spreads H; where there is none, entries of one text share what was read.
        key = definition.name if "h" in text.lower() else ""
        if not isinstance(definition.time_zone, str):
            raise InvalidValue(f"time_zone is an IANA name such as 'Europe/Berlin', not {definition.time_zone!r}")
        return cls(_schedule_of(text, key), zone_of(definition.time_zone), definition.start, definition.end)

    def next_after(self, t: datetime) -> datetime | None:
        """The first instant after *t*, in UTC; ``None``: there is no more."""
        if self.start is not None and t < self.start:
            t = self.start - _MICROSECOND
        found = self.schedule.next_after(t.astimezone(self.zone))
        if found is None:
            return None
        found = found.astimezone(UTC)
        return None if self.end is not None and found > self.end else found

    def latest(self, since: datetime, until: datetime, limit: int) -> list[datetime]:
        """The last *limit* instants from *since* to *until*, both included; ascending."""
        if self.end is not None:
            until = min(until, self.end)
        found: list[datetime] = []
        at: datetime | None = (until + _MICROSECOND).astimezone(self.zone)
        while len(found) < limit and at is not None and (at := self.schedule.previous_before(at)) is not None:
            instant = at.astimezone(UTC)
            if instant < since:
                break
            found.append(instant)
        found.reverse()
        return found


def check_definition(definition: RecurringDefinition) -> Timetable:
    """The timetable of *definition*, all of which keeps its rules; what its jobs are made of is checked as a job is.

    Raises:
        InvalidValue: naming the option and the rule.
    """
    checked_name("recurring name", definition.name)
    if not isinstance(definition.overlap, Overlap):
        raise _no_member("overlap", definition.overlap, Overlap)
    if not isinstance(definition.misfire, Misfire):
        raise _no_member("misfire", definition.misfire, Misfire)
    limit = definition.misfire_limit
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_MISFIRE_LIMIT:
        raise InvalidValue(f"misfire_limit is a whole number from 1 to {MAX_MISFIRE_LIMIT}, not {limit!r}")
    jitter = definition.jitter
    if isinstance(jitter, bool) or not isinstance(jitter, int | float) or not 0 <= jitter <= MAX_JITTER:
        raise InvalidValue(f"jitter is from 0 to {MAX_JITTER:.0f} seconds, not {jitter!r}")
    if not math.isfinite(jitter):
        raise InvalidValue(f"jitter is a finite number of seconds, not {jitter!r}")
    start, end = definition.start, definition.end
    for option, moment in (("start", start), ("end", end)):
        if moment is not None and (not isinstance(moment, datetime) or moment.tzinfo is None):
            raise InvalidValue(f"{option} is a datetime with a time zone, not {moment!r}")
    if start is not None and end is not None and end <= start:
        raise InvalidValue(f"end ({end.isoformat()}) is not after start ({start.isoformat()})")
    return Timetable.of(definition)


def as_member(option: str, value: Any, kind: type[E]) -> E:
    """*value*, a member of *kind* or the text of one, as member.

    Raises:
        InvalidValue: it is neither.
    """
    try:
        return kind(value)
    except ValueError:
        raise _no_member(option, value, kind) from None


def _no_member(option: str, value: object, kind: type[Overlap] | type[Misfire]) -> InvalidValue:
    names = ", ".join(member.value for member in kind)
    return InvalidValue(f"{option} is one of {names}; not {value!r}")


def as_utc(option: str, moment: Any) -> datetime | None:
    """*moment*, an aware datetime or ``None``, in UTC.

    Raises:
        InvalidValue: it is something else, or no time in UTC.
    """
    if moment is None:
        return None
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise InvalidValue(f"{option} is a datetime with a time zone, not {moment!r}")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidValue(f"{option} {moment.isoformat()} is no time in UTC") from None
