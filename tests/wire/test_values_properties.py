"""The promise of the format, over drawn types and drawn values; and hostile bytes."""

from __future__ import annotations

import contextlib
import json
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beskar_jobs.model.errors import ValueNotSerializable
from beskar_jobs.wire.values import check_serializable, dump_value, load_value
from tests.wire.value_cases import CASES, Access, Album, Codec, Corner, Image, Json, Level, Point, Tree, Video

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
OFFSETS = st.integers(-23 * 3600, 23 * 3600).map(lambda seconds: timezone(timedelta(seconds=seconds)))
VIDEOS = st.builds(Video, TEXT, st.sampled_from(Codec), st.none() | st.integers(-(2**63), 2**64 - 1), secret=TEXT)
IMAGES = st.builds(Image, TEXT, st.lists(st.integers(0, 9), max_size=3))

LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (str, TEXT),
    (int, st.integers(-(2**63), 2**64 - 1)),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (bool, st.booleans()),
    (type(None), st.none()),
    (bytes, st.binary(max_size=20)),
    (Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
    (UUID, st.uuids()),
    (datetime, st.datetimes(timezones=st.timezones() | OFFSETS)),
    (date, st.dates()),
    (time, st.times() | st.times(timezones=OFFSETS)),
    (timedelta, st.timedeltas().filter(lambda d: d != timedelta.min)),
    (Codec, st.sampled_from(Codec)),
    (Level, st.sampled_from(Level)),
    (Corner, st.sampled_from(Corner)),
    (Access, st.integers(0, 3).map(Access)),
    (Video, VIDEOS),
    (Image, IMAGES),
    (Point, st.builds(Point, st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))),
    (Album, st.builds(Album, st.lists(VIDEOS | IMAGES, max_size=3).map(tuple), st.dictionaries(TEXT, IMAGES))),
]
KEYS = [leaf for leaf in LEAVES if leaf[0] in (str, int, UUID, date, datetime, Codec, Corner, Decimal, bytes)]


def typed_values(depth: int = 2) -> st.SearchStrategy[tuple[Any, Any]]:
    """Pairs of a type and a value of it."""
    return _types(depth).flatmap(lambda pair: st.tuples(st.just(pair[0]), pair[1]))


def _of(generic: Any, *arguments: Any) -> Any:
    """*generic* of these arguments, as a value: checkers read ``list[x]`` as a type, which a variable cannot be."""
    return generic[arguments]


def _types(depth: int) -> st.SearchStrategy[tuple[Any, st.SearchStrategy[Any]]]:
    leaf = st.sampled_from(LEAVES)
    if depth == 0:
        return leaf
    inner = _types(depth - 1)

    def some(pair: tuple[Any, st.SearchStrategy[Any]]) -> st.SearchStrategy[list[Any]]:
        return st.lists(pair[1], max_size=4)

    return st.one_of(
        leaf,
        inner.map(lambda p: (_of(list, p[0]), some(p))),
        inner.map(lambda p: (_of(tuple, p[0], ...), some(p).map(tuple))),
        leaf.filter(lambda p: p[0] not in (Image, Album)).map(lambda p: (_of(set, p[0]), some(p).map(set))),
        st.tuples(inner, inner).map(lambda ps: (_of(tuple, ps[0][0], ps[1][0]), st.tuples(ps[0][1], ps[1][1]))),
        st.tuples(st.sampled_from(KEYS), inner).map(
            lambda ps: (_of(dict, ps[0][0], ps[1][0]), st.dictionaries(ps[0][1], ps[1][1], max_size=4))
        ),
        inner.map(lambda p: (p[0] | None, st.none() | p[1])),
        st.tuples(leaf, leaf, leaf).map(
            lambda ps: (ps[0][0] | ps[1][0] | ps[2][0], st.one_of(ps[0][1], ps[1][1], ps[2][1]))
        ),
    )


@settings(deadline=None)
@given(typed_values())
def test_what_is_written_reads_back_equal_or_the_type_was_refused(drawn: tuple[Any, Any]) -> None:
    declared, value = drawn
    if check_serializable(declared) is not None:
        with pytest.raises(ValueNotSerializable):
            dump_value(value, declared)
        return
    data = dump_value(value, declared)
    back = load_value(data, declared)
    assert back == value
    assert type(back) is type(value)
    assert dump_value(back, declared) == data


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@settings(deadline=None)
@given(PLAIN, st.sampled_from([declared for declared, _ in CASES.values()]))
def test_any_json_loads_as_any_type_or_is_refused(plain: Any, declared: Any) -> None:
    try:
        value = load_value(json.dumps(plain).encode(), declared)
    except ValueNotSerializable:
        return
    assert load_value(dump_value(value, declared), declared) == value


@settings(deadline=None)
@given(PLAIN | st.from_type(type), st.sampled_from([declared for declared, _ in CASES.values()]))
def test_any_value_is_written_as_any_type_or_is_refused(value: Any, declared: Any) -> None:
    try:
        data = dump_value(value, declared)
    except ValueNotSerializable:
        return
    assert load_value(data, declared) == value


@settings(deadline=None)
@given(st.binary(max_size=60), st.sampled_from([declared for declared, _ in CASES.values()]))
def test_bytes_that_are_no_json_are_refused(data: bytes, declared: Any) -> None:
    try:
        orjson.loads(data)
    except ValueError:
        with pytest.raises(ValueNotSerializable, match="no valid JSON"):
            load_value(data, declared)


HOSTILE = {
    "empty": b"",
    "deep arrays": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deep tree": b'{"name":"a","children":[' * 400 + b"]}" * 400,
    "huge int": b"1" * 100_000,
    "huge float": b"1e999",
    "NaN": b"NaN",
    "Infinity": b"-Infinity",
    "lone surrogate": b'"\\ud800"',
    "broken UTF-8": b'"\xff"',
    "overlong UTF-8": b'"\xc0\xaf"',
    "byte order mark": b"\xef\xbb\xbf1",
    "two documents": b"1 2",
    "huge decimal": b'"1e999999999999999999999"',
    "huge duration": b'"P999999999DT99999.000000S"',
    "year zero": b'"0000-01-01T00:00:00+00:00"',
    "offset of a day": b'"2026-01-01T00:00:00+24:00"',
    "other digits": '"P\uff11DT1S"'.encode(),
    "NUL in a zone": b'"2026-01-01T00:00:00+00:00[\\u0000]"',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_load_or_are_refused_and_raise_nothing_else(name: str) -> None:
    for declared, _ in [*CASES.values(), (Any, None), (Tree, None), (Json, None), (list[Json], None)]:
        with contextlib.suppress(ValueNotSerializable):
            load_value(HOSTILE[name], declared)
