"""``CronSchedule``: the public face of cron expressions and intervals."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Self

import attrs

from beskar_jobs.cron.describing import describe
from beskar_jobs.cron.every import Every
from beskar_jobs.cron.parsing import parse_rule
from beskar_jobs.cron.pattern import Pattern
from beskar_jobs.model.errors import InvalidValue

MAX_UPCOMING: Final = 100_000
"""Most instants that one call of :meth:`CronSchedule.upcoming` gives."""


@attrs.frozen(repr=False, init=False)
class CronSchedule:
    """When something happens again and again; made with :meth:`parse`.

    A naive datetime is a clock without a zone, and naive ones come back. An aware one is an instant in its zone, and
    answers are in the same zone; when its clocks change, fixed times happen once, and what repeats follows real time
    (see ``docs/cron.md``). Schedules are values: equal and of one hash if they are written alike, but for case and
    blanks.

    Attributes:
        text: the expression in plain form: capitals (macros in small letters), single blanks.
        hash_key: what ``H`` is spread by.
    """

    text: str
    hash_key: str
    _rule: Pattern | Every = attrs.field(eq=False)

    @classmethod
    def parse(cls, text: str, *, hash_key: str = "") -> Self:
        """Read a cron expression, a macro, or an interval.

        Args:
            text: five fields (minute, hour, day-of-month, month, day-of-week), six with seconds first, ``@daily`` and
                its like, or ``@every 15m``.
            hash_key: spreads ``H``; give the name of the job, so that each job has its own times. Without it, all
                schedules of one text have the same.

        Raises:
            InvalidCron: malformed, out of bounds, or never; the message names the field, what stands there and what
            may.
        """
        plain, rule = parse_rule(text, hash_key)
        schedule = object.__new__(cls)
        object.__setattr__(schedule, "text", plain)
        object.__setattr__(schedule, "hash_key", hash_key)
        object.__setattr__(schedule, "_rule", rule)
        return schedule

    @property
    def follows_real_time(self) -> bool:
        """Whether it keeps its pace when the clocks change; else each time of day happens once."""
        return isinstance(self._rule, Every) or self._rule.real_time

    def matches(self, t: datetime) -> bool:
        """Whether the schedule fires at exactly *t*: to the second, and without a fraction but for ``@every 250ms``."""
        if _checked(t).tzinfo is None:
            return self._rule.matches(t)
        return self._rule.matches_in_zone(t)

    def next_after(self, t: datetime) -> datetime | None:
        """The first firing after *t* (*t* itself is not); None if none is within 100 years and the calendar."""
        if _checked(t).tzinfo is None:
            return self._rule.next_after(t)
        return self._rule.next_in_zone(t)

    def previous_before(self, t: datetime) -> datetime | None:
        """The last firing before *t* (*t* itself is not); None if none is within 100 years and the calendar."""
        if _checked(t).tzinfo is None:
            return self._rule.previous_before(t)
        return self._rule.previous_in_zone(t)

    def upcoming(self, t: datetime, n: int) -> list[datetime]:
        """The first *n* firings after *t*, ascending; fewer if there are no more.

        Raises:
            InvalidValue: *n* is negative or above 100,000.
        """
        if isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= MAX_UPCOMING:
            raise InvalidValue(f"upcoming takes a number from 0 to {MAX_UPCOMING}, not {n!r}")
        found: list[datetime] = []
        at: datetime | None = t
        while len(found) < n and at is not None and (at := self.next_after(at)) is not None:
            found.append(at)
        return found

    def describe(self) -> str:
        """The schedule as an English sentence: ``"At 03:00 on day 1 of the month."``"""
        return describe(self._rule)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        key = f", hash_key={self.hash_key!r}" if self.hash_key else ""
        return f"CronSchedule.parse({self.text!r}{key})"


def _checked(t: datetime) -> datetime:
    if not isinstance(t, datetime):
        raise InvalidValue(f"a schedule is asked with a datetime, not {t!r}")
    return t
