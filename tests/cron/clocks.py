"""What the tests know of clocks by themselves: when zones change them, and the firing rule in its plainest form.

The rule is applied here by definition, minute by minute through a stretch of real time, and shares nothing with the
library but the question whether a wall time matches.
"""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
WEEK = timedelta(days=7)

ZONES = (
    "Africa/Cairo",  # midnights that do not exist
    "Africa/Casablanca",  # set back for a month a year, by the moon
    "Africa/Juba",  # one change, in 2021
    "America/Asuncion",  # midnights; no changes since 2024
    "America/Havana",
    "America/New_York",
    "America/Nuuk",
    "America/Santiago",
    "America/St_Johns",  # half an hour off
    "Antarctica/Troll",  # two hours at once
    "Asia/Beirut",
    "Asia/Kolkata",  # no changes
    "Asia/Tehran",  # no changes since 2022
    "Australia/Lord_Howe",  # half an hour at once
    "Europe/Berlin",
    "Europe/Dublin",  # winter is the exception there
    "Europe/London",
    "Pacific/Apia",
    "Pacific/Chatham",  # three quarters of an hour off
    "UTC",
)
"""One of each kind, for what cannot go through all of them."""


def wall_time(instant: datetime, zone: ZoneInfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def _offset(instant: datetime, zone: ZoneInfo) -> timedelta:
    return wall_time(instant, zone) - instant.replace(tzinfo=None)


@cache
def changes(name: str, first_year: int, last_year: int) -> tuple[datetime, ...]:
    """The instants, in UTC and to the minute, at which the clocks of a zone change."""
    zone = ZoneInfo(name)
    found = []
    at, end = datetime(first_year, 1, 1, tzinfo=UTC), datetime(last_year + 1, 1, 1, tzinfo=UTC)
    while at < end:
        if _offset(at, zone) != _offset(at + WEEK, zone):
            low, high = at, at + WEEK
            while high - low > MINUTE:
                middle = low + (high - low) // MINUTE // 2 * MINUTE
                low, high = (middle, high) if _offset(middle, zone) == _offset(at, zone) else (low, middle)
            found.append(high)
        at += WEEK
    return tuple(found)


@cache
def changing_zones(first_year: int = 2020, last_year: int = 2040) -> tuple[str, ...]:
    """One name for each set of changes in these years, sorted."""
    by_changes: dict[object, str] = {}
    for name in sorted(zoneinfo.available_timezones()):
        if name.startswith(("posix/", "right/")) or name in ("localtime", "Factory"):
            continue
        found = changes(name, first_year, last_year)
        if found:
            zone = ZoneInfo(name)
            by_changes.setdefault(tuple((at, wall_time(at, zone)) for at in found), name)
    return tuple(sorted(by_changes.values()))


def fires_at(
    matches: Callable[[datetime], bool], instant: datetime, zone: ZoneInfo, *, real_time: bool, step: timedelta = MINUTE
) -> bool:
    """Whether the plain rule fires at an instant, which is a multiple of *step*.

    Real time: the wall shows a match. Fixed time: the wall shows one for the first time, or it jumped forward to here
    over one.
    """
    wall = wall_time(instant, zone)
    if real_time:
        return matches(wall)
    seen = max(wall_time(instant - step, zone), *(wall_time(instant - k * MINUTE, zone) for k in range(1, 1600, 5)))
    while seen < wall:
        seen += step
        if matches(seen):
            return True
    return False


def firings(
    matches: Callable[[datetime], bool], zone: ZoneInfo, start: datetime, end: datetime, *, real_time: bool
) -> Iterator[datetime]:
    """The instants (UTC, whole minutes) after *start* and before *end* that fire, by the rule of ``fires_at``."""
    at = start - DAY  # what the clock showed before matters for fixed times
    seen = wall_time(at, zone)  # the latest wall time up to here
    while (at := at + MINUTE) < end:
        wall = wall_time(at, zone)
        if real_time:
            fires = matches(wall)
        else:
            fires = False
            while seen < wall:
                seen += MINUTE
                fires = fires or matches(seen)
        if fires and at > start:
            yield at
