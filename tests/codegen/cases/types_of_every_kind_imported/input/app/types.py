from __future__ import annotations

import dataclasses
from datetime import timedelta
from enum import Enum, IntEnum, StrEnum, auto
from typing import Generic, Literal, NamedTuple, NewType, TypedDict, TypeVar

import attrs
from typing_extensions import NotRequired

T = TypeVar("T")
Id = NewType("Id", str)
Names = tuple[str, ...]
LIMIT = 3


class Colour(StrEnum):
    RED = auto()
    BLUE = "b"


class Level(IntEnum):
    LOW = 1


class Point(NamedTuple):
    x: int
    y: int = 0


class Options(TypedDict, total=False):
    point: Point
    name: str


@attrs.define(kw_only=True)
class Node(Generic[T]):
    value: T
    children: list[Node[T]] = attrs.field(factory=list)


@dataclasses.dataclass(frozen=True)
class Base:
    id: Id
    colour: Colour = Colour.RED


@dataclasses.dataclass(frozen=True)
class MailArgs(Base):
    """What to send.

    Attributes:
        names: for whom.
    """

    level: Level = Level.LOW
    names: Names = ()
    limit: int = LIMIT
    pause: timedelta = timedelta(seconds=1)
    node: Node[int] | None = None
    options: Options = dataclasses.field(default_factory=lambda: Options())
    mode: Literal["a", "b", 3] = "a"
    only: Literal[Colour.BLUE] | None = None


@attrs.frozen
class MailResult:
    nodes: dict[Id, Node[str]]
    _hidden: int = 0
