"""Which types can make the round trip; a pure walk over a type, before cattrs makes hooks for it.

cattrs makes hooks for nearly everything, and what cannot come back equal shows only with the values. This walk refuses
such types where they are declared, naming the part: what can be anything, a plain class, a union whose members look the
same in JSON, a field that the constructor does not take.

It resolves the types of fields as well, for both sides to use: names in strings (also of classes inside functions),
and type variables base by base, each in the scope of its own class.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import re
import sys
import types
import typing
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache
from typing import Annotated, Any, Final, Literal, NewType, TypeVar, Union

import attrs

from beskar_jobs.wire.scalars import SCALARS, IntKey, Shape

TAG: Final = "_type"
ARRAYS: Final[Mapping[Any, type]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    collections.abc.MutableSequence: list,
    collections.abc.MutableSet: set,
}
DICTS: Final = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
UNIONS: Final = (Union, types.UnionType)
_VAGUE: Final = tuple(getattr(collections.abc, name) for name in ("Sequence", "Collection", "Iterable", "Set"))
_QUALIFIERS: Final = re.compile(r"typing(_extensions)?\.(Required|NotRequired|ReadOnly|Final)")
# What a reader does not need to see of a name.
_WITHIN: Final = re.compile(r"[\w.]*<locals>\.|\btyping\.")

_Shapes = frozenset[Shape]


class PlainData:
    """Stands for JSON data as it is, a union of all its kinds; how a value is declared ``Any``, at its root."""


class NotPortable(Exception):
    """A type whose values cannot make the round trip; ``steps`` lead to the part, innermost first."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.steps: list[str] = []

    def text(self, root: str) -> str:
        return f"{root}{''.join(reversed(self.steps))} {self.problem}"


def type_name(declared: Any) -> str:
    """A type as a reader knows it."""
    if declared is None or declared is type(None):
        return "None"
    plain_class = isinstance(declared, type) and not typing.get_args(declared)
    return _WITHIN.sub("", declared.__qualname__ if plain_class else str(declared))[:200]


def bare(declared: Any) -> Any:
    """What is left of a type without Annotated, NewType, qualifiers and aliases."""
    for _ in range(100):
        origin, arguments = typing.get_origin(declared), typing.get_args(declared)
        if origin is Annotated or _QUALIFIERS.fullmatch(str(origin)):
            declared = arguments[0]
        elif isinstance(declared, NewType):
            declared = declared.__supertype__
        elif type(origin or declared).__name__ == "TypeAliasType":
            declared = _alias_value(origin or declared, arguments)
        else:
            return type(None) if declared is None else declared
    raise NotPortable("is an alias that is a part of itself")


def stripped(declared: Any) -> Any:
    """*declared* without Annotated at any depth, and so hashable."""
    return typing.get_type_hints(_holder(declared))["it"]


def _holder(annotation: Any) -> type:
    return type("_Holder", (), {"__annotations__": {"it": annotation}})


def _alias_value(alias: Any, arguments: tuple[Any, ...]) -> Any:
    try:
        value = typing.get_type_hints(_holder(alias.__value__), vars(sys.modules[alias.__module__]))["it"]
    except Exception as error:
        raise NotPortable(f"is an alias that cannot be resolved: {error}") from error
    return _substituted(value, dict(zip(alias.__type_params__, arguments, strict=False)))


def walk(declared: Any, made: dict[Any, _Shapes]) -> _Shapes:
    """The kinds of JSON that values of *declared* stand as. *made* is for the types that this walk has met.

    Raises:
        NotPortable: they cannot make the round trip, they or a part of them.
    """
    declared = bare(declared)
    if declared not in made:
        made[declared] = frozenset()  # what the type itself finds here if it is a part of itself
        made[declared] = _shapes(declared, made)
    return made[declared]


def _part(declared: Any, step: str, made: dict[Any, _Shapes]) -> _Shapes:
    try:
        return walk(declared, made)
    except NotPortable as problem:
        problem.steps.append(step)
        raise


def _shapes(declared: Any, made: dict[Any, _Shapes]) -> _Shapes:
    origin, arguments = typing.get_origin(declared) or declared, typing.get_args(declared)
    if origin in SCALARS:
        return frozenset({SCALARS[origin].shape})
    if declared is PlainData or origin in UNIONS:
        return _union_shapes(union_members(declared), made)
    if origin is Literal:
        return _literal_shapes(arguments)
    if isinstance(declared, TypeVar):
        raise NotPortable(f"leaves the type variable {declared} open")
    if declared in (Any, object):
        raise NotPortable("can be anything; say which types it may have")
    if isinstance(declared, type) and issubclass(declared, Enum):
        return frozenset(SCALARS[type(plain)].shape for _, plain in enum_choices(declared)) or frozenset({"string"})
    if origin in ARRAYS or origin in DICTS:
        if getattr(declared, "__args__", None) is None:  # tuple[()] has them, though none
            raise NotPortable(f"does not say what is in it; say {origin.__name__}[…]")
        return _collection_shapes(origin, arguments, made)
    if origin in _VAGUE:
        raise NotPortable("does not say which class comes back; say list, tuple, set or frozenset")
    if not isinstance(origin, type) or class_kind(origin) is None:
        raise NotPortable(
            f"is {type_name(declared)}, which is none of the types that can be written as JSON; "
            "make it an attrs class or a dataclass, add it by register_type, or pass a path or an id"
        )
    made[declared] = frozenset({"object"})
    for field in fields_of(declared):
        _part(field.type, f".{field.name}", made)
    return made[declared]


def _collection_shapes(origin: Any, arguments: tuple[Any, ...], made: dict[Any, _Shapes]) -> _Shapes:
    if origin in DICTS:
        key, value = arguments
        if _part(IntKey if bare(key) is int else key, "[key]", made) != {"string"}:
            raise NotPortable(f"has keys of type {type_name(key)}, which do not stand as a string in JSON")
        _part(value, "[value]", made)
        return frozenset({"object"})
    alike = origin is not tuple or arguments[1:] == (Ellipsis,)
    for place, item in enumerate(arguments[:1] if alike else arguments):
        _part(item, "[]" if alike else f"[{place}]", made)
    return frozenset({"array"})


def union_members(union: Any) -> list[Any]:
    """The members, bare and flat; all literals as one."""
    if union is PlainData:
        return [type(None), bool, int, float, str, list[PlainData], dict[str, PlainData]]
    flat: dict[Any, None] = {}
    literals: list[Any] = []
    queue, rounds = list(typing.get_args(union)), 0
    while queue:
        member = bare(queue.pop(0))
        rounds += 1
        if member == union or rounds > 1000:
            raise NotPortable("is an alias that is a part of itself")
        if typing.get_origin(member) in UNIONS:
            queue[:0] = typing.get_args(member)
        elif typing.get_origin(member) is Literal:
            literals += typing.get_args(member)
        else:
            flat[member] = None
    return [*flat, Literal[tuple(literals)]] if literals else list(flat)


def _union_shapes(members: list[Any], made: dict[Any, _Shapes]) -> _Shapes:
    first: dict[Shape, Any] = {}
    for member in members:
        for shape in walk(member, made):
            other = first.setdefault(shape, member)
            if other is member:
                continue
            if shape != "object":
                raise NotPortable(f"is a union with two members that stand as {shape} in JSON and cannot be told apart")
            if tag_of(other) is None or tag_of(member) is None:
                raise NotPortable("is a union of a dict with another dict or class, which cannot be told apart")
    tags = [tag for tag in map(tag_of, members) if tag is not None]
    if len(set(tags)) != len(tags):
        raise NotPortable("is a union of two classes of the same name, which cannot be told apart")
    return frozenset(first)


def tag_of(member: Any) -> str | None:
    """The name that tells a class with fields from others in a union; ``None`` for all else."""
    cls = typing.get_origin(member) or member
    kind = class_kind(cls) if isinstance(cls, type) and cls not in SCALARS else None
    return cls.__name__ if kind in ("class", "named tuple") else None


def enum_choices(cls: type[Enum]) -> list[tuple[Any, Any]]:
    """``(member, how it stands in JSON)``: the value if all values are str or all are int, else the name."""
    kinds = {type(member.value) for member in cls.__members__.values()}
    by_value = kinds in ({str}, {int})
    return [(member, member.value if by_value else member.name) for member in cls]


def literal_choices(values: Iterable[Any]) -> list[tuple[Any, Any]]:
    """``(value, how it stands in JSON)`` for the values of a Literal."""
    choices = []
    for value in values:
        if isinstance(value, Enum):
            choices.append((value, dict(enum_choices(type(value)))[value]))
        elif type(value) in (str, int, bool, type(None)):
            choices.append((value, value))
        else:
            raise NotPortable(f"Literal[{value!r}] is not a str, int, bool, None or enum member")
    return choices


def _literal_shapes(values: tuple[Any, ...]) -> _Shapes:
    choices = literal_choices(values)
    if len({(type(plain), plain) for _, plain in choices}) != len(choices):
        raise NotPortable("two of the literals look the same in JSON")
    return frozenset(SCALARS[type(plain)].shape for _, plain in choices)


@attrs.frozen
class Field:
    """One field of a class: its name in JSON, the constructor's name for it, its type, whether it may be missing."""

    name: str
    argument: str
    type: Any
    required: bool


def class_kind(cls: type) -> Literal["class", "named tuple", "typed dict"] | None:
    """What sort of class with fields *cls* is. A TypedDict is of either make, typing's or typing_extensions'."""
    if issubclass(cls, dict) and hasattr(cls, "__required_keys__"):
        return "typed dict"
    if issubclass(cls, tuple):
        return "named tuple" if hasattr(cls, "_fields") else None
    return "class" if attrs.has(cls) or dataclasses.is_dataclass(cls) else None


@cache
def fields_of(declared: Any) -> tuple[Field, ...]:
    """The fields of an attrs class, dataclass, NamedTuple or TypedDict that stand in JSON, types resolved.

    Raises:
        NotPortable: not all of a value is in what its constructor takes, or a type cannot be resolved.
    """
    cls: Any = typing.get_origin(declared) or declared
    kind = class_kind(cls)
    if kind == "typed dict":
        fields = [(name, name, name in cls.__required_keys__) for name in cls.__annotations__]
    elif kind == "named tuple":
        fields = [(name, name, name not in cls._field_defaults) for name in cls._fields]
    else:
        fields = _constructor_fields(cls)
    hints = _field_types(cls, typing.get_args(declared))
    made = []
    for name, argument, has_no_default in fields:
        if name == TAG:
            raise NotPortable(f"has a field {name!r}, the name of the tag in unions")
        qualifier = str(typing.get_origin(hints[name])).rpartition(".")[2]
        required = qualifier == "Required" or (has_no_default and qualifier != "NotRequired")
        made.append(Field(name, argument, stripped(hints[name]), required))
    return tuple(made)


def _constructor_fields(cls: type) -> list[tuple[str, str, bool]]:
    """``(name, constructor's argument, required)`` per field that the constructor takes."""
    if attrs.has(cls):
        fields = [
            (a.name, a.alias or a.name, a.default is attrs.NOTHING, a.init, bool(a.eq)) for a in attrs.fields(cls)
        ]
    else:
        missing = dataclasses.MISSING
        fields = [
            (f.name, f.name, f.default is missing and f.default_factory is missing, f.init, f.compare)
            for f in dataclasses.fields(cls)
        ]
    for name, _, _, init, compared in fields:
        if not init and compared:
            raise NotPortable(
                f"has the field {name!r} that its constructor does not take, so that its value would be lost; "
                "take it out of comparisons (eq=False), or make it a property"
            )
    taken = [(name, argument, required) for name, argument, required, init, _ in fields if init]
    try:  # a constructor of the user's own, or an InitVar, may want other arguments than the fields
        inspect.signature(cls).bind(**dict.fromkeys(argument for _, argument, _ in taken))
    except TypeError as error:
        raise NotPortable(f"has a constructor whose arguments are not its fields: {error}") from None
    return taken


def _field_types(cls: Any, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """The types of all fields, with names resolved and type variables filled in, base by base."""
    known = dict(zip(getattr(cls, "__parameters__", ()), arguments, strict=False))
    found: dict[str, Any] = {}
    for base in reversed(cls.__dict__.get("__orig_bases__", cls.__bases__)):
        origin = typing.get_origin(base) or base
        if isinstance(origin, type) and origin not in (object, typing.Generic):
            found |= _field_types(origin, tuple(_substituted(each, known) for each in typing.get_args(base)))
    try:
        own = inspect.get_annotations(cls)
        hints = typing.get_type_hints(cls, localns={cls.__name__: cls}, include_extras=True) if own else {}
    except Exception as error:
        raise NotPortable(
            f"has annotations that cannot be resolved ({error}); what they name has to be defined "
            "before the handler, and imported outside TYPE_CHECKING"
        ) from error
    return found | {name: _substituted(hints[name], known) for name in own if name in hints}


def _substituted(declared: Any, known: Mapping[Any, Any]) -> Any:
    """*declared* with its type variables filled in."""
    if isinstance(declared, TypeVar):
        return known.get(declared, declared)
    parameters = getattr(declared, "__parameters__", ())
    if not parameters or (isinstance(declared, type) and not typing.get_args(declared)):
        return declared
    alias: Any = declared
    return alias[tuple(known.get(parameter, parameter) for parameter in parameters)]
