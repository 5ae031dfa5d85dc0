"""The format of users' values: identity, pinned bytes, and what a wrong value is told."""

from __future__ import annotations

import dataclasses
from datetime import UTC, date, datetime, timedelta, timezone
from enum import StrEnum
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import attrs
import pytest

from beskar_jobs.model.errors import ValueNotSerializable
from beskar_jobs.wire.values import check_serializable, dump_value, load_value, register_type
from tests.wire.value_cases import CASES, VIDEO, Album, Box, Codec, Image, Options, Point, Tree, Video

GOLDEN = Path(__file__).parent / "golden"
PARIS = ZoneInfo("Europe/Paris")


@pytest.mark.parametrize("name", CASES)
def test_every_type_comes_back_equal_and_as_the_same_class(name: str) -> None:
    declared, value = CASES[name]
    assert check_serializable(declared) is None
    back = load_value(dump_value(value, declared), declared)
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize("name", CASES)
def test_the_bytes_are_those_of_the_golden_file_and_it_still_reads_back(name: str) -> None:
    declared, value = CASES[name]
    golden = (GOLDEN / f"{name}.json").read_bytes().removesuffix(b"\n")
    assert dump_value(value, declared) == golden
    assert load_value(golden, declared) == value


def test_there_is_one_golden_file_for_each_case() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(CASES)


def test_zone_and_pass_of_an_ambiguous_time_survive() -> None:
    for fold in (0, 1):
        value = datetime(2026, 10, 25, 2, 30, tzinfo=PARIS, fold=fold)
        back = load_value(dump_value(value, datetime), datetime)
        assert (back.tzinfo, back.fold, back.utcoffset()) == (PARIS, fold, value.utcoffset())


def test_when_the_rules_of_a_zone_have_changed_the_instant_stays() -> None:
    back = load_value(b'"2026-07-01T12:00:00+05:00[Europe/Paris]"', datetime)
    assert back == datetime(2026, 7, 1, 7, tzinfo=UTC)
    assert back.tzinfo is PARIS


def test_a_str_subclass_is_written_as_the_str_it_equals() -> None:
    assert load_value(dump_value(Codec.AV1, str), str) == Codec.AV1
    assert dump_value([Codec.AV1, None], list[str | None]) == b'["av1",null]'


def test_an_int_in_a_float_field_comes_back_as_the_float_it_equals() -> None:
    back = load_value(dump_value(Point(3, 4), Point), Point)
    assert back == Point(3, 4)
    assert [type(number) for number in back] == [float, float]
    assert load_value(b"[3]", list[float | None]) == [3.0]


def test_defaults_fill_fields_that_an_older_client_did_not_send() -> None:
    assert load_value(b'{"source_file":"a"}', Video) == Video("a")


def test_classes_with_the_same_fields_are_told_apart_by_their_tag() -> None:
    @attrs.frozen
    class Cat:
        name: str

    @attrs.frozen
    class Dog:
        name: str

    for value in (Cat("a"), Dog("a")):
        back = load_value(dump_value(value, Cat | Dog), Cat | Dog)
        assert back == value


def test_a_field_the_constructor_does_not_take_may_be_left_out_of_comparisons() -> None:
    @attrs.define
    class Cached:
        size: int
        twice: int = attrs.field(init=False, eq=False)

        def __attrs_post_init__(self) -> None:
            self.twice = self.size * 2

    assert dump_value(Cached(2), Cached) == b'{"size":2}'
    assert load_value(b'{"size":2}', Cached).twice == 4


def test_any_stands_for_plain_json_as_it_is() -> None:
    value = {"a": [1, 2.5, None, True, "x"]}
    assert load_value(dump_value(value, Any), Any) == value


class Base(StrEnum):
    A = "a"


@attrs.frozen
class Sub(Video):
    extra: int = 0


@pytest.mark.parametrize(
    ("value", "declared", "message"),
    [
        (Video(5), Video, "Video.source_file: is an int, not a str"),  # type: ignore[arg-type]
        (Video("a", "h264"), Video, "Video.codec: is a str, not a Codec"),  # type: ignore[arg-type]
        (Video("a", bitrate=True), Video, "Video.bitrate: is a bool, not an int"),
        (Sub("a"), Video, "Video: is a Sub, not a Video"),
        (Album([VIDEO]), Album, "Album.items: is a list, not a tuple"),  # type: ignore[arg-type]
        (Album((VIDEO, 3)), Album, "Album.items[1]: is an int, not any of the types of the union"),  # type: ignore[arg-type]
        (Album((), {"x": VIDEO, "y": Image(1)}), Album, "Album.by_name['y'].source_file: is an int"),  # type: ignore[arg-type]
        (Tree(name="a", children=[Tree(name="b", children=[3])]), Tree, "Tree.children[0].children[0]: is an int"),  # type: ignore[list-item]
        (Box(1, ["a"]), Box[int], ".spare[0]: is a str, not an int"),  # type: ignore[misc]
        ({"width": 1, "depth": 2}, Options, "Options: has 'depth', which Options does not know"),
        ({}, Options, "Options.width: is missing"),
        (datetime(2026, 1, 1), datetime, "is a datetime without a time zone; make it aware"),
        (float("nan"), float, "is not finite"),
        (float("inf"), list[float], "list[float]: is a float, not a list"),
        ([1.0, float("-inf")], list[float], "list[float][1]: is not finite"),
        (2**64, int, "is an int beyond 64 bits"),
        (2**53 + 1, float, "is an int that no float holds exactly"),
        (10**400, float, "is an int too large for a float"),
        ((1, 2, 3), tuple[int, int], "has 3 items, not 2"),
        (timedelta.min, timedelta, "smallest timedelta"),
        ("\ud800", str, "cannot be written as JSON"),
        ({"a": {1: 2}}, Any, "['a'][key]: is an int, not a str"),
        ([object()], Any, "[0]: is an object, not plain JSON data"),
        (Base.A, Codec, "is a Base, not a Codec"),
    ],
    ids=lambda x: None,
)
def test_a_value_that_does_not_fit_is_refused_with_its_place(value: object, declared: Any, message: str) -> None:
    with pytest.raises(ValueNotSerializable) as caught:
        dump_value(value, declared)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("data", "declared", "message"),
    [
        (b'{"source_file":5}', Video, "Video.source_file: is an int, not a str"),
        (b"{}", Video, "Video.source_file: is missing, and Video has no default for it"),
        (b'{"source_file":"a","x":1}', Video, "Video: has 'x', which Video does not know"),
        (b'{"source_file":"a","codec":"vp9"}', Video, "Video.codec: is a str, not one of 'h264', 'av1'"),
        (b'"5"', int, "int: is a str, not an int"),
        (b"true", int, "int: is a bool, not an int"),
        (b"1.0", int, "int: is a float, not an int"),
        (b"5", str, "str: is an int, not a str"),
        (b"1", bool, "bool: is an int, not a bool"),
        (b'"MTIz!"', bytes, "is a str that is not base64"),
        (b'"2026-01-01T00:00:00"', datetime, "is a str that is not a date and time with a zone"),
        (b'"2026-01-01T00:00:00+01:00[../../etc/passwd]"', datetime, "with a zone"),
        (b'"2026-01-01T00:00:00+01:00[Europe]"', datetime, "with a zone"),
        (b'"0001-01-01T00:00:00+00:00[America/New_York]"', datetime, "with a zone"),
        (b'"PT1H"', timedelta, "is a str that is not a duration"),
        (b'{"items":[{"_type":"Text"}]}', Album, "Album.items[0]: has in '_type' none of 'Image', 'Video'"),
        (b'{"items":[{"source_file":"a"}]}', Album, "Album.items[0]: has in '_type' none of"),
        (b'{"items":[{"_type":["Video"]}]}', Album, "Album.items[0]: has in '_type' none of"),
        (b'{"1.5":"a"}', dict[int, str], "['1.5']: is a str that is not a whole number"),
        (b"[[1]]", set[Any], "can be anything"),
    ],
    ids=lambda x: None,
)
def test_data_that_does_not_fit_is_refused_with_its_place(data: bytes, declared: Any, message: str) -> None:
    with pytest.raises(ValueNotSerializable) as caught:
        load_value(data, declared)
    assert message in str(caught.value)


def test_no_message_shows_a_value() -> None:
    with pytest.raises(ValueNotSerializable) as caught:
        dump_value(Image("a", ["hunter2"]), Image)  # type: ignore[list-item]
    assert "hunter2" not in str(caught.value)


def test_what_the_users_validator_says_is_passed_on() -> None:
    @dataclasses.dataclass
    class Positive:
        n: int

        def __post_init__(self) -> None:
            if self.n < 1:
                raise LookupError("must be positive")

    with pytest.raises(ValueNotSerializable, match="refused by Positive itself: LookupError: must be positive"):
        load_value(b'{"n":0}', Positive)


def test_an_unset_slot_is_named() -> None:
    half = Box.__new__(Box)
    half.content = 1
    with pytest.raises(ValueNotSerializable, match=r"\.spare: is not set"):
        dump_value(half, Box[int])


def test_a_value_that_contains_itself_is_refused() -> None:
    tree = Tree(name="a")
    tree.children.append(tree)
    with pytest.raises(ValueNotSerializable, match="nested too deeply, or contains itself"):
        dump_value(tree, Tree)
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(ValueNotSerializable, match="nested too deeply, or contains itself"):
        dump_value(circle, Any)


def test_a_fixed_offset_with_seconds_survives() -> None:
    value = datetime(1900, 1, 1, tzinfo=timezone(timedelta(minutes=9, seconds=21)))
    assert load_value(dump_value(value, datetime), datetime).utcoffset() == value.utcoffset()


def test_an_offset_that_the_text_form_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueNotSerializable, match="finer than a second"):
        dump_value(datetime(2026, 1, 1, tzinfo=timezone(timedelta(microseconds=1))), datetime)


def test_what_the_users_converter_changes_again_is_refused_where_it_is_written() -> None:
    def shout(text: str) -> str:
        return f"{text}!"

    @attrs.frozen
    class Shouted:
        text: str = attrs.field(converter=shout)

    with pytest.raises(ValueNotSerializable, match="Shouted: does not come back equal"):
        dump_value(Shouted("a"), Shouted)


def test_a_subclass_that_would_come_back_as_its_base_is_refused() -> None:
    class Precise(datetime):
        nanosecond = 5

    with pytest.raises(ValueNotSerializable, match="is a Precise, not a datetime"):
        dump_value(Precise(2026, 1, 1, tzinfo=UTC), datetime)
    with pytest.raises(ValueNotSerializable, match="is a datetime, not a date"):
        dump_value(datetime(2026, 1, 1, tzinfo=UTC), date)


@attrs.frozen
class Leaf:
    size: int


@attrs.frozen
class Folder:
    items: list[Leaf | Folder]


def test_a_class_that_contains_itself_in_a_union_keeps_its_tags() -> None:
    value = Folder([Leaf(1), Folder([Leaf(2)])])
    data = dump_value(value, Folder)
    assert data == b'{"items":[{"_type":"Leaf","size":1},{"_type":"Folder","items":[{"_type":"Leaf","size":2}]}]}'
    assert load_value(data, Folder) == value


def test_a_class_without_equality_is_compared_by_its_data() -> None:
    @attrs.define(eq=False)
    class Handle:
        number: int

    assert load_value(dump_value(Handle(3), Handle), Handle).number == 3


def test_the_users_validator_refuses_where_the_value_is_written() -> None:
    @attrs.define
    class Positive:
        n: int = attrs.field(validator=attrs.validators.gt(0), on_setattr=attrs.setters.NO_OP)

    value = Positive(1)
    value.n = -1
    with pytest.raises(ValueNotSerializable, match="refused by Positive itself"):
        dump_value([value], list[Positive])


def test_fields_named_like_parts_of_the_converter_are_ordinary_fields() -> None:
    @attrs.define
    class Odd:
        converter: int
        cl: int
        attrs: int
        res: int
        o: int = 5
        typevar_map: int = 6
        _cattrs_detailed_validation: int = 7

    value = Odd(1, 2, 3, 4)
    assert load_value(dump_value(value, Odd), Odd) == value


class Celsius:
    """A plain class, which no converter knows."""

    def __init__(self, degrees: int) -> None:
        self.degrees = degrees

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Celsius) and other.degrees == self.degrees

    def __hash__(self) -> int:
        return hash(self.degrees)


@attrs.frozen
class Oven:
    now: Celsius | None
    log: dict[Celsius, int]


def test_a_plain_class_stands_as_a_string_once_it_is_registered() -> None:
    assert "Oven.now is Celsius" in (check_serializable(Oven) or "")
    register_type(Celsius, to_text=lambda value: f"{value.degrees}C", from_text=lambda text: Celsius(int(text[:-1])))
    value = Oven(Celsius(180), {Celsius(20): 1})
    assert dump_value(value, Oven) == b'{"now":"180C","log":{"20C":1}}'
    assert load_value(dump_value(value, Oven), Oven) == value
    with pytest.raises(ValueNotSerializable, match=r"Oven\.now: is a str that is not the text of Celsius"):
        load_value(b'{"now":"warm","log":{}}', Oven)
    with pytest.raises(ValueNotSerializable, match=r"Oven\.now: is an int, not a Celsius"):
        dump_value(Oven(180, {}), Oven)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Celsius stands in JSON already"):
        register_type(Celsius, to_text=str, from_text=lambda text: Celsius(int(text)))
