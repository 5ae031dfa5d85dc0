"""Users' values (arguments and results) as JSON, by their declared types. The format is ours and public.

The promise is *round-trip identity or refusal*: what :func:`dump_value` writes, :func:`load_value` reads back equal, as
an instance of the same class; everything else is refused, by :func:`check_serializable` at decoration where the type
alone tells, else when the value is written, in the client's hands. What each type looks like is told in
:mod:`~beskar_jobs.wire.codecs` and :mod:`~beskar_jobs.wire.composites`, and pinned by golden files.

Why not a general converter library: those take the value's word for its type when they write, coerce when they read,
and decide details of the format (the order of unions, the classes of sequences) that change with their releases. Here
jobs wait in a storage for months and are read by programs of another release. Codecs are compiled once per type and
kept; orjson turns the plain data into bytes and back.

Failure modes: bytes that are no JSON, too deep, or of another shape, and values that do not fit, are all
:class:`~beskar_jobs.model.errors.ValueNotSerializable`, naming the place (``VideoTranscodeArgs.codec: is an int, not a
str``) and no values.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from beskar_jobs.model.errors import ValueNotSerializable
from beskar_jobs.wire.codecs import Codec, Misfit, plain_problem
from beskar_jobs.wire.typewalk import NotPortable, TypeWalk, type_name

_cache: Final[dict[Any, Codec]] = {}


def check_serializable(declared: Any) -> str | None:
    """Why values of the *declared* type cannot make the round trip, naming the part; ``None`` if they can."""
    try:
        _codec(declared)
    except NotPortable as problem:
        return problem.text(type_name(declared))
    return None


def dump_value(value: Any, declared: Any) -> bytes:
    """JSON of *value*. *declared* may be ``Any``, for plain JSON data as it stands.

    Raises:
        ValueNotSerializable: *value* does not fit *declared*; names the place.
    """
    try:
        if declared is Any:
            plain_problem(value)
            plain = value
        else:
            plain = _codec(declared).dump(value)
        return orjson.dumps(plain)
    except Misfit as problem:
        raise ValueNotSerializable(problem.text(type_name(declared))) from problem.__cause__
    except NotPortable as problem:
        raise ValueNotSerializable(problem.text(type_name(declared))) from None
    except RecursionError:
        raise ValueNotSerializable(f"{type_name(declared)}: is nested too deeply, or contains itself") from None
    except TypeError as error:  # orjson.JSONEncodeError is one: lone surrogates, more than 254 levels
        raise ValueNotSerializable(f"{type_name(declared)}: cannot be written as JSON: {error}") from None


def load_value(data: bytes, declared: Any) -> Any:
    """The value in *data*. *declared* may be ``Any``, for plain JSON data as it stands.

    Raises:
        ValueNotSerializable: *data* is no JSON, or does not fit *declared*; names the place.
    """
    try:
        plain = orjson.loads(data)
        if declared is Any:
            return plain
        return _codec(declared).load(plain)
    except Misfit as problem:
        raise ValueNotSerializable(problem.text(type_name(declared))) from problem.__cause__
    except NotPortable as problem:
        raise ValueNotSerializable(problem.text(type_name(declared))) from None
    except RecursionError:
        raise ValueNotSerializable(f"{type_name(declared)}: is nested too deeply") from None
    except orjson.JSONDecodeError as error:
        raise ValueNotSerializable(f"{type_name(declared)}: is no valid JSON: {str(error)[:200]}") from None


def _codec(declared: Any) -> Codec:
    """The codec of *declared*, from the cache or made now.

    Raises:
        NotPortable: there is none.
    """
    try:
        codec = _cache.get(declared)
    except TypeError:  # unhashable, as Annotated[int, []] is: rare, and made anew each time
        codec = None
    if codec is not None:
        return codec
    walk = TypeWalk(_cache)
    codec = walk.codec(declared)
    _cache.update(walk.made)  # only now: none of a walk that failed half-way; two threads at once make two equal ones
    return codec
