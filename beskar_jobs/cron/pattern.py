"""A cron expression as bit masks, on a wall clock without a zone; the next and the previous match by bit jumps.

Each field is one int whose bit *n* stands for the value *n*. The first value above *v* is the lowest bit of
``mask >> v + 1``, the last below it the highest bit of ``mask & (1 << v) - 1``: no field is searched value by value.
The days of a month are one mask too, made of both day fields for the month at hand.

The two day fields follow Vixie's cron, as Debian has it: if one of them starts with ``*`` both must match (so
``0 0 */2 * 1`` is Mondays on odd days), else either is enough.

The search is bounded to :data:`~beskar_jobs.cron.fields.SEARCH_YEARS` years, and to the years that
:class:`datetime.datetime` knows; beyond, the answer is ``None``. The longest pause of an expression that fires at all
is 40 years (29 February on a given weekday, across 2100), so that only the end of the calendar is ever reached.
"""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, datetime
from typing import Final

import attrs

from beskar_jobs.cron import zones
from beskar_jobs.cron.extended import SpecialDays
from beskar_jobs.cron.fields import LONGEST_MONTHS, SEARCH_YEARS, MonthShape, month_shape

_WEEKS: Final = sum(1 << 7 * week for week in range(6))
"""Times a mask of weekdays: the same mask for six weeks on end, enough for any month."""


@attrs.frozen
class Pattern:
    """What an expression of five or six fields says.

    The three methods for naive datetimes read the wall clock of aware ones as well, and forget the zone.

    Args:
        seconds, minutes, hours, days, months, weekdays: one mask a field, none of them empty but those of day fields
            with special days.
        both_days: whether day-of-month and day-of-week must both match; else either is enough.
        real_time: whether the schedule follows real time over a change of the clocks; see
        :mod:`beskar_jobs.cron.zones`. special_days, special_weekdays: the days of ``L``, ``W`` and ``#``, in addition
        to *days* and *weekdays*.
    """

    seconds: int
    minutes: int
    hours: int
    days: int
    months: int
    weekdays: int
    both_days: bool
    real_time: bool
    special_days: SpecialDays | None = None
    special_weekdays: SpecialDays | None = None

    def matches_some_month(self) -> bool:
        """Whether a month of any shape has a day that matches."""
        for month, longest in enumerate(LONGEST_MONTHS):
            if self.months >> month & 1:
                lengths = (28, 29) if longest == 29 else (longest,)
                if any(self._days_in(MonthShape(first, length)) for length in lengths for first in range(7)):
                    return True
        return False

    def matches(self, t: datetime) -> bool:
        return bool(
            not t.microsecond
            and self.seconds >> t.second & 1
            and self.minutes >> t.minute & 1
            and self.hours >> t.hour & 1
            and self.months >> t.month & 1
            and self._days_in(month_shape(t.year, t.month)) >> t.day & 1
        )

    def next_after(self, t: datetime) -> datetime | None:
        """The first match after *t*, both naive."""
        year, month, day = t.year, t.month, t.day
        if self.months >> month & 1:
            days = self._days_in(month_shape(year, month))
            if days >> day & 1:
                hour, minute, second = t.hour, t.minute, t.second
                if self.hours >> hour & 1:
                    if self.minutes >> minute & 1 and (later := self.seconds >> second + 1):
                        return datetime(year, month, day, hour, minute, second + (later & -later).bit_length())
                    if later := self.minutes >> minute + 1:
                        return datetime(
                            year, month, day, hour, minute + (later & -later).bit_length(), _low(self.seconds)
                        )
                if later := self.hours >> hour + 1:
                    hour += (later & -later).bit_length()
                    return datetime(year, month, day, hour, _low(self.minutes), _low(self.seconds))
            if later := days >> day + 1:
                return self._start_of(year, month, day + (later & -later).bit_length())
        last_year = min(year + SEARCH_YEARS, MAXYEAR)
        while True:
            if later := self.months >> month + 1:
                month += (later & -later).bit_length()
            else:
                year, month = year + 1, _low(self.months)
                if year > last_year:
                    return None
            if days := self._days_in(month_shape(year, month)):
                return self._start_of(year, month, _low(days))

    def previous_before(self, t: datetime) -> datetime | None:
        """The last match before *t*, both naive."""
        year, month, day = t.year, t.month, t.day
        if self.months >> month & 1:
            days = self._days_in(month_shape(year, month))
            if days >> day & 1:
                hour, minute = t.hour, t.minute
                if self.hours >> hour & 1:
                    end = t.second + 1 if t.microsecond else t.second
                    if self.minutes >> minute & 1 and (earlier := self.seconds & (1 << end) - 1):
                        return datetime(year, month, day, hour, minute, _high(earlier))
                    if earlier := self.minutes & (1 << minute) - 1:
                        return datetime(year, month, day, hour, _high(earlier), _high(self.seconds))
                if earlier := self.hours & (1 << hour) - 1:
                    return datetime(year, month, day, _high(earlier), _high(self.minutes), _high(self.seconds))
            if earlier := days & (1 << day) - 1:
                return self._end_of(year, month, _high(earlier))
        first_year = max(year - SEARCH_YEARS, MINYEAR)
        while True:
            if earlier := self.months & (1 << month) - 1:
                month = _high(earlier)
            else:
                year, month = year - 1, _high(self.months)
                if year < first_year:
                    return None
            if days := self._days_in(month_shape(year, month)):
                return self._end_of(year, month, _high(days))

    def matches_in_zone(self, t: datetime) -> bool:
        """Whether it fires at the instant *t*, which is aware."""
        if zones.is_steady(t, t.tzinfo):
            return self.matches(t)
        return zones.matches_real_time(self, t) if self.real_time else zones.matches_fixed_time(self, t)

    def next_in_zone(self, t: datetime) -> datetime | None:
        """The first instant after *t*, both aware and of one zone."""
        if zones.is_steady(t, zone := t.tzinfo):
            found = self.next_after(t)
            if found is None or zones.is_steady(found, zone):
                return found and found.replace(tzinfo=zone)
        return zones.next_real_time(self, t) if self.real_time else zones.next_fixed_time(self, t)

    def previous_in_zone(self, t: datetime) -> datetime | None:
        """The last instant before *t*, both aware and of one zone."""
        if zones.is_steady(t, zone := t.tzinfo):
            found = self.previous_before(t)
            if found is None or zones.is_steady(found, zone):
                return found and found.replace(tzinfo=zone)
        return zones.previous_real_time(self, t) if self.real_time else zones.previous_fixed_time(self, t)

    def _days_in(self, shape: MonthShape) -> int:
        """The mask of the days that match in a month of this shape."""
        first, length = shape
        days, weekdays = self.days, (self.weekdays * _WEEKS >> first) << 1
        if self.special_days is not None:
            days |= self.special_days.days_in(shape)
        if self.special_weekdays is not None:
            weekdays |= self.special_weekdays.days_in(shape)
        return (days & weekdays if self.both_days else days | weekdays) & (2 << length) - 2

    def _start_of(self, year: int, month: int, day: int) -> datetime:
        return datetime(year, month, day, _low(self.hours), _low(self.minutes), _low(self.seconds))

    def _end_of(self, year: int, month: int, day: int) -> datetime:
        return datetime(year, month, day, _high(self.hours), _high(self.minutes), _high(self.seconds))


def _low(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _high(mask: int) -> int:
    return mask.bit_length() - 1
