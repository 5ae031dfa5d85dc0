"""Types of arguments and results, of each kind that can be one."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Generic, Literal, NamedTuple, NewType, TypedDict, TypeVar
from uuid import UUID

import attrs
from typing_extensions import NotRequired

T = TypeVar("T")

MediaId = NewType("MediaId", str)
DEFAULT_LIMIT = 50
_PRIVATE_LIMIT = 10
Sizes = tuple[int, ...]


class Codec(StrEnum):
    H264 = "h264"
    AV1 = "av1"


class Level(IntEnum):
    LOW = 1
    HIGH = 10


class Colour(Enum):
    RED = "r"
    BLUE = "b"


@attrs.frozen
class TranscodeArgs:
    """What to encode.

    Attributes:
        source_file: path of the film, as the workers see it.
        codec: how the film is encoded.
    """

    source_file: str
    codec: str = "h264"
    level: Level = Level.LOW
    tags: list[str] = attrs.field(factory=list)
    limit: int = DEFAULT_LIMIT
    private_limit: int = _PRIVATE_LIMIT
    pause: timedelta = timedelta(seconds=5)
    ratio: float | None = None
    _secret: str = "x"
    sizes: Sizes = (640, 480)
    mode: Literal["fast", 'slow "er"'] = "fast"
    codec_choice: Literal[Codec.H264, Codec.AV1] = Codec.H264


@attrs.frozen
class TranscodeResult:
    output_path: str
    size_bytes: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReportArgs:
    customer: UUID
    since: datetime
    total: Decimal = Decimal("0.10")
    media: dict[MediaId, list[Codec]] = dataclasses.field(default_factory=dict)
    parts: list[ReportPart] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class ReportPart:
    title: str
    parts: list[ReportPart] = dataclasses.field(default_factory=list)


class Point(NamedTuple):
    x: int
    y: int = 0


class MailArgs(TypedDict):
    to: str
    subject: NotRequired[str]
    point: NotRequired[Point]


@attrs.define
class Page(Generic[T]):
    items: list[T]
    colour: Colour = Colour.RED


@attrs.frozen
class OddNames:
    """Fields called like what a descriptor uses."""

    type: str
    super: str
    queue: str
    match: int = 0
    made: str = ""
    names: str = ""
    args_type: str = ""


@attrs.frozen
class Moved:
    dx: int


@attrs.frozen
class Turned:
    angle: float


@attrs.frozen
class Steps:
    steps: tuple[Moved | Turned, ...]
    last: Moved | Turned | None = None


@attrs.frozen
class ManyFieldsWithARatherLongName:
    some_quite_long_field_name_of_this_class: dict[MediaId, tuple[Moved | Turned | None, ...]] | None = None
    another_quite_long_field_name_of_this_class: dict[str, dict[str, dict[str, list[TranscodeResult]]]]  = attrs.field(factory=dict)
    a_third_quite_long_field_name_of_this_class: TranscodeResult | Steps | ManyFieldsWithARatherLongName | None = None
    a_fourth_field_name: tuple[int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int] | None = None
