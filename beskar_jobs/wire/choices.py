"""How enums, literals and the whole-number keys of dicts stand in JSON; see :mod:`beskar_jobs.wire.codecs`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum, Flag
from typing import Any, Final

from beskar_jobs.wire.codecs import SCALARS, Codec, Misfit, Shape, article, dump_int, int_in_range, load_int, misfit


def enum_codec(cls: type[Enum]) -> Codec:
    """By value where the values are all strings or all whole numbers, else by name."""
    values = [member.value for member in cls.__members__.values()]
    shapes: list[tuple[type, Shape]] = [(str, "string"), (int, "integer")]
    for plain, shape in shapes:
        if values and all(type(value) is plain for value in values):
            if issubclass(cls, Flag):
                return _flag_codec(cls)
            return _choice_codec(cls, [(member, member.value) for member in cls], frozenset[Shape]({shape}), (cls,))
    return _choice_codec(cls, [(member, member.name) for member in cls], frozenset({"string"}), (cls,))


def _flag_codec(cls: type[Flag]) -> Codec:
    def dump(value: Any) -> Any:
        if type(value) is not cls:
            raise misfit(value, article(cls))
        return int_in_range(value.value)

    def load(data: Any) -> Any:
        try:
            return cls(load_int(data))
        except ValueError:
            raise Misfit(f"is not a {cls.__name__}") from None

    return Codec(dump, load, frozenset({"integer"}), (cls,))


def literal_codec(values: Iterable[Any]) -> Codec | str:
    """The codec for ``Literal[…]``, or why there is none."""
    choices: list[tuple[Any, Any]] = []
    shapes: set[Shape] = set()
    for value in values:
        if isinstance(value, Enum):
            codec = enum_codec(type(value))
            choices.append((value, codec.dump(value)))
            shapes |= codec.shapes
        elif type(value) in (str, int, bool, type(None)):
            choices.append((value, value))
            shapes |= SCALARS[type(value)].shapes
        else:
            return f"Literal[{value!r}] is not a str, int, bool, None or enum member"
    if len({(type(plain), plain) for _, plain in choices}) != len(choices):
        return "two of the literals look the same in JSON"
    return _choice_codec(None, choices, frozenset(shapes), tuple({type(value) for value, _ in choices}))


def _choice_codec(
    cls: type | None, choices: list[tuple[Any, Any]], shapes: frozenset[Shape], python_types: tuple[type, ...]
) -> Codec:
    """A fixed choice of values; ``True`` and ``1`` are two."""
    writes = {(type(value), value): plain for value, plain in choices}
    reads = {(type(plain), plain): value for value, plain in choices}
    names = ", ".join(repr(plain) for _, plain in choices)
    wanted = f"one of {names if len(names) <= 200 else names[:200] + '…'}"

    def dump(value: Any) -> Any:
        try:
            return writes[type(value), value]
        except (KeyError, TypeError):
            raise misfit(value, wanted if cls is None else article(cls)) from None

    def load(data: Any) -> Any:
        try:
            return reads[type(data), data]
        except (KeyError, TypeError):
            raise misfit(data, wanted) from None

    return Codec(dump, load, shapes, python_types)


_INT_KEY: Final = re.compile(r"0|-?[1-9][0-9]{0,19}")


def int_key_codec() -> Codec:
    """An int as the key of an object: its decimal digits."""

    def load(data: Any) -> int:
        if type(data) is not str or not _INT_KEY.fullmatch(data):
            raise Misfit("is a key that is not a whole number")
        return int_in_range(int(data))

    return Codec(lambda value: str(dump_int(value)), load, frozenset({"string"}), (int,))
