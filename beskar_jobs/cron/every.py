"""``@every 15m``: a fixed interval of real time.

The instants are the multiples of the interval since 1970-01-01T00:00Z (for naive datetimes: since that moment of their
own clock). So they do not depend on who asks or since when a process runs: two schedulers, or one before and after a
restart, name the same instants, and an occurrence keyed by its instant can be unique. The change of the clocks does not
touch them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final, Self

import attrs

from beskar_jobs.model.errors import InvalidCron

MIN_INTERVAL: Final = timedelta(milliseconds=10)
MAX_INTERVAL: Final = timedelta(days=3660)

_EPOCH: Final = datetime(1970, 1, 1)  # naive on purpose: arithmetic in UTC, or on a clock without a zone
_EPOCH_IN_UTC: Final = _EPOCH.replace(tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_INTERVAL: Final = re.compile(
    r"(?:(?P<days>\d{1,9})d)?(?:(?P<hours>\d{1,9})h)?(?:(?P<minutes>\d{1,9})m)?"
    r"(?:(?P<seconds>\d{1,9})s)?(?:(?P<milliseconds>\d{1,12})ms)?",
    re.ASCII,
)


@attrs.frozen
class Every:
    """The multiples of *interval*, which is whole milliseconds."""

    interval: timedelta

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what stands behind ``@every``, in small letters: ``250ms``, ``5s``, ``15m``, ``1h30m``, ``1d``."""
        found = _INTERVAL.fullmatch(text)
        if not text or found is None:
            raise InvalidCron(
                f"@every {text[:40]!r} is not an interval; "
                "write whole numbers with d, h, m, s and ms, the largest unit first, as in '15m', '1h30m' or '250ms'",
                field="interval",
                value=text,
            )
        interval = timedelta(**{unit: int(number) for unit, number in found.groupdict(default="0").items()})
        if not MIN_INTERVAL <= interval <= MAX_INTERVAL:
            raise InvalidCron(
                f"@every {text!r} is an interval of {interval.total_seconds():g} s; "
                f"it is at least {MIN_INTERVAL.total_seconds() * 1000:g} ms and at most {MAX_INTERVAL.days} days",
                field="interval",
                value=text,
            )
        return cls(interval)

    def matches(self, t: datetime) -> bool:
        return not (t - _EPOCH) % self.interval

    def next_after(self, t: datetime) -> datetime | None:
        try:
            return _EPOCH + ((t - _EPOCH) // self.interval + 1) * self.interval
        except OverflowError:
            return None

    def previous_before(self, t: datetime) -> datetime | None:
        try:
            return _EPOCH + ((t - _EPOCH - _MICROSECOND) // self.interval) * self.interval
        except OverflowError:
            return None

    def matches_in_zone(self, t: datetime) -> bool:
        return not (t - _EPOCH_IN_UTC) % self.interval

    def next_in_zone(self, t: datetime) -> datetime | None:
        try:
            found = self.next_after(t.astimezone(UTC).replace(tzinfo=None))
            return None if found is None else found.replace(tzinfo=UTC).astimezone(t.tzinfo)
        except OverflowError:
            return None

    def previous_in_zone(self, t: datetime) -> datetime | None:
        try:
            found = self.previous_before(t.astimezone(UTC).replace(tzinfo=None))
            return None if found is None else found.replace(tzinfo=UTC).astimezone(t.tzinfo)
        except OverflowError:
            return None
