"""How collections, classes and unions stand in JSON, made from the codecs of their parts.

* list, tuple, set and frozenset are arrays; sets are written in a fixed order.
* dict is an object; its keys are of a type that stands as a string, or whole numbers.
* attrs classes, dataclasses, NamedTuple and TypedDict are objects with their fields by name. Unknown fields and missing
  ones are refused. A value has exactly the declared class: a subclass would come back as its base.
* A union is told apart by the kind of JSON. Where several members are classes with fields, each carries its name in the
  additional field ``_type``.

The functions of a part are looked up with each call and not before: the codec of a class that refers to itself is not
complete when its parts are made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
import orjson

from beskar_jobs.wire.codecs import SCALARS, Codec, Misfit, Shape, article, misfit

TAG: Final = "_type"

ARRAY: Final[frozenset[Shape]] = frozenset({"array"})
OBJECT: Final[frozenset[Shape]] = frozenset({"object"})
_ABSENT: Final = object()


def _misfit_at(items: Any, each: Callable[[Any], Any]) -> Misfit:
    """Which of *items* it was that *each* has just refused."""
    for index, item in enumerate(items):
        try:
            each(item)
        except Misfit as problem:
            return problem.under(f"[{index}]")
    return Misfit("changed while it was read")


def array_codec(cls: type[Any], item: Codec) -> Codec:
    """list, tuple of any length, set or frozenset."""
    unordered = cls in (set, frozenset)

    def dump(value: Any) -> list[Any]:
        if type(value) is not cls:
            raise misfit(value, article(cls))
        dump_item = item.dump
        try:
            items = [dump_item(each) for each in value]
        except Misfit:
            raise _misfit_at(value, dump_item) from None
        if unordered:
            items.sort(key=orjson.dumps)
        return items

    def load(data: Any) -> Any:
        if type(data) is not list:
            raise misfit(data, "a list")
        load_item = item.load
        try:
            items = [load_item(each) for each in data]
        except Misfit:
            raise _misfit_at(data, load_item) from None
        if cls is list:
            return items
        try:
            return cls(items)
        except TypeError:
            raise Misfit("holds something that cannot be in a set") from None

    return Codec(dump, load, ARRAY, (cls,))


def fixed_tuple_codec(items: Sequence[Codec]) -> Codec:
    """A tuple with one type for each place."""
    count = len(items)

    def each(values: Any, functions: Sequence[Callable[[Any], Any]]) -> list[Any]:
        if len(values) != count:
            raise Misfit(f"has {len(values)} items, not {count}")
        out = []
        for index, (function, value) in enumerate(zip(functions, values, strict=True)):
            try:
                out.append(function(value))
            except Misfit as problem:
                raise problem.under(f"[{index}]") from None
        return out

    def dump(value: Any) -> list[Any]:
        if type(value) is not tuple:
            raise misfit(value, "a tuple")
        return each(value, [item.dump for item in items])

    def load(data: Any) -> tuple[Any, ...]:
        if type(data) is not list:
            raise misfit(data, "a list")
        return tuple(each(data, [item.load for item in items]))

    return Codec(dump, load, ARRAY, (tuple,))


def dict_codec(key: Codec, value: Codec) -> Codec:
    def each(items: Any, key_of: Callable[[Any], Any], value_of: Callable[[Any], Any]) -> dict[Any, Any]:
        if type(items) is not dict:
            raise misfit(items, "a dict")
        out = {}
        for name, item in items.items():
            try:
                out[key_of(name)] = value_of(item)
            except Misfit as problem:
                raise problem.under(f"[{str(name)[:80]!r}]") from None
        return out

    return Codec(
        lambda items: each(items, key.dump, value.dump),
        lambda items: each(items, key.load, value.load),
        OBJECT,
        (dict,),
    )


@attrs.frozen
class Field:
    """One field of a class: its name in JSON, the constructor's name for it, its codec, whether it may be missing."""

    name: str
    argument: str
    codec: Codec
    required: bool


def fill_class_codec(codec: Codec, cls: type, fields: Sequence[Field]) -> None:
    """Give the *codec* of *cls*, made before its fields could refer to it, its two functions."""
    table = [(field.name, field.codec) for field in fields]
    names = frozenset(field.name for field in fields)
    load_table = [(field.name, field.argument, field.codec, field.required) for field in fields]

    def dump(value: Any) -> dict[str, Any]:
        if type(value) is not cls:
            raise misfit(value, article(cls))
        out = {}
        name = ""
        try:
            for name, field in table:  # the name is for the handlers below
                out[name] = field.dump(getattr(value, name))
        except Misfit as problem:
            raise problem.under(f".{name}") from None
        except AttributeError:
            raise Misfit("is not set").under(f".{name}") from None
        return out

    def load(data: Any) -> Any:
        if type(data) is not dict:
            raise misfit(data, f"an object with the fields of {cls.__name__}")
        arguments = {}
        name = ""
        try:
            for name, argument, field, required in load_table:
                value = data.get(name, _ABSENT)
                if value is not _ABSENT:
                    arguments[argument] = field.load(value)
                elif required:
                    raise Misfit(f"is missing, and {cls.__name__} has no default for it")
        except Misfit as problem:
            raise problem.under(f".{name}") from None
        if len(data) != len(arguments):
            raise _unknown(data, names, cls)
        try:
            return cls(**arguments)
        except Exception as error:  # whatever the user's own validators raise
            text = str(error)[:200]
            raise Misfit(f"was refused by {cls.__name__} itself: {type(error).__name__}: {text}") from error

    codec.dump, codec.load = dump, load


def fill_typed_dict_codec(codec: Codec, cls: type, fields: Sequence[Field]) -> None:
    """The same for a TypedDict, whose values are plain dicts."""
    names = frozenset(field.name for field in fields)

    def each(value: Any, choose: Callable[[Codec], Callable[[Any], Any]]) -> dict[str, Any]:
        if type(value) is not dict:
            raise misfit(value, f"a dict with the keys of {cls.__name__}")
        out = {}
        for field in fields:
            item = value.get(field.name, _ABSENT)
            try:
                if item is not _ABSENT:
                    out[field.name] = choose(field.codec)(item)
                elif field.required:
                    raise Misfit(f"is missing, and {cls.__name__} requires it")
            except Misfit as problem:
                raise problem.under(f".{field.name}") from None
        if len(value) != len(out):
            raise _unknown(value, names, cls)
        return out

    codec.dump = lambda value: each(value, lambda field: field.dump)
    codec.load = lambda data: each(data, lambda field: field.load)


def _unknown(data: Mapping[Any, Any], names: frozenset[str], cls: type) -> Misfit:
    extra = ", ".join(sorted(repr(name)[:80] for name in data if name not in names)[:5])
    return Misfit(f"has {extra}, which {cls.__name__} does not know")


def union_codec(members: Sequence[Codec]) -> Codec | str:
    """The codec of a union, or why its members cannot be told apart."""
    problem = _ambiguity(members)
    if problem is not None:
        return problem
    classes = [member for member in members if member.shapes == OBJECT]
    tagged = len(classes) > 1
    by_shape = {shape: member for member in members for shape in member.shapes}
    by_tag = {member.tag: member for member in classes}
    # A float stands as a number without a fraction too: other writers do not tell 1.0 from 1.
    if "number" in by_shape:
        by_shape.setdefault("integer", by_shape["number"])
    by_type = {cls: member for member in members for cls in member.python_types}
    wanted = "any of the types of the union"

    def dump(value: Any) -> Any:
        member = by_type.get(type(value))
        if member is None:
            member = next((m for cls, m in by_type.items() if isinstance(value, cls)), None)
            if member is None:
                raise misfit(value, wanted)
        plain = member.dump(value)
        return {TAG: member.tag, **plain} if tagged and member.shapes == OBJECT else plain

    def load(data: Any) -> Any:
        shape = _SHAPES.get(type(data))
        member = by_shape.get(shape) if shape is not None else None
        if member is None:
            raise misfit(data, wanted)
        if shape != "object" or not tagged:
            return member.load(data)
        rest = dict(data)
        tag = rest.pop(TAG, None)
        member = by_tag.get(tag) if isinstance(tag, str) else None
        if member is None:
            raise Misfit(f"has in {TAG!r} none of {', '.join(sorted(repr(name) for name in by_tag))}")
        return member.load(rest)

    shapes = frozenset[Shape]().union(*(member.shapes for member in members))
    return Codec(dump, load, shapes, tuple(by_type))


_SHAPES: Final[Mapping[type, Shape]] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def _ambiguity(members: Sequence[Codec]) -> str | None:
    seen: dict[Shape, Codec] = {}
    for member in members:
        for shape in member.shapes:
            first = seen.setdefault(shape, member)
            if first is member:
                continue
            if shape != "object":
                return f"is a union with two members that stand as {shape} in JSON and cannot be told apart"
            if first.tag is None or member.tag is None:
                return "is a union of a dict with another dict or class, which cannot be told apart"
    tags = [member.tag for member in members if member.tag is not None]
    if len(set(tags)) != len(tags):
        return "is a union of two classes of the same name, which cannot be told apart"
    return None


def key_codec(key: Codec) -> Codec | None:
    """*key* as the key of an object; ``None`` if it does not stand as a string."""
    return key if key.shapes == SCALARS[str].shapes else None
