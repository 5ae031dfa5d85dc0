"""Days that depend on the month (``L``, ``15W``, ``FRI#2``, ``5L``) and hashed values (``H``): the syntax beyond plain
cron, with croniter as its authority.

croniter is asked only what a term *means*: on which days of a month it falls, or which value a hash picks. Times,
zones, the rule of the two day fields and the search stay with the masks. So a term may stand in a list with others, the
two ways of writing differ in nothing else, and croniter is loaded by those alone who use it.

A term is bounded and checked before croniter sees it. Its days depend on the shape of the month, so that it is asked at
most once for each of 28 shapes.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

import attrs

from beskar_jobs.cron.fields import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    HOUR,
    MINUTE,
    MONTH,
    SECOND,
    Field,
    FieldName,
    MonthShape,
    month_shape,
)

_SPECIAL: Final = {
    FieldName.DAY_OF_MONTH: re.compile(r"L|LW|WL|(?P<day>\d{1,2})W"),
    FieldName.DAY_OF_WEEK: re.compile(r"(?P<weekday>[A-Z]{3}|[0-7])(?:L|#(?P<nth>[1-5]))|L(?P<last>[A-Z]{3}|[0-7])"),
}
_HASHED: Final = re.compile(r"H(?:\((?P<low>\d{1,2})-(?P<high>\d{1,2})\))?(?:/(?P<step>\d{1,2}))?")
_ORDER: Final = (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK, SECOND)
"""As croniter has them: seconds last."""


@attrs.frozen
class SpecialDays:
    """Terms of one day field whose days differ from month to month, in croniter's spelling."""

    field: FieldName
    terms: frozenset[str]

    def days_in(self, shape: MonthShape) -> int:
        """The mask of the days of a month of this shape that one of the terms names."""
        days = 0
        for term in self.terms:
            days |= _days_of_term(self.field, term, shape)
        return days


def special_term(field: Field, term: str) -> str | None:
    """A term in capitals as croniter spells it, or None if it is none of these."""
    pattern = _SPECIAL.get(field.name)
    found = pattern.fullmatch(term) if pattern else None
    if found is None:
        return None
    if field.name is FieldName.DAY_OF_MONTH:
        if found["day"] is None:
            return "L" if term == "L" else "31W"  # the weekday nearest to a last day at a weekend is before it
        return term if 1 <= int(found["day"]) <= DAY_OF_MONTH.high else None
    word = found["weekday"] or found["last"]
    number = DAY_OF_WEEK.words.get(word) if word.isalpha() else int(word) % 7
    if number is None:
        return None
    return f"{number}#{found['nth']}" if found["nth"] else f"L{number}"


def hashed_mask(field: Field, term: str, key: str) -> int | None:
    """The values that a hashed term picks for *key*, or None if the term is none."""
    found = _HASHED.fullmatch(term)
    if found is None:
        return None
    low, high, step = (None if part is None else int(part) for part in found.groups())
    if low is not None and high is not None and not field.low <= low < high <= field.high:
        return None
    if step is not None and not 1 <= step <= field.size:
        return None
    from croniter import croniter  # noqa: PLC0415 - heavy, and few need it

    parts = ["*"] * len(_ORDER)
    parts[_ORDER.index(field)] = term
    expanded, _ = croniter.expand(" ".join(parts), hash_id=key.encode())
    chosen = expanded[_ORDER.index(field)]
    mask = 0
    for value in chosen:
        mask |= field.all if value == "*" else 1 << int(value)
    return mask


@lru_cache(maxsize=4096)
def _days_of_term(field: FieldName, term: str, shape: MonthShape) -> int:
    from croniter import croniter  # noqa: PLC0415 - heavy, and few need it

    start = _month_of_shape(shape)
    expression = f"0 0 {term} * *" if field is FieldName.DAY_OF_MONTH else f"0 0 * * {term}"
    found = croniter(expression, start - timedelta(seconds=1))
    days = 0
    while (day := found.get_next(datetime)) < start + timedelta(days=shape.length):
        days |= 1 << day.day
    return days


def _month_of_shape(shape: MonthShape) -> datetime:
    """The first day of some month that has this shape."""
    for year in range(2000, 2028):  # after 28 years the weekdays come again
        for month in range(1, 13):
            if month_shape(year, month) == shape:
                return datetime(year, month, 1)
    raise AssertionError(f"no month has the shape {shape}")
