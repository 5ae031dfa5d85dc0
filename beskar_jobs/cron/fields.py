"""The six fields of a cron expression: their names, bounds and words, and the shapes that months can have.

A field's set of values is one int, bit *n* standing for the value *n*. Days of the week are counted as cron does:
Sunday is 0. A month has one of 28 shapes (weekday of its first day, number of days), and all that a day rule can ask
for is a function of the shape.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

import attrs


class FieldName(StrEnum):
    SECOND = "second"
    MINUTE = "minute"
    HOUR = "hour"
    DAY_OF_MONTH = "day-of-month"
    MONTH = "month"
    DAY_OF_WEEK = "day-of-week"


@attrs.frozen(eq=False)
class Field:
    """What may stand in one field.

    Args:
        name: as errors call it.
        low: the least value.
        high: the last value of the cycle, to which ``*`` and ``5/2`` run.
        words: names that stand for values, in capitals.
        top: the greatest number that may be written; only in day-of-week above *high*, where 7 is Sunday too.
    """

    name: FieldName
    low: int
    high: int
    words: Mapping[str, int] = attrs.field(factory=dict)
    top: int = attrs.field(default=attrs.Factory(lambda self: self.high, takes_self=True))
    size: int = attrs.field(init=False, default=attrs.Factory(lambda self: self.high - self.low + 1, takes_self=True))
    """How many values it has."""
    all: int = attrs.field(
        init=False, default=attrs.Factory(lambda self: (2 << self.high) - (1 << self.low), takes_self=True)
    )
    """The mask of every value."""

    @property
    def allowed(self) -> str:
        """What may be written, for errors."""
        words = list(self.words)
        names = f" or {words[0]}-{words[-1]}" if words else ""
        return f"{self.low}-{self.top}{names}"


WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")

SECOND: Final = Field(FieldName.SECOND, 0, 59)
MINUTE: Final = Field(FieldName.MINUTE, 0, 59)
HOUR: Final = Field(FieldName.HOUR, 0, 23)
DAY_OF_MONTH: Final = Field(FieldName.DAY_OF_MONTH, 1, 31)
MONTH: Final = Field(FieldName.MONTH, 1, 12, {word: number for number, word in enumerate(MONTHS, start=1)})
DAY_OF_WEEK: Final = Field(FieldName.DAY_OF_WEEK, 0, 6, {word: number for number, word in enumerate(WEEKDAYS)}, top=7)

LONGEST_MONTHS: Final = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""The most days a month can have, by its number."""

SEARCH_YEARS: Final = 100
"""How far a search goes. Whatever fires at all pauses 40 years at most (29 February on one weekday, across 2100)."""


class MonthShape(NamedTuple):
    """All that days of a month depend on: the weekday of its first day (Sunday 0), and its length."""

    first: int
    length: int


@lru_cache(maxsize=2048)
def month_shape(year: int, month: int) -> MonthShape:
    monday_based, length = monthrange(year, month)
    return MonthShape((monday_based + 1) % 7, length)


def values(mask: int) -> list[int]:
    """The values in *mask*, ascending."""
    found = []
    while mask:
        found.append((mask & -mask).bit_length() - 1)
        mask &= mask - 1
    return found
