"""A cattrs converter that is strict in both directions; how types with parts stand in JSON.

cattrs makes the functions for classes and collections and keeps the path to a failure; what is overridden is told here,
with its reason. The format does not come from cattrs: golden files pin it, and an upgrade that changes a byte fails.

* Hooks are looked up by the declared type alone. cattrs dispatches on classes first, so that a ``(str, Enum)`` would be
  a str, and in a class that contains itself it falls back to the class of the value, which loses the tags of unions.
* Collections and classes are written only from exactly their class: cattrs takes any iterable, and a subclass for its
  base, which is what would come back. Sets are written in a fixed order.
* Fields are those that :mod:`~beskar_jobs.wire.typewalk` has resolved: cattrs binds type variables by name, over all
  bases at once, and cannot resolve classes inside functions.
* Enums and literals tell ``True`` from ``1``. An enum is its value if all values are str or all are int, else its name.
* A union is told apart by the kind of JSON. Where several members are classes with fields, each carries its name in the
  additional field ``_type``.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from enum import Enum, Flag
from typing import Annotated, Any, Final, Literal, NotRequired, Required, TypedDict

import attrs
import orjson
from cattrs import Converter
from cattrs.cols import (
    homogenous_tuple_structure_factory,
    iterable_unstructure_factory,
    list_structure_factory,
    mapping_structure_factory,
    mapping_unstructure_factory,
)
from cattrs.gen import (
    make_dict_structure_fn_from_attrs,
    make_dict_unstructure_fn_from_attrs,
    make_hetero_tuple_structure_fn,
    make_hetero_tuple_unstructure_fn,
    typeddicts,
)

from beskar_jobs.wire import typewalk
from beskar_jobs.wire.scalars import SCALARS, IntKey, Misfit, Shape, article, misfit, structure_int
from beskar_jobs.wire.typewalk import ARRAYS, DICTS, TAG, UNIONS, PlainData, bare

Unstructure = Callable[[Any], Any]
Structure = Callable[[Any, Any], Any]

_SHAPES: Final[Mapping[type, Shape]] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_WANTED_PLAIN: Final = "plain JSON data (None, bool, int, float, str, list, dict with str keys)"


class ValueConverter(Converter):
    """Hooks for one type that :func:`~beskar_jobs.wire.typewalk.walk` has let pass, and for its parts."""

    def __init__(self, *, detailed_validation: bool) -> None:
        super().__init__(detailed_validation=detailed_validation)
        self._pairs: dict[Any, tuple[Unstructure, Structure]] = {}

    def get_unstructure_hook(self, type: Any, cache_result: bool = True) -> Unstructure:
        return self._hooks(type)[0]

    def get_structure_hook(self, type: Any, cache_result: bool = True) -> Structure:
        return self._hooks(type)[1]

    def _hooks(self, declared: Any) -> tuple[Unstructure, Structure]:
        declared, pairs = bare(declared), self._pairs
        if declared not in pairs:
            # What a type that contains itself finds in its parts, before its own hooks are made.
            pairs[declared] = _later(pairs, declared)
            pairs[declared] = self._make(declared)
        return pairs[declared]

    def _make(self, declared: Any) -> tuple[Unstructure, Structure]:
        origin, arguments = typing.get_origin(declared) or declared, typing.get_args(declared)
        if origin in SCALARS:
            return SCALARS[origin].unstructure, SCALARS[origin].structure
        if declared is PlainData or origin in UNIONS:
            return self._union(declared, typewalk.union_members(declared))
        if origin is Literal:
            return _choice(None, typewalk.literal_choices(arguments))
        if issubclass(origin, Enum):
            choices = typewalk.enum_choices(origin)
            if issubclass(origin, Flag) and any(type(plain) is int for _, plain in choices):
                return _flag(origin)
            return _choice(origin, choices)
        if origin in DICTS:
            return self._dict(*arguments)
        if origin is tuple and arguments[1:] != (Ellipsis,):
            return self._fixed_tuple(declared, len(arguments))
        if origin in ARRAYS:
            return self._array(ARRAYS[origin], arguments[0])
        if typewalk.class_kind(origin) == "typed dict":
            return self._typed_dict(declared, origin)
        return self._class(declared, origin)

    def _array(self, cls: type, item: Any) -> tuple[Unstructure, Structure]:
        write = iterable_unstructure_factory(list[item], self, unstructure_to=list)
        if cls is tuple:
            return _exact(cls, write), _from(list, homogenous_tuple_structure_factory(tuple[item, ...], self))
        read = list_structure_factory(list[item], self)
        if cls is list:
            return _exact(cls, write), _from(list, read)

        def write_sorted(value: Any) -> Any:
            return sorted(write(value), key=lambda plain: orjson.dumps(plain, default=str))

        def read_set(data: Any, _: Any) -> Any:
            items = read(data, _)
            try:
                return cls(items)
            except TypeError:
                raise Misfit("holds something that cannot be in a set") from None

        return _exact(cls, write_sorted), _from(list, read_set)

    def _fixed_tuple(self, declared: Any, count: int) -> tuple[Unstructure, Structure]:
        write = make_hetero_tuple_unstructure_fn(declared, self, unstructure_to=list)
        read = make_hetero_tuple_structure_fn(declared, self)

        def write_counted(value: Any) -> Any:
            return write(value) if len(value) == count else Misfit(f"has {len(value)} items, not {count}")

        def read_counted(data: Any, _: Any) -> Any:
            if len(data) != count:
                raise Misfit(f"has {len(data)} items, not {count}")
            return read(data, _)

        return _exact(tuple, write_counted), _from(list, read_counted)

    def _dict(self, key: Any, value: Any) -> tuple[Unstructure, Structure]:
        key = IntKey if bare(key) is int else key
        of: Any = dict[key, value]
        write = mapping_unstructure_factory(of, self, unstructure_to=dict)
        return _exact(dict, write), _from(dict, mapping_structure_factory(of, self))

    def _typed_dict(self, declared: Any, cls: Any) -> tuple[Unstructure, Structure]:
        """From a TypedDict with resolved fields. None is required when it is written: what lacks shows when read."""
        make: Any = TypedDict
        fields = [(f.name, Annotated[f.type, ""], f.required) for f in typewalk.fields_of(declared)]
        loose = make(cls.__name__, {name: NotRequired[of] for name, of, _ in fields})
        strict = make(
            cls.__name__, {name: Required[of] if required else NotRequired[of] for name, of, required in fields}
        )
        write = typeddicts.make_dict_unstructure_fn(loose, self)
        read = typeddicts.make_dict_structure_fn(strict, self, _cattrs_forbid_extra_keys=True)
        return _exact(dict, write), _from(dict, read)

    def _class(self, declared: Any, cls: Any) -> tuple[Unstructure, Structure]:
        """An attrs class, dataclass or NamedTuple, by attributes that carry the resolved types."""
        field: Any = attrs.field
        attributes = {
            # Annotated, so that cattrs leaves the type alone; a default only says that the field may be missing.
            f.name: field(
                type=Annotated[f.type, ""],
                alias=f.argument,
                default=attrs.NOTHING if f.required else None,
                kw_only=True,
            )
            for f in typewalk.fields_of(declared)
        }
        holder = attrs.make_class(cls.__name__, attributes, init=False, repr=False, eq=False)
        fields = list(attrs.fields(holder))
        names = {parameter.__name__: Any for parameter in getattr(cls, "__parameters__", ())}
        write = make_dict_unstructure_fn_from_attrs(fields, cls, self)
        read = make_dict_structure_fn_from_attrs(fields, cls, self, names, _cattrs_forbid_extra_keys=True)
        return _exact(cls, write), _from(dict, read)

    def _union(self, declared: Any, members: list[Any]) -> tuple[Unstructure, Structure]:
        hooks = {member: self._hooks(member) for member in members}
        if len(members) == 2 and type(None) in members:
            write, read = next(pair for member, pair in hooks.items() if member is not type(None))
            return (
                lambda value: None if value is None else write(value),
                lambda data, _: None if data is None else read(data, _),
            )
        by_class = {cls: hooks[member][0] for member in members for cls in _classes(member)}
        # JSON of other writers does not tell 1.0 from 1.
        if float in members:
            by_class.setdefault(int, by_class[float])
        by_shape = {s: hooks[m][1] for m in members for s in typewalk.walk(m, {})}
        if "number" in by_shape:
            by_shape.setdefault("integer", by_shape["number"])
        tags = {tag: member for member in members if (tag := typewalk.tag_of(member)) is not None}
        if len(tags) > 1:
            by_class |= {_classes(m)[0]: _tagging(tag, hooks[m][0]) for tag, m in tags.items()}
            by_shape["object"] = _by_tag({tag: hooks[member][1] for tag, member in tags.items()})
        wanted = _WANTED_PLAIN if declared is PlainData else "any of the types of the union"

        def write_member(value: Any) -> Any:
            hook = by_class.get(type(value))
            if hook is None:
                hook = next((hook for cls, hook in by_class.items() if isinstance(value, cls)), None)
            return misfit(value, wanted) if hook is None else hook(value)

        def read_member(data: Any, _: Any) -> Any:
            shape = _SHAPES.get(type(data))
            hook = None if shape is None else by_shape.get(shape)
            if hook is None:
                raise misfit(data, wanted)
            return hook(data, _)

        return write_member, read_member


def _later(pairs: Mapping[Any, tuple[Unstructure, Structure]], declared: Any) -> tuple[Unstructure, Structure]:
    def write(value: Any) -> Any:
        return pairs[declared][0](value)

    def read(data: Any, _: Any) -> Any:
        return pairs[declared][1](data, _)

    return write, read


def _exact(cls: type, write: Unstructure) -> Unstructure:
    return lambda value: write(value) if type(value) is cls else misfit(value, article(cls))


def _from(cls: type, read: Structure) -> Structure:
    def read_checked(data: Any, _: Any) -> Any:
        if type(data) is cls:
            return read(data, _)
        raise misfit(data, "an object" if cls is dict else "an array")

    return read_checked


def _choice(cls: type | None, choices: list[tuple[Any, Any]]) -> tuple[Unstructure, Structure]:
    """A fixed choice of values: an enum, or literals."""
    writes = {(type(value), value): plain for value, plain in choices}
    reads = {(type(plain), plain): value for value, plain in choices}
    names = ", ".join(repr(plain) for _, plain in choices)
    wanted = f"one of {names if len(names) <= 200 else names[:200] + '…'}"

    def write(value: Any) -> Any:
        try:
            return writes[type(value), value]
        except (KeyError, TypeError):
            return misfit(value, wanted if cls is None else article(cls))

    def read(data: Any, _: Any) -> Any:
        try:
            return reads[type(data), data]
        except (KeyError, TypeError):
            raise misfit(data, wanted) from None

    return write, read


def _flag(cls: type[Flag]) -> tuple[Unstructure, Structure]:
    def read(data: Any, _: Any) -> Any:
        try:
            return cls(structure_int(data, int))
        except ValueError:
            raise Misfit(f"is not {article(cls)}") from None

    return _exact(cls, lambda value: value.value), read


def _classes(member: Any) -> tuple[type, ...]:
    """The classes of the values of a union's member."""
    origin = typing.get_origin(member) or member
    if origin is Literal:
        return tuple({type(value) for value in typing.get_args(member)})
    if origin in DICTS or typewalk.class_kind(origin) == "typed dict":
        return (dict,)
    return (ARRAYS.get(origin, origin),)


def _tagging(tag: str, write: Unstructure) -> Unstructure:
    def write_tagged(value: Any) -> Any:
        plain = write(value)
        return {TAG: tag, **plain} if type(plain) is dict else plain

    return write_tagged


def _by_tag(reads: Mapping[str, Structure]) -> Structure:
    def read_tagged(data: Any, _: Any) -> Any:
        rest = dict(data)
        tag = rest.pop(TAG, None)
        if not isinstance(tag, str) or tag not in reads:
            raise Misfit(f"has in {TAG!r} none of {', '.join(map(repr, sorted(reads)))}")
        return reads[tag](rest, _)

    return read_tagged
