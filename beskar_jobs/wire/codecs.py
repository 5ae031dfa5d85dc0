"""How single values stand in JSON. Half of the format of users' values; :mod:`beskar_jobs.wire.values` is the entry.

A codec is a pair of functions between a value and plain JSON data, strict in both directions: what it does not dump, it
would not load equal. It raises :class:`Misfit`, which gathers its path on the way up, so that no failure costs a
second, slower run to be explained. A message names types and fields and no values, which may be secret.

=============  ====================================================================================================
type           in JSON
=============  ====================================================================================================
str            string; lone surrogates are refused, for they have no UTF-8
int            number from -2**63 to 2**64-1; ``True`` is no int
float          number, finite; an int is taken where a float can hold it exactly
bool, None     true, false, null
bytes          string, base64 (RFC 4648 section 4)
Decimal        string, as ``str`` writes it, finite
UUID           string, 36 characters (RFC 9562)
datetime       string, RFC 3339; a ``ZoneInfo`` follows in brackets (RFC 9557), so that the zone comes back too. A naive
               one is refused: client and worker may live in different zones
date, time     string, ISO 8601; a time may have a fixed offset, no zone
timedelta      string, ISO 8601 duration in days and seconds, exact to the microsecond
Enum           the member's value if all values are str or all are int, else its name
=============  ====================================================================================================
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal
from uuid import UUID
from zoneinfo import ZoneInfo

import attrs

Shape = Literal["null", "boolean", "integer", "number", "string", "array", "object"]

LOWEST_INT: Final = -(2**63)
HIGHEST_INT: Final = 2**64 - 1


class Misfit(Exception):
    """A value or some data does not fit its declared type. ``steps`` lead to the place, innermost first."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.steps: list[str] = []

    def under(self, step: str) -> Misfit:
        """The same, seen from one level further out."""
        self.steps.append(step)
        return self

    def text(self, root: str) -> str:
        return f"{root}{''.join(reversed(self.steps))}: {self.problem}"


@attrs.define(eq=False)
class Codec:
    """How one type is written and read.

    Attributes:
        dump: value to plain JSON data.
        load: plain JSON data to value.
        shapes: which kinds of JSON it writes; unions are told apart by them.
        python_types: the classes of the values it dumps, for unions.
        tag: the name that tells a class from others in a union, ``None`` for what is no class with fields.
    """

    dump: Callable[[Any], Any]
    load: Callable[[Any], Any]
    shapes: frozenset[Shape]
    python_types: tuple[type, ...]
    tag: str | None = None


def article(cls: type) -> str:
    """``an int``, ``a str``: the type of a value, for messages."""
    name = cls.__name__[:80]
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def misfit(value: object, wanted: str) -> Misfit:
    actual = "None" if value is None else article(type(value))
    return Misfit(f"is {actual}, not {wanted}")


def _dump_str(value: Any) -> str:
    if type(value) is str:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    raise misfit(value, "a str")


def _load_str(data: Any) -> str:
    if type(data) is str:
        return data
    raise misfit(data, "a str")


def int_in_range(value: int) -> int:
    if LOWEST_INT <= value <= HIGHEST_INT:
        return value
    raise Misfit("is an int beyond 64 bits; use a Decimal or a str")


def dump_int(value: Any) -> int:
    if type(value) is int:
        return value if LOWEST_INT <= value <= HIGHEST_INT else int_in_range(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int_in_range(int.__index__(value))
    raise misfit(value, "an int")


def load_int(data: Any) -> int:
    if type(data) is int:
        return data
    raise misfit(data, "an int")


def _float(value: Any) -> float:
    if type(value) is float:
        if value - value == 0.0:
            return value
        raise Misfit("is not finite, and JSON has no NaN and no infinity")
    if isinstance(value, float):
        return _float(float.__float__(value))
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            converted = float(value)
        except OverflowError:
            raise Misfit("is an int too large for a float") from None
        if converted == value:
            return converted
        raise Misfit("is an int that no float holds exactly")
    raise misfit(value, "a float")


def _bool(value: Any) -> bool:
    if type(value) is bool:
        return value
    raise misfit(value, "a bool")


def _none(value: Any) -> None:
    if value is not None:
        raise misfit(value, "None")


def _dump_bytes(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    raise misfit(value, "bytes")


def _load_bytes(data: str) -> bytes:
    return base64.b64decode(data, validate=True)


def _dump_decimal(value: Any) -> str:
    if not isinstance(value, Decimal):
        raise misfit(value, "a Decimal")
    if not value.is_finite():
        raise Misfit("is a Decimal that is not finite")
    return str(value)


def _load_decimal(data: str) -> Decimal:
    value = Decimal(data)
    if not value.is_finite():
        raise ValueError("not finite")
    return value


def _dump_uuid(value: Any) -> str:
    if isinstance(value, UUID):
        return str(value)
    raise misfit(value, "a UUID")


def _load_uuid(data: str) -> UUID:
    value = UUID(data)
    if str(value) != data.lower():
        raise ValueError("not in the 36 character form")
    return value


def _dump_datetime(value: Any) -> str:
    if not isinstance(value, datetime):
        raise misfit(value, "a datetime")
    if value.utcoffset() is None:
        raise Misfit("is a datetime without a time zone; make it aware, as in datetime.now(timezone.utc)")
    text = datetime.isoformat(value)
    zone = value.tzinfo
    return f"{text}[{zone.key}]" if isinstance(zone, ZoneInfo) and zone.key else text


def _load_datetime(data: str) -> datetime:
    text, bracket, key = data.partition("[")
    value = datetime.fromisoformat(text)
    offset = value.utcoffset()
    if offset is None:
        raise ValueError("no time zone")
    if not bracket:
        return value
    if not key.endswith("]"):
        raise ValueError("open bracket")
    zone = ZoneInfo(key[:-1])
    for fold in (0, 1):
        local = value.replace(tzinfo=zone, fold=fold)
        if local.utcoffset() == offset:
            return local
    return value.astimezone(zone)  # the rules of the zone have changed since: the instant stays


def _dump_date(value: Any) -> str:
    if isinstance(value, date) and not isinstance(value, datetime):
        return date.isoformat(value)
    raise misfit(value, "a date")


def _dump_time(value: Any) -> str:
    if not isinstance(value, time):
        raise misfit(value, "a time")
    if value.tzinfo is not None and value.utcoffset() is None:
        raise Misfit("is a time in a zone whose offset depends on the date; use a datetime")
    return time.isoformat(value)


_DURATION: Final = re.compile(r"(-?)P([0-9]{1,9})DT([0-9]{1,5})(?:\.([0-9]{6}))?S")


def _dump_timedelta(value: Any) -> str:
    if not isinstance(value, timedelta):
        raise misfit(value, "a timedelta")
    sign = ""
    if value.days < 0:
        if value == timedelta.min:
            raise Misfit("is the smallest timedelta, which has no opposite")
        sign, value = "-", -value
    fraction = f".{value.microseconds:06}" if value.microseconds else ""
    return f"{sign}P{value.days}DT{value.seconds}{fraction}S"


def _load_timedelta(data: str) -> timedelta:
    match = _DURATION.fullmatch(data)
    if match is None:
        raise ValueError("not a duration")
    sign, days, seconds, fraction = match.groups()
    value = timedelta(days=int(days), seconds=int(seconds), microseconds=int(fraction or 0))
    return -value if sign else value


def _text_codec(cls: type, dump: Callable[[Any], Any], parse: Callable[[str], Any], form: str) -> Codec:
    def load(data: Any) -> Any:
        if type(data) is not str:
            raise misfit(data, form)
        try:
            return parse(data)
        except (ValueError, OverflowError, InvalidOperation, LookupError, OSError):
            raise Misfit(f"is a str that is not {form}") from None

    return Codec(dump, load, frozenset({"string"}), (cls,))


SCALARS: Final[dict[Any, Codec]] = {
    str: Codec(_dump_str, _load_str, frozenset({"string"}), (str,)),
    int: Codec(dump_int, load_int, frozenset({"integer"}), (int,)),
    float: Codec(_float, _float, frozenset({"number"}), (float,)),
    bool: Codec(_bool, _bool, frozenset({"boolean"}), (bool,)),
    type(None): Codec(_none, _none, frozenset({"null"}), (type(None),)),
    bytes: _text_codec(bytes, _dump_bytes, _load_bytes, "base64"),
    Decimal: _text_codec(Decimal, _dump_decimal, _load_decimal, "a decimal number"),
    UUID: _text_codec(UUID, _dump_uuid, _load_uuid, "a UUID"),
    datetime: _text_codec(datetime, _dump_datetime, _load_datetime, "a date and time with a zone"),
    date: _text_codec(date, _dump_date, date.fromisoformat, "a date"),
    time: _text_codec(time, _dump_time, time.fromisoformat, "a time"),
    timedelta: _text_codec(timedelta, _dump_timedelta, _load_timedelta, "a duration"),
}
"""The types without parts."""


def plain_problem(value: Any) -> None:
    """See that *value* is JSON data as it stands.

    Raises:
        Misfit: it is not; names the place.
    """
    cls = type(value)
    if cls in (str, bool, type(None)):
        return
    if cls is int:
        int_in_range(value)
    elif cls is float:
        if not math.isfinite(value):
            raise Misfit("is not finite, and JSON has no NaN and no infinity")
    elif cls is list:
        for index, item in enumerate(value):
            try:
                plain_problem(item)
            except Misfit as problem:
                raise problem.under(f"[{index}]") from None
    elif cls is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise misfit(key, "a str, as the keys of an object are")
            try:
                plain_problem(item)
            except Misfit as problem:
                raise problem.under(f"[{key[:80]!r}]") from None
    else:
        raise misfit(value, "plain JSON data (None, bool, int, float, str, list, dict with str keys)")
