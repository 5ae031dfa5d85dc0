"""Finds the codec of a type, part by part, and says which part has none.

Names are resolved (string annotations, aliases, NewType, Annotated), type variables are filled in through generic
bases, and a class that refers to itself meets its own, still unfinished codec.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import re
import sys
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, Final, Literal, NewType, TypeVar, Union

import attrs

from beskar_jobs.wire import composites
from beskar_jobs.wire.choices import enum_codec, int_key_codec, literal_codec
from beskar_jobs.wire.codecs import SCALARS, Codec, Misfit

_ARRAYS: Final[Mapping[Any, type]] = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.abc.MutableSequence: list,
    collections.abc.MutableSet: set,
}
_DICTS: Final = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_VAGUE: Final[Mapping[Any, str]] = {
    collections.abc.Sequence: "list[…] or tuple[…, ...]",
    collections.abc.Collection: "list[…] or tuple[…, ...]",
    collections.abc.Iterable: "list[…] or tuple[…, ...]",
    collections.abc.Set: "set[…] or frozenset[…]",
}
_QUALIFIERS: Final = {
    "typing.Required",
    "typing.NotRequired",
    "typing.Final",
    "typing.ReadOnly",
    "typing_extensions.Required",
    "typing_extensions.NotRequired",
    "typing_extensions.ReadOnly",
}


# What a reader does not need to see of a name.
_WITHIN: Final = re.compile(r"[\w.]*<locals>\.|\btyping\.")


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
    if isinstance(declared, type) and not typing.get_args(declared):
        return _WITHIN.sub("", declared.__qualname__)[:200]
    return _WITHIN.sub("", str(declared))[:200]


class TypeWalk:
    """One walk over a type. ``made`` holds the codecs it made, complete once :meth:`codec` has returned."""

    def __init__(self, known: Mapping[Any, Codec]) -> None:
        self._known = known
        self.made: dict[Any, Codec] = {}
        self._open_aliases: list[Any] = []

    def codec(self, declared: Any) -> Codec:
        """The codec of *declared*.

        Raises:
            NotPortable: there is none, for it or for one of its parts.
        """
        if declared is None:
            declared = type(None)
        try:
            found = self.made.get(declared) or self._known.get(declared)
        except TypeError:  # unhashable: Annotated with a list, say
            return self._make(declared)
        if found is None:
            found = self.made[declared] = self._make(declared)
        return found

    def _make(self, declared: Any) -> Codec:
        scalar = SCALARS.get(declared) if isinstance(declared, type) else None
        if scalar is not None:
            return scalar
        origin, arguments = typing.get_origin(declared), typing.get_args(declared)
        if origin is Annotated or str(origin) in _QUALIFIERS:
            return self.codec(arguments[0])
        if isinstance(declared, NewType):
            return self.codec(declared.__supertype__)
        if hasattr(declared, "__value__") and type(origin or declared).__name__ == "TypeAliasType":
            return self._alias(declared, origin, arguments)
        if origin is Union or origin is types.UnionType:
            return self._union(arguments)
        if origin is Literal:
            return _checked(literal_codec(arguments))
        if isinstance(declared, TypeVar):
            raise NotPortable(f"leaves the type variable {declared} open")
        if declared in (Any, object):
            raise NotPortable("can be anything; say which types it may have")
        if isinstance(declared, type) and issubclass(declared, Enum):
            return enum_codec(declared)
        return self._collection(origin or declared, arguments) or self._class(declared, origin or declared, arguments)

    def _alias(self, declared: Any, origin: Any, arguments: tuple[Any, ...]) -> Codec:
        if declared in self._open_aliases:
            return self._promise(declared)
        self._open_aliases.append(declared)
        try:
            value = _alias_value(origin or declared)
            if origin is not None:
                value = substituted(value, dict(zip(origin.__type_params__, arguments, strict=True)))
            codec = self.codec(value)
            self.made[declared] = codec
            return codec
        finally:
            self._open_aliases.pop()

    def _promise(self, declared: Any) -> Codec:
        """Stands for a recursive alias inside itself, and looks the finished codec up when it is used."""
        made = self.made

        def dump(value: Any) -> Any:
            return made[declared].dump(value)

        def load(data: Any) -> Any:
            return made[declared].load(data)

        return Codec(dump, load, frozenset(), ())

    def _union(self, members: tuple[Any, ...]) -> Codec:
        flat: list[Any] = []
        for member in members:
            value = member
            while typing.get_origin(value) is Annotated:
                value = typing.get_args(value)[0]
            flat.append(value)
        literals = [
            value for member in flat if typing.get_origin(member) is Literal for value in typing.get_args(member)
        ]
        codecs = [self.codec(member) for member in flat if typing.get_origin(member) is not Literal]
        if literals:
            codecs.append(_checked(literal_codec(literals)))
        if any(not codec.shapes for codec in codecs):
            raise NotPortable("is an alias that is a part of itself")
        return codecs[0] if len(codecs) == 1 else _checked(composites.union_codec(codecs))

    def _collection(self, origin: Any, arguments: tuple[Any, ...]) -> Codec | None:
        if origin in _ARRAYS:
            (item,) = arguments or _bare(origin)
            return composites.array_codec(_ARRAYS[origin], self._part(item, "[]"))
        if origin is tuple:
            arguments = arguments if arguments or origin is not tuple else ()
            if len(arguments) == 2 and arguments[1] is Ellipsis:
                return composites.array_codec(tuple, self._part(arguments[0], "[]"))
            return composites.fixed_tuple_codec([self._part(item, f"[{i}]") for i, item in enumerate(arguments)])
        if origin in _DICTS:
            key_type, value_type = arguments or _bare(origin)
            key = int_key_codec() if key_type is int else composites.key_codec(self._part(key_type, "[key]"))
            if key is None:
                raise NotPortable(f"has keys of type {type_name(key_type)}, which do not stand as a string in JSON")
            return composites.dict_codec(key, self._part(value_type, "[value]"))
        if origin in _VAGUE:
            raise NotPortable(f"does not say which class comes back; say {_VAGUE[origin]}")
        return None

    def _class(self, declared: Any, cls: Any, arguments: tuple[Any, ...]) -> Codec:
        if not isinstance(cls, type):
            raise NotPortable(f"is no type whose values can be written as JSON: {type_name(declared)}")
        fields = _class_fields(cls)
        if fields is None:
            raise NotPortable(
                f"is {type_name(declared)}, which is none of the types that can be written as JSON; "
                "make it an attrs class or a dataclass, or pass a path or an id"
            )
        typed_dict = _is_typed_dict(cls)
        codec = Codec(_unfinished, _unfinished, composites.OBJECT, (dict,) if typed_dict else (cls,))
        codec.tag = None if typed_dict else cls.__name__
        self.made[declared] = codec
        hints = _field_types(cls, arguments)
        made = []
        for name, argument, has_no_default in fields:
            if name == composites.TAG:
                raise NotPortable(f"has a field {name!r}, the name of the tag in unions")
            qualifier = str(typing.get_origin(hints[name])).rpartition(".")[2]
            required = qualifier == "Required" or (has_no_default and qualifier != "NotRequired")
            made.append(composites.Field(name, argument, self._part(hints[name], f".{name}"), required))
        fill = composites.fill_typed_dict_codec if typed_dict else composites.fill_class_codec
        fill(codec, cls, made)
        return codec

    def _part(self, declared: Any, step: str) -> Codec:
        try:
            return self.codec(declared)
        except NotPortable as problem:
            problem.steps.append(step)
            raise


def _is_typed_dict(cls: type) -> bool:
    """Of either make: that of typing_extensions is another one for typing."""
    return issubclass(cls, dict) and hasattr(cls, "__required_keys__")


def _alias_value(alias: Any) -> Any:
    """What an alias stands for, with the names in strings resolved where the alias was made."""
    holder = type("_Holder", (), {"__annotations__": {"it": alias.__value__}})
    try:
        names = vars(sys.modules[alias.__module__])
        return typing.get_type_hints(holder, names, include_extras=True)["it"]
    except Exception as error:
        raise NotPortable(f"is an alias that cannot be resolved: {error}") from error


def _unfinished(_: Any) -> Any:
    raise Misfit("is of a type that is still being made")


def _checked(codec: Codec | str) -> Codec:
    if isinstance(codec, str):
        raise NotPortable(codec)
    return codec


def _bare(origin: Any) -> tuple[Any, ...]:
    raise NotPortable(f"does not say what is in it; say {origin.__name__}[…]")


def _class_fields(cls: type) -> list[tuple[str, str, bool]] | None:
    """``(name, constructor's argument, required)`` per field; ``None`` if *cls* is no class with fields."""
    if _is_typed_dict(cls):
        required: frozenset[str] = getattr(cls, "__required_keys__", frozenset())
        return [(name, name, name in required) for name in cls.__annotations__]
    if issubclass(cls, tuple):
        names: tuple[str, ...] | None = getattr(cls, "_fields", None)
        defaults = getattr(cls, "_field_defaults", {})
        return None if names is None else [(name, name, name not in defaults) for name in names]
    if attrs.has(cls):
        fields = [
            (a.name, a.alias or a.name, a.default is attrs.NOTHING, a.init, bool(a.eq)) for a in attrs.fields(cls)
        ]
    elif dataclasses.is_dataclass(cls):
        missing = dataclasses.MISSING
        fields = [
            (f.name, f.name, f.default is missing and f.default_factory is missing, f.init, f.compare)
            for f in dataclasses.fields(cls)
        ]
    else:
        return None
    for name, _, _, init, compared in fields:
        if not init and compared:
            raise NotPortable(
                f"has the field {name!r} that its constructor does not take, so that its value would be lost; "
                "take it out of comparisons (eq=False), or make it a property"
            )
    taken = [(name, argument, required) for name, argument, required, init, _ in fields if init]
    _check_constructor(cls, [argument for _, argument, _ in taken])
    return taken


def _check_constructor(cls: type, arguments: list[str]) -> None:
    """A constructor of the user's own, or an InitVar, may want other arguments than the fields."""
    parameters = inspect.signature(cls).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    lacking = [argument for argument in arguments if argument not in parameters]
    extra = [
        p.name
        for p in parameters.values()
        if p.name not in arguments and p.default is p.empty and p.kind is not p.VAR_POSITIONAL
    ]
    if lacking or extra:
        raise NotPortable(f"has a constructor whose arguments are not its fields: {', '.join(lacking + extra)}")


def _field_types(cls: type, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """The types of all fields, with names resolved and type variables filled in, base by base."""
    bindings: dict[type, dict[Any, Any]] = {}
    _bind(cls, arguments, bindings)
    types_: dict[str, Any] = {}
    for owner in reversed(cls.__mro__ if not _is_typed_dict(cls) else (cls,)):
        try:
            own = inspect.get_annotations(owner)
            if not own:
                continue
            hints = typing.get_type_hints(
                owner, localns={cls.__name__: cls, owner.__name__: owner}, include_extras=True
            )
        except Exception as error:
            raise NotPortable(
                f"has annotations that cannot be resolved ({error}); what they name has to be defined "
                "before the handler, and imported outside TYPE_CHECKING"
            ) from error
        known = bindings.get(owner, {})
        types_.update({name: substituted(hints[name], known) for name in own if name in hints})
    return types_


def _bind(cls: type, arguments: tuple[Any, ...], bindings: dict[type, dict[Any, Any]]) -> None:
    parameters = getattr(cls, "__parameters__", ())
    known = dict(zip(parameters, arguments, strict=False))
    bindings[cls] = known
    for base in cls.__dict__.get("__orig_bases__", cls.__bases__):
        origin = typing.get_origin(base) or base
        if isinstance(origin, type) and origin not in (object, typing.Generic):
            _bind(origin, tuple(substituted(each, known) for each in typing.get_args(base)), bindings)


def substituted(declared: Any, known: Mapping[Any, Any]) -> Any:
    """*declared* with its type variables filled in."""
    if isinstance(declared, TypeVar):
        return known.get(declared, declared)
    parameters = getattr(declared, "__parameters__", ())
    if not parameters or (isinstance(declared, type) and not typing.get_args(declared)):
        return declared
    filled = tuple(known.get(parameter, parameter) for parameter in parameters)
    alias: Any = declared
    return alias[filled]
