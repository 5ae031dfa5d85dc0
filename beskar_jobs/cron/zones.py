"""Cron in a time zone: what happens when the clocks change. The rule is Debian's cron.

There are two kinds of schedule, told apart by how they are written:

* **Fixed time** (no ``*`` at the start of second, minute or hour: ``30 2 * * *``, ``0,30 9-17 * * 1-5``). Each time
  that is named happens once a day. One that the clocks skip happens at the end of the gap, and all that fall into one
  gap together are one firing; one that the clocks show twice happens the first time.
* **Real time** (second, minute or hour starts with ``*`` or is ``H/n``: ``0 * * * *``, ``*/15 2 * * *``). Whenever the
  clock shows a matching time: not in a gap, and both times in an overlap. An hourly job keeps its distance of an hour.

Seconds are no matter of Debian's; they are treated alike, so that ``0 30 2 * * *`` means what ``30 2 * * *`` does.

Fixed-time schedules are a map *f* from wall times to instants that never decreases; real-time ones are the instants
whose wall time matches. All is derived from two questions to the zone, the UTC offset of a wall time with ``fold`` 0
and 1: they differ in a gap (the first is smaller) and in an overlap (the first is greater), and nowhere else. So the
shift may have any size and hour: half an hour on Lord Howe Island, midnights that do not exist, a whole day left out in
Samoa.

Most days are far from any change. Which are not is remembered by zone and year (:func:`is_steady`); between two steady
times the wall clock alone tells the answer, and the functions for changes are not asked.

Aware datetimes are compared here as naive UTC or naive wall times only: Python compares two of the same zone by the
wall clock, and forgets the fold.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final, Protocol, TypeGuard
from zoneinfo import ZoneInfo

from beskar_jobs.cron.fields import SEARCH_YEARS
from beskar_jobs.model.errors import InvalidValue

_SECOND: Final = timedelta(seconds=1)
_MICROSECOND: Final = timedelta(microseconds=1)
_DAY: Final = timedelta(days=1)
_NEAR: Final = timedelta(hours=25)
"""More than any zone was ever set back at once: 24 hours, where it moved over the date line."""
_FIRST_YEAR: Final = 2
_LAST_YEAR: Final = 9998
"""Beyond these years an offset may lead out of the calendar; there is no answer there."""


class WallClock(Protocol):
    """Matching times of a clock without a zone; both searches are strict."""

    def matches(self, t: datetime, /) -> bool: ...
    def next_after(self, t: datetime, /) -> datetime | None: ...
    def previous_before(self, t: datetime, /) -> datetime | None: ...


def is_steady(wall: datetime, zone: tzinfo | None) -> bool:
    """Whether the clocks of *zone* surely do not change within 25 hours of the wall time *wall*."""
    if type(zone) is ZoneInfo:
        return not _unsteady_days(zone, wall.year) >> (wall.month << 5 | wall.day) & 1
    return type(zone) is timezone


@lru_cache(maxsize=4096)
def _unsteady_days(zone: ZoneInfo, year: int) -> int:
    """The days of a year on which or within two days of which the clocks change: bit ``32 * month + day`` for each."""
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        return -1
    day, end = datetime(year, 1, 1) - 3 * _DAY, datetime(year, 12, 31) + 3 * _DAY
    days, offset = 0, _offset(day, zone)
    while day < end:
        day += _DAY
        if (later := _offset(day, zone)) != offset:
            offset = later
            for distance in range(-3, 3):
                near = day + distance * _DAY
                if near.year == year:
                    days |= 1 << (near.month << 5 | near.day)
    return days


def matches_fixed_time(clock: WallClock, t: datetime) -> bool:
    """Whether a fixed-time schedule fires at the instant *t*."""
    zone = _zone(t)
    wall, offset = _locate(t, zone)
    first, second = _offsets(wall, zone)
    if first != second and offset == second:
        return False
    if clock.matches(wall):
        return True
    if wall.microsecond or wall.year < _FIRST_YEAR:
        return False
    first, second = _offsets(wall - _SECOND, zone)
    if first >= second or _change(wall - second - _SECOND, wall - first, zone) != wall - second:
        return False
    in_gap = clock.previous_before(wall)  # *t* is the end of a gap: what the gap named comes now
    return in_gap is not None and in_gap >= wall - (second - first)


def matches_real_time(clock: WallClock, t: datetime) -> bool:
    """Whether the wall time of the instant *t* matches."""
    return clock.matches(_locate(t, _zone(t))[0])


def next_fixed_time(clock: WallClock, t: datetime) -> datetime | None:
    """The first firing of a fixed-time schedule after *t*."""
    zone = _zone(t)
    wall, offset = _locate(t, zone)
    if type(zone) is not timezone:
        first, second = _offsets(wall, zone)
        if first != second and offset == second:
            # Second pass: whatever the rest of the overlap names has been.
            wall = _change(wall - first, wall - second, zone) + first - _MICROSECOND
    found = clock.next_after(wall)
    if not _in_range(found):
        return None
    first, second = _offsets(found, zone)
    if first < second:
        found = _change(found - second, found - first, zone) + second
    return found.replace(tzinfo=zone)


def previous_fixed_time(clock: WallClock, t: datetime) -> datetime | None:
    """The last firing of a fixed-time schedule before *t*."""
    zone = _zone(t)
    wall, offset = _locate(t, zone)
    if type(zone) is not timezone:
        first, second = _offsets(wall, zone)
        if first != second and offset == second:
            # Second pass: all that the overlap names has been, in the first.
            wall = _change(wall - first, wall - second, zone) + first
    found = clock.previous_before(wall)
    if not _in_range(found):
        return None
    first, second = _offsets(found, zone)
    if first < second:
        change = _change(found - second, found - first, zone)
        if change + second < wall:
            return (change + second).replace(tzinfo=zone)
        # The end of the gap is *t* itself, so what fell into the gap is not before it.
        found = clock.previous_before(change + first)
    return found.replace(tzinfo=zone) if _in_range(found) else None


def next_real_time(clock: WallClock, t: datetime) -> datetime | None:
    """The first instant after *t* whose wall time matches."""
    zone = _zone(t)
    wall, offset = _locate(t, zone)
    last_year = wall.year + SEARCH_YEARS
    while True:
        found = clock.next_after(wall)
        # In a gap each year, and nowhere else (02:30 of the day of the change): never, so that the search needs an end.
        if not _in_range(found) or found.year > last_year:
            return None
        start = wall - offset
        if _offset(wall + _NEAR, zone, fold=1) == offset or _offset_at(start + _NEAR, zone) == offset:
            first, second = _offsets(found, zone)
            if first >= second:
                is_near = found - wall <= _NEAR
                return found.replace(tzinfo=zone, fold=1 if first > second and is_near and offset == second else 0)
            change = _change(found - second, found - first, zone)
        else:
            # The clocks change soon: up to then they run on, and then they start from another wall time.
            change = _change(start, start + _NEAR, zone)
            if found - offset < change:
                return _at(found - offset, zone)
        offset = _offset_at(change, zone)
        wall = change + offset - _MICROSECOND


def previous_real_time(clock: WallClock, t: datetime) -> datetime | None:
    """The last instant before *t* whose wall time matches."""
    zone = _zone(t)
    wall, offset = _locate(t, zone)
    first_year = wall.year - SEARCH_YEARS
    while True:
        found = clock.previous_before(wall)
        if not _in_range(found) or found.year < first_year:
            return None
        start = wall - offset
        if _offset_at(start - _NEAR, zone) == offset:
            first, second = _offsets(found, zone)
            if first >= second:
                is_near = wall - found <= _NEAR
                return found.replace(tzinfo=zone, fold=0 if first == second or (is_near and offset == first) else 1)
            change = _change(found - second, found - first, zone)
        else:
            change = _change(start - _NEAR, start, zone)
            if found - offset >= change:
                return _at(found - offset, zone)
        offset = _offset_at(change - _SECOND, zone)
        wall = change + offset


def _zone(t: datetime) -> tzinfo:
    zone = t.tzinfo
    if zone is None or hasattr(zone, "localize"):
        raise InvalidValue(f"cron takes the time zones of zoneinfo, not {zone!r}: ZoneInfo('Europe/Berlin')")
    return zone


def _in_range(wall: datetime | None) -> TypeGuard[datetime]:
    return wall is not None and _FIRST_YEAR <= wall.year <= _LAST_YEAR


def _offset(wall: datetime, zone: tzinfo, *, fold: int = 0) -> timedelta:
    offset = wall.replace(tzinfo=zone, fold=fold).utcoffset()
    if offset is None:
        raise InvalidValue(
            f"the time zone {zone!r} gives no UTC offset; take one of zoneinfo: ZoneInfo('Europe/Berlin')"
        )
    return offset


def _offsets(wall: datetime, zone: tzinfo) -> tuple[timedelta, timedelta]:
    """The offset before and after a change at *wall*; twice the same where there is none."""
    return _offset(wall, zone), _offset(wall, zone, fold=1)


def _locate(t: datetime, zone: tzinfo) -> tuple[datetime, timedelta]:
    """The wall time at the instant *t*, and the offset then; a time in a gap is read as the instant that it denotes."""
    wall, offset = t.replace(tzinfo=None, fold=0), _offset(t, zone, fold=t.fold)
    if offset == _offset(t, zone, fold=1 - t.fold):
        return wall, offset
    start = wall - offset
    offset = _offset_at(start, zone)
    return start + offset, offset


def _at(instant: datetime, zone: tzinfo) -> datetime:
    """The time in *zone* at *instant*, which is naive UTC."""
    return instant.replace(tzinfo=UTC).astimezone(zone)


def _offset_at(instant: datetime, zone: tzinfo) -> timedelta:
    return _at(instant, zone).replace(tzinfo=None, fold=0) - instant


def _change(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The instant (naive UTC, to the second) between two others at which the offset changes."""
    before, after = before.replace(microsecond=0), after.replace(microsecond=0) + _SECOND
    old = _offset_at(before, zone)
    low, high = 0, (after - before) // _SECOND
    while high - low > 1:
        middle = (low + high) // 2
        if _offset_at(before + middle * _SECOND, zone) == old:
            low = middle
        else:
            high = middle
    return before + high * _SECOND
