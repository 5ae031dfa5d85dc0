"""Types and values that make the round trip; shared by the tests of the format."""

from __future__ import annotations

import dataclasses
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum, auto
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, TypedDict, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

import attrs
from typing_extensions import TypeAliasType
from typing_extensions import TypedDict as OtherTypedDict

T = TypeVar("T")
CustomerId = NewType("CustomerId", str)


class Codec(StrEnum):
    H264 = "h264"
    AV1 = "av1"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Corner(Enum):
    TOP = (0, 1)
    BOTTOM = (0, -1)


class Access(Flag):
    READ = auto()
    WRITE = auto()


@attrs.frozen
class Video:
    source_file: str
    codec: Codec = Codec.H264
    bitrate: int | None = None
    _secret: str = attrs.field(default="", alias="secret")


@dataclasses.dataclass(frozen=True)
class Image:
    source_file: str
    sizes: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(kw_only=True)
class Tree:
    name: str
    children: list[Tree] = dataclasses.field(default_factory=list)
    parent_name: str | None = None


@attrs.define
class Box(Generic[T]):
    content: T
    spare: list[T] = attrs.field(factory=list)


@attrs.define
class LabelledBox(Box[tuple[T, ...]], Generic[T]):
    label: str = ""


class Point(NamedTuple):
    x: float
    y: float = 0.0


class Options(TypedDict):
    width: int
    height: NotRequired[int]


class OtherOptions(OtherTypedDict, total=False):
    depth: int


@attrs.frozen
class Album:
    items: tuple[Video | Image, ...]
    by_name: dict[str, Video | Image | None] = attrs.field(factory=dict)


Json = TypeAliasType("Json", "bool | int | str | list[Json] | dict[str, Json] | None")
VIDEO = Video("intro.mov", Codec.AV1, 5, "s")

CASES: dict[str, tuple[Any, Any]] = {
    "str": (str, 'ä "quoted"\n😀\x00'),
    "int_low": (int, -(2**63)),
    "int_high": (int, 2**64 - 1),
    "float": (float, -0.1),
    "bool": (bool, True),
    "none": (None, None),
    "bytes": (bytes, bytes(range(256))),
    "decimal": (Decimal, Decimal("-1.2300E+40")),
    "uuid": (UUID, UUID("12345678-1234-5678-1234-567812345678")),
    "datetime_utc": (datetime, datetime(2026, 3, 1, 12, 30, 0, 123456, UTC)),
    "datetime_offset": (datetime, datetime(2026, 3, 1, 12, 30, tzinfo=timezone(timedelta(hours=-3, minutes=-30)))),
    "datetime_second_pass": (datetime, datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Paris"), fold=1)),
    "datetime_in_gap": (datetime, datetime(2026, 3, 29, 2, 30, tzinfo=ZoneInfo("Europe/Paris"))),
    "date": (date, date(2026, 2, 28)),
    "time": (time, time(23, 59, 59, 5)),
    "time_offset": (time, time(1, 2, tzinfo=timezone(timedelta(hours=2)))),
    "timedelta": (timedelta, timedelta(days=3, seconds=5, microseconds=1)),
    "timedelta_negative": (timedelta, timedelta(microseconds=-1)),
    "enum_str": (Codec, Codec.AV1),
    "enum_int": (Level, Level.HIGH),
    "enum_by_name": (Corner, Corner.BOTTOM),
    "flag": (Access, Access.READ | Access.WRITE),
    "literal": (Literal["a", 1, True, None], True),
    "newtype": (CustomerId, CustomerId("c1")),
    "annotated": (Annotated[int, ["unhashable"]], 7),
    "list": (list[int], [1, 2]),
    "tuple_any_length": (tuple[str, ...], ("a", "b")),
    "tuple_fixed": (tuple[int, str, None], (1, "a", None)),
    "tuple_empty": (tuple[()], ()),
    "set": (set[str], {"b", "a", "c"}),
    "frozenset": (frozenset[tuple[int, int]], frozenset({(2, 1), (1, 2)})),
    "dict_str": (dict[str, float], {"b": 1.5, "a": 2.0}),
    "dict_int": (dict[int, str], {-5: "a", 0: "b", 2**64 - 1: "c"}),
    "dict_uuid": (dict[UUID, None], {UUID(int=1): None}),
    "dict_enum": (dict[Codec, int], {Codec.AV1: 1}),
    "dict_date": (dict[date, int], {date(2026, 1, 1): 1}),
    "attrs_class": (Video, VIDEO),
    "dataclass": (Image, Image("a.png", [1, 2])),
    "recursive_class": (Tree, Tree(name="a", children=[Tree(name="b", parent_name="a")])),
    "recursive_alias": (Json, {"a": [1, None, {"b": True}], "c": "d"}),
    "generic_class": (Box[Box[int]], Box(Box(1, [2]), [Box(3)])),
    "generic_subclass": (LabelledBox[date], LabelledBox((date(2026, 1, 1),), [(), ()], "x")),
    "named_tuple": (Point, Point(1.0, 2.5)),
    "typed_dict": (Options, {"width": 1}),
    "typed_dict_of_the_other_make": (OtherOptions, {}),
    "optional_class": (Video | None, VIDEO),
    "union_of_kinds": (list[int | float | str | list[str] | None], [1, 1.0, "a", None, ["b"]]),
    "union_of_classes": (Album, Album((VIDEO, Image("a.png")), {"none": None, "image": Image("b.png")})),
    "union_of_literals": (list[Literal["a"] | Literal["b"] | int], ["a", 1, "b"]),
}
"""name -> (declared type, value); each has a golden file."""
