"""How values without parts stand in JSON, as pairs of cattrs hooks.

cattrs leaves text forms to its users and calls ``int`` and ``str`` for the rest, which takes "5" for 5 and ``True`` for
1; so each type has strict hooks of its own here. A hook that writes does not raise, for cattrs tells places only where
it reads: what does not fit it replaces by a :class:`Misfit`, which no hook that reads lets pass.

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
=============  ====================================================================================================
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, Literal
from uuid import UUID
from zoneinfo import ZoneInfo

import attrs
from cattrs.fns import identity

Shape = Literal["null", "boolean", "integer", "number", "string", "array", "object"]


class Misfit(Exception):
    """A value or some data does not fit its type. The text names types, and no values: those may be secret."""


class IntKey(int):
    """Stands for ``int`` as the key of an object, where it is its decimal digits."""


@attrs.frozen
class Scalar:
    """The kind of JSON that a type stands as, and its two hooks."""

    shape: Shape
    unstructure: Callable[[Any], Any]
    structure: Callable[[Any, Any], Any]


def misfit(value: object, wanted: str) -> Misfit:
    """Why *value* is refused; *value* itself if it tells already."""
    if isinstance(value, Misfit):
        return value
    return Misfit(f"is {'None' if value is None else article(type(value))}, not {wanted}")


def article(cls: type) -> str:
    """``an int``, ``a str``: a class, for messages."""
    name = cls.__name__[:80]
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _str(data: Any, _: Any) -> str:
    if type(data) is str:
        return data
    if isinstance(data, str):
        return str.__str__(data)
    raise misfit(data, "a str")


def structure_int(data: Any, _: Any) -> int:
    if type(data) is int and -(2**63) <= data < 2**64:
        return data
    if not isinstance(data, int) or isinstance(data, bool):
        raise misfit(data, "an int")
    if -(2**63) <= data < 2**64:
        return int.__index__(data)
    raise Misfit("is an int beyond 64 bits; use a Decimal or a str")


def _float(data: Any, _: Any) -> float:
    if isinstance(data, float):
        if data - data == 0.0:
            return data if type(data) is float else float.__float__(data)
        raise Misfit("is not finite, and JSON has no NaN and no infinity")
    if not isinstance(data, int) or isinstance(data, bool):
        raise misfit(data, "a float")
    try:
        converted = float(data)
    except OverflowError:
        raise Misfit("is an int too large for a float") from None
    if converted == data:
        return converted
    raise Misfit("is an int that no float holds exactly")


def _only(cls: type, shape: Shape, wanted: str) -> Scalar:
    def structure(data: Any, _: Any) -> Any:
        if type(data) is cls:
            return data
        raise misfit(data, wanted)

    return Scalar(shape, identity, structure)


def _plain(cls: type, shape: Shape, structure: Callable[[Any, Any], Any]) -> Scalar:
    """A type that JSON has itself: values of subclasses, and ints for floats, are written as what they equal."""

    def unstructure(value: Any) -> Any:
        if type(value) is cls:
            return value
        try:
            return structure(value, cls)
        except Misfit as problem:
            return problem

    return Scalar(shape, unstructure, structure)


def text_scalar(cls: type, write: Callable[[Any], str], read: Callable[[str], Any], form: str) -> Scalar:
    """A type that stands as a string. *write* and *read* may raise anything for what is not of the *form*."""

    def unstructure(value: Any) -> Any:
        if not isinstance(value, cls):
            return misfit(value, article(cls))
        try:
            text = write(value)
            # A Path is a PosixPath and comes back as one; a subclass that comes back as its base has lost something.
            same = type(value) is cls or type(read(text)) is type(value)
        except Exception as error:
            return error if isinstance(error, Misfit) else Misfit(f"is {article(type(value))} that is not {form}")
        return text if same else misfit(value, article(cls))

    def structure(data: Any, _: Any) -> Any:
        if type(data) is not str:
            raise misfit(data, form)
        try:
            return read(data)
        except Exception:
            raise Misfit(f"is a str that is not {form}") from None

    return Scalar("string", unstructure, structure)


def _finite(number: Decimal) -> Decimal:
    if number.is_finite():
        return number
    raise ValueError("NaN or infinity")


def _read_uuid(text: str) -> UUID:
    value = UUID(text)
    if str(value) != text.lower():
        raise ValueError("not in the 36 character form")
    return value


def _write_datetime(value: datetime) -> str:
    offset = value.utcoffset()
    if offset is None:
        raise Misfit("is a datetime without a time zone; make it aware, as in datetime.now(timezone.utc)")
    if offset.microseconds:
        raise Misfit("is a datetime with a UTC offset finer than a second")
    text = datetime.isoformat(value)
    zone = value.tzinfo
    return f"{text}[{zone.key}]" if isinstance(zone, ZoneInfo) and zone.key else text


def _read_datetime(data: str) -> datetime:
    text, bracket, key = data.partition("[")
    value = datetime.fromisoformat(text)
    offset = value.utcoffset()
    if offset is None or (bracket and not key.endswith("]")):
        raise ValueError("no time zone, or half of one")
    if not bracket:
        return value
    zone = ZoneInfo(key[:-1])
    for fold in (0, 1):
        local = value.replace(tzinfo=zone, fold=fold)
        if local.utcoffset() == offset:
            return local
    return value.astimezone(zone)  # the rules of the zone have changed since: the instant stays


def _write_time(value: time) -> str:
    offset = value.utcoffset()
    if value.tzinfo is not None and (offset is None or offset.microseconds):
        raise Misfit("is a time in a zone whose offset depends on the date; use a datetime")
    return time.isoformat(value)


_DURATION: Final = re.compile(r"(-?)P([0-9]{1,9})DT([0-9]{1,5})(?:\.([0-9]{6}))?S")


def _write_timedelta(value: timedelta) -> str:
    if value == timedelta.min:
        raise Misfit("is the smallest timedelta, which has no opposite")
    size = abs(value)
    fraction = f".{size.microseconds:06}" if size.microseconds else ""
    return f"{'-' if value.days < 0 else ''}P{size.days}DT{size.seconds}{fraction}S"


def _read_timedelta(text: str) -> timedelta:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError("not a duration")
    sign, days, seconds, fraction = match.groups()
    value = timedelta(days=int(days), seconds=int(seconds), microseconds=int(fraction or 0))
    return -value if sign else value


def _read_int_key(text: str) -> int:
    if not re.fullmatch(r"0|-?[1-9][0-9]{0,19}", text):
        raise ValueError("not a whole number")
    return structure_int(int(text), int)


SCALARS: Final[dict[Any, Scalar]] = {
    str: _plain(str, "string", _str),
    int: _plain(int, "integer", structure_int),
    float: _plain(float, "number", _float),
    bool: _only(bool, "boolean", "a bool"),
    type(None): _only(type(None), "null", "None"),
    bytes: text_scalar(
        bytes,
        lambda data: base64.b64encode(data).decode(),
        lambda text: base64.b64decode(text, validate=True),
        "base64",
    ),
    Decimal: text_scalar(
        Decimal, lambda number: str(_finite(number)), lambda text: _finite(Decimal(text)), "a finite decimal number"
    ),
    UUID: text_scalar(UUID, str, _read_uuid, "a UUID"),
    datetime: text_scalar(datetime, _write_datetime, _read_datetime, "a date and time with a zone"),
    date: text_scalar(date, date.isoformat, date.fromisoformat, "a date"),
    time: text_scalar(time, _write_time, time.fromisoformat, "a time"),
    timedelta: text_scalar(timedelta, _write_timedelta, _read_timedelta, "a duration"),
    IntKey: text_scalar(int, lambda key: str(structure_int(key, int)), _read_int_key, "a whole number"),
}
"""The types without parts; a program adds its own by ``register_type``."""
