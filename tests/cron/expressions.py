"""Expressions, instants and zones at random, from a seed; the mixture leans to what cron engines get wrong."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import attrs

from tests.cron.clocks import ZONES, changes

WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


@attrs.frozen
class Triple:
    expression: str
    moment: datetime


def _field(dice: random.Random, low: int, high: int, names: tuple[str, ...] = (), top: int | None = None) -> str:
    def value(number: int) -> str:
        return names[number - low].title() if names and number <= high and dice.random() < 0.3 else str(number)

    def term() -> str:
        first, second = dice.randint(low, top or high), dice.randint(low, top or high)
        kind = dice.random()
        if kind < 0.45:
            return value(first)
        if kind < 0.65:
            return f"{value(min(first, second))}-{value(max(first, second))}"
        if kind < 0.72:
            return f"{value(first)}-{value(second)}"
        if kind < 0.82:
            return f"{min(first, second)}-{max(first, second)}/{dice.randint(1, high + 2)}"
        if kind < 0.9:
            return f"{first}/{dice.randint(1, high + 2)}"
        return f"*/{dice.randint(1, high + 2)}"

    return "*" if dice.random() < 0.35 else ",".join(term() for _ in range(dice.choice((1, 1, 1, 2, 3))))


def expression(dice: random.Random) -> str:
    fields = [
        _field(dice, 0, 59),
        _field(dice, 0, 23) if dice.random() < 0.6 else str(dice.choice((0, 1, 2, 3))),
        _field(dice, 1, 31) if dice.random() < 0.5 else dice.choice(("*", "*", "?", "29", "31")),
        _field(dice, 1, 12, MONTHS) if dice.random() < 0.4 else "*",
        _field(dice, 0, 6, WEEKDAYS, top=7) if dice.random() < 0.5 else "*",
    ]
    if dice.random() < 0.2:
        fields.insert(0, _field(dice, 0, 59))
    return " ".join(fields)


def triple(dice: random.Random) -> Triple:
    text = expression(dice)
    if dice.random() < 0.3:
        naive = datetime(2020, 1, 1) + timedelta(seconds=dice.randrange(20 * 365 * 86400))
        return Triple(text, naive.replace(microsecond=dice.choice((0, 1, 999_999))))
    name = dice.choice(ZONES)
    zone = ZoneInfo(name)
    if dice.random() < 0.5 and (near := changes(name, 2020, 2040)):
        instant = dice.choice(near) + timedelta(seconds=dice.randrange(-100_000, 20_000))
    else:
        instant = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=dice.randrange(20 * 365 * 86400))
    return Triple(text, instant.astimezone(zone))
