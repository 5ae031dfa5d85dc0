"""Which types are refused at decoration, and what their owner is told."""

from __future__ import annotations

import collections
import dataclasses
import io
import typing
from collections.abc import Callable, Iterable, Mapping, MutableSequence, Sequence, Set
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar, Union
from uuid import UUID

import attrs
import pytest

from beskar_jobs.model.errors import ValueNotSerializable
from beskar_jobs.wire.values import check_serializable, dump_value
from tests.wire.value_cases import Album, Box, Codec, Image, Options, Tree, Video

if TYPE_CHECKING:
    from fractions import Fraction

T = TypeVar("T")


class Plain:
    def __init__(self, x: int) -> None:
        self.x = x


@attrs.frozen
class Upload:
    file: IO[bytes]


@attrs.frozen
class Nested:
    uploads: dict[str, list[Upload]]


@attrs.frozen
class OnlyForCheckers:
    share: Fraction


@attrs.define
class Computed:
    size: int
    twice: int = attrs.field(init=False, default=0)


@dataclasses.dataclass
class WithInitVar:
    size: int
    scale: dataclasses.InitVar[int]


@attrs.define(init=False)
class OwnConstructor:
    size: int

    def __init__(self, text: str) -> None:
        self.size = len(text)


@attrs.frozen
class Tagged:
    _type: str


class Loose(TypedDict):
    anything: Any


class OtherStr(StrEnum):
    A = "a"


def _video_of_another_module() -> type:
    return attrs.make_class("Video", {"length": attrs.field(type=int)}, frozen=True)


@attrs.define
class Pair(Generic[T]):
    left: T
    right: T


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (Any, "Any can be anything; say which types it may have"),
        (object, "object can be anything"),
        (list[Any], "list[Any][] can be anything"),
        (Plain, "Plain is Plain, which is none of the types that can be written as JSON"),
        (Callable[[], int], "none of the types that can be written as JSON"),
        (io.BytesIO, "BytesIO is BytesIO, which is none"),
        (Path, "pass a path or an id"),
        (complex, "complex is complex, which is none"),
        (type[int], "none of the types that can be written as JSON"),
        (Upload, "Upload.file is IO[bytes], which is none of the types"),
        (Nested, "Nested.uploads[value][].file is IO[bytes]"),
        (OnlyForCheckers, "OnlyForCheckers has annotations that cannot be resolved (name 'Fraction' is not defined)"),
        (Computed, "Computed has the field 'twice' that its constructor does not take"),
        (
            WithInitVar,
            "WithInitVar has a constructor whose arguments are not its fields: missing a required argument: 'scale'",
        ),
        (OwnConstructor, "whose arguments are not its fields: missing a required argument: 'text'"),
        (Tagged, "Tagged has a field '_type', the name of the tag"),
        (Loose, "Loose.anything can be anything"),
        (Pair, "Pair.left leaves the type variable ~T open"),
        (Pair[T], "leaves the type variable ~T open"),  # type: ignore[valid-type]
        (list, "list does not say what is in it; say list[…]"),
        (dict, "dict does not say what is in it"),
        (tuple, "tuple does not say what is in it; say tuple[…]"),
        (typing.List, "does not say what is in it; say list[…]"),  # noqa: UP006  # the older spelling counts too
        (Sequence[int], "does not say which class comes back; say list, tuple, set or frozenset"),
        (Iterable[int], "does not say which class comes back"),
        (Set[int], "does not say which class comes back"),
        (collections.deque[int], "none of the types that can be written as JSON"),
        (dict[float, int], "has keys of type float, which do not stand as a string"),
        (dict[tuple[int, int], int], "has keys of type tuple[int, int]"),
        (dict[bool, int], "has keys of type bool"),
        (str | datetime, "two members that stand as string in JSON and cannot be told apart"),
        (UUID | Decimal, "two members that stand as string"),
        (Codec | OtherStr, "two members that stand as string"),
        (Literal["a"] | str, "two members that stand as string"),
        (list[int] | tuple[int, ...], "two members that stand as array"),
        (Union[int, Literal[1]], "two members that stand as integer"),  # noqa: UP007  # the older spelling counts too
        (Video | dict[str, int], "a union of a dict with another dict or class"),
        (Options | Video, "a union of a dict with another dict or class"),
        (Video | _video_of_another_module(), "two classes of the same name"),
        (Box[int] | Box[str], "two classes of the same name"),
        (Literal[b"a"], "Literal[b'a'] is not a str, int, bool, None or enum member"),
        (Literal["a", OtherStr.A], "two of the literals look the same in JSON"),
    ],
    ids=str,
)
def test_a_type_that_cannot_make_the_round_trip_is_refused_by_name(declared: Any, message: str) -> None:
    problem = check_serializable(declared)
    assert problem is not None
    assert message in problem


@pytest.mark.parametrize("declared", [MutableSequence[int], Mapping[str, int], Tree, Album, Image | None])
def test_a_type_with_one_natural_class_is_taken(declared: Any) -> None:
    assert check_serializable(declared) is None


def test_a_refused_type_stays_refused_and_does_not_poison_its_parts() -> None:
    assert check_serializable(Nested) == check_serializable(Nested)
    assert check_serializable(Nested) is not None
    with pytest.raises(ValueNotSerializable, match=r"Upload\.file is IO\[bytes\]"):
        dump_value(Upload(io.BytesIO()), Upload)


def test_a_class_that_refers_to_a_refused_one_and_to_itself_is_refused() -> None:
    @attrs.frozen
    class Node:
        next: Node | None
        payload: object

    assert "Node.payload can be anything" in (check_serializable(Node) or "")
    assert "Node.payload can be anything" in (check_serializable(Node) or "")
