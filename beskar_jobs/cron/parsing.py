"""From text to masks. Bounds are checked before a range is expanded: no expression costs more than its length.

A term is ``*``, ``?`` (day fields), a value, ``a-b`` or a name in place of a number, each but ``?`` with ``/step``; a
field is a list of terms. ``a/n`` runs to the end of the field, a range with its end before its start runs over it:
``22-2``, ``FRI-MON``, and with a step the count goes on across the end. In day-of-week 0 and 7 are Sunday. ``L``,
``W``, ``#`` and ``H`` are left to :mod:`beskar_jobs.cron.extended`.

What can be said but never happens (30 February) is refused here as well, since a schedule that never fires is a mistake
that nobody would notice.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple, NoReturn

from beskar_jobs.cron.every import Every
from beskar_jobs.cron.extended import SpecialDays, hashed_mask, special_term
from beskar_jobs.cron.fields import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    HOUR,
    LONGEST_MONTHS,
    MINUTE,
    MONTH,
    SECOND,
    Field,
    values,
)
from beskar_jobs.cron.pattern import Pattern
from beskar_jobs.model.errors import InvalidCron

MAX_LENGTH: Final = 1000
"""Longest expression, in characters: enough to list every value of every field."""

MACROS: Final = {
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
    "@MONTHLY": "0 0 1 * *",
    "@WEEKLY": "0 0 * * 0",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@HOURLY": "0 * * * *",
}

_FIELDS: Final = (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)
_TERM: Final = re.compile(r"(?:(\*)|([A-Z]{3}|\d+)(?:-([A-Z]{3}|\d+))?)(?:/(\d+))?")
_SHOWN: Final = 40
_WAYS: Final = "write five fields (minute hour day-of-month month day-of-week), or six with seconds first"
_NOTHING: Final = frozenset[str]()


class ParsedField(NamedTuple):
    """One field, read.

    Args:
        mask: the plain values.
        special: terms for :class:`~beskar_jobs.cron.extended.SpecialDays`.
        is_open: whether it starts with ``*`` or is ``?``: unrestricted, for the rule of the two day fields.
        repeats: whether it follows real time: starts with ``*``, or is hashed with a step.
    """

    mask: int
    special: frozenset[str] = _NOTHING
    is_open: bool = False
    repeats: bool = False


def parse_rule(text: str, hash_key: str) -> tuple[str, Pattern | Every]:
    """Read an expression: its text in plain form (capitals, single blanks), and what it says.

    Raises:
        InvalidCron: it is malformed, out of bounds, or can never fire.
    """
    if not isinstance(text, str):
        raise InvalidCron(f"a cron expression is a text, not {text!r}; {_WAYS}")
    if len(text) > MAX_LENGTH:
        raise InvalidCron(
            f"the cron expression has {len(text)} characters; the most is {MAX_LENGTH}: "
            "use ranges (0-30) and steps (*/5)"
        )
    if not text.isascii():
        raise InvalidCron(f"cron expression {_short(text)} has characters beyond ASCII; {_WAYS}")
    parts = text.upper().split()
    plain = " ".join(parts)
    if plain.startswith("@"):
        if parts[0] == "@EVERY":
            every = Every.parse("".join(parts[1:]).lower())
            return plain.lower(), every
        if plain not in MACROS:
            _refuse_macro(text)
        return plain.lower(), _pattern(MACROS[plain].split(), "")
    if len(parts) not in (5, 6):
        seven = "; years are not supported: give the schedule a start and an end instead" if len(parts) == 7 else ""
        raise InvalidCron(f"cron expression {_short(text)} has {len(parts)} fields; {_WAYS}{seven}")
    # Fields are remembered by their key too: where nothing is hashed, there is none.
    return plain, _pattern(parts, (hash_key or plain) if "H" in plain else "")


def _pattern(parts: list[str], key: str) -> Pattern:
    if len(parts) == 5:
        second = _ZERO
    else:
        second = _field(SECOND, parts[0], key)
        parts = parts[1:]
    minute = _field(MINUTE, parts[0], key)
    hour = _field(HOUR, parts[1], key)
    day = _field(DAY_OF_MONTH, parts[2], key)
    month = _field(MONTH, parts[3], key)
    weekday = _field(DAY_OF_WEEK, parts[4], key)
    pattern = Pattern(
        second.mask,
        minute.mask,
        hour.mask,
        day.mask,
        month.mask,
        weekday.mask,
        day.is_open or weekday.is_open,
        second.repeats or minute.repeats or hour.repeats,
        SpecialDays(DAY_OF_MONTH.name, day.special) if day.special else None,
        SpecialDays(DAY_OF_WEEK.name, weekday.special) if weekday.special else None,
    )
    if not _can_fire(pattern):
        _refuse_impossible(pattern, parts)
    return pattern


_ZERO: Final = ParsedField(1)
_UP_TO_29: Final = (1 << 30) - 2
_WITH_30: Final = MONTH.all & ~(1 << 2)
_WITH_31: Final = sum(1 << month for month, longest in enumerate(LONGEST_MONTHS) if longest == 31)


def _can_fire(pattern: Pattern) -> bool:
    """Whether any date at all matches. A date that exists falls on each weekday in some year, 29 February too."""
    days, months = pattern.days, pattern.months
    if pattern.special_days is not None or pattern.special_weekdays is not None:
        return pattern.matches_some_month()
    if days & _UP_TO_29 or not pattern.both_days:
        return True
    return bool(days >> 30 & 1 and months & _WITH_30) or bool(days >> 31 & 1 and months & _WITH_31)


@lru_cache(maxsize=1024)
def _field(field: Field, text: str, hash_key: str) -> ParsedField:
    """Read one field; the same few texts make up most expressions, so they are remembered."""
    if text == "*":
        return ParsedField(field.all, is_open=True, repeats=True)
    if text.isdecimal() and len(text) <= 2 and field.low <= (value := int(text)) <= field.high:
        return ParsedField(1 << value)
    if text == "?":
        if field in (DAY_OF_MONTH, DAY_OF_WEEK):
            return ParsedField(field.all, is_open=True)
        _refuse(field, text, "'?' stands in day-of-month and day-of-week only; write '*'")
    terms = text.split(",")
    if len(terms) > field.size:
        _refuse(field, text, f"it lists {len(terms)} terms and has only {field.size} values; use ranges and steps")
    mask, hashed_steps = 0, False
    special: list[str] = []
    for term in terms:
        found = _TERM.fullmatch(term)
        if found:
            mask |= _term_mask(field, text, found)
        elif (days := special_term(field, term)) is not None:
            special.append(days)
        elif (chosen := hashed_mask(field, term, hash_key)) is not None:
            mask |= chosen
            hashed_steps |= "/" in term
        else:
            _refuse_term(field, text, term)
    is_open = text.startswith("*")
    return ParsedField(mask, frozenset(special) if special else _NOTHING, is_open, is_open or hashed_steps)


def _term_mask(field: Field, text: str, term: re.Match[str]) -> int:
    star, low_text, high_text, step_text = term.groups()
    step = 1
    if step_text is not None:
        step = int(step_text)
        if not 1 <= step <= field.size:
            _refuse(field, text, f"the step {_short(step_text)} is not within 1-{field.size}")
    if star:
        low, high = field.low, field.high
    else:
        low = _value(field, text, low_text)
        alone = low if step_text is None else field.high
        high = alone if high_text is None else _value(field, text, high_text)
        if low > field.high:  # 7, which is Sunday as 0 is
            low, high = field.low, high if high <= field.high else field.low
    if low > high:
        high += field.size
    if step == 1 and high <= field.high:
        return (2 << high) - (1 << low)
    mask = 0
    for value in range(low, high + 1, step):
        mask |= 1 << (value if value <= field.high else value - field.size)
    return mask


def _value(field: Field, text: str, written: str) -> int:
    if written.isdecimal():
        value = int(written)
        if field.low <= value <= field.top:
            return value
        return _refuse(field, text, f"{_short(written)} is out of bounds; allowed is {field.allowed}")
    if written in field.words:
        return field.words[written]
    return _refuse(field, text, f"{_short(written)} is no name of a {field.name}; allowed is {field.allowed}")


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _refuse(field: Field, text: str, reason: str) -> NoReturn:
    raise InvalidCron(f"{field.name} field {_short(text)}: {reason}", field=field.name, value=text)


def _refuse_term(field: Field, text: str, term: str) -> NoReturn:
    extras = {DAY_OF_MONTH: ", L, LW, 15W", DAY_OF_WEEK: ", FRI#2, FRIL"}.get(field, "")
    what = f"{_short(term)} is not understood" if term else "a term of the list is empty"
    if term[:1] == "R":
        what = f"{_short(term)} would be random; take H, which is spread and yet the same each time"
    elif term[:1] == "-":
        what = f"{_short(term)} is negative"
    if term[:1] == "H":
        what += f" (hashed values: H, H/2 or H({field.low}-{field.high}), with both bounds within the field)"
    ways = f"* and its steps (*/2), ranges (a-b) and lists (a,b){extras}"
    _refuse(field, text, f"{what}; allowed is {field.allowed}, {ways}")


def _refuse_macro(text: str) -> NoReturn:
    known = ", ".join(macro.lower() for macro in MACROS)
    why = "; what runs at the start of a process is no matter of a schedule" if "REBOOT" in text.upper() else ""
    raise InvalidCron(f"{_short(text)} is unknown{why}; there are {known} and '@every 15m'", value=text)


def _refuse_impossible(pattern: Pattern, parts: list[str]) -> NoReturn:
    day, month, weekday = parts[2:5]
    if not pattern.special_days and not pattern.special_weekdays:
        names = ", ".join(word for word, number in MONTH.words.items() if pattern.months >> number & 1)
        longest = max(LONGEST_MONTHS[number] for number in values(pattern.months))
        reason = f"it can never fire: {names} ends with day {longest}; the last day of any month is written L"
        _refuse(DAY_OF_MONTH, day, reason)
    _refuse(
        DAY_OF_WEEK,
        weekday,
        f"it can never fire: none of its days in month {_short(month)} is in day-of-month {_short(day)} too, "
        "and both must match where one of them starts with '*'",
    )
