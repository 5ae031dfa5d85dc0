"""Users' values (arguments and results) as JSON, by their declared types. The format is ours and public.

The promise is *round-trip identity or refusal*: what :func:`dump_value` writes, :func:`load_value` reads back equal, as
an instance of the same class; everything else is refused, by :func:`check_serializable` at decoration where the type
alone tells, else when the value is written, in the client's hands. For that a value is read back before it is sent:
cattrs takes the value's word for its type when it writes, and only reading is strict. So the constructors of the user's
classes, and their validators, run at the client too.

The work is cattrs', with hooks of our own where its own are lenient: :mod:`~beskar_jobs.wire.scalars` and
:mod:`~beskar_jobs.wire.converter` tell which and why, :mod:`~beskar_jobs.wire.typewalk` which types are refused. Jobs
wait in a storage for months and are read by programs of another release, so golden files guard the format: an upgrade
of cattrs must not change a byte. orjson turns the plain data into bytes and back.

Failure modes: bytes that are no JSON, too deep, or of another shape, and values that do not fit, are all
:class:`~beskar_jobs.model.errors.ValueNotSerializable`, naming the place (``VideoTranscodeArgs.codec: is an int, not a
str``) and no values. The place is found by a second run with a converter that keeps it, for which the first one need
not pay.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar

import orjson
from cattrs import AttributeValidationNote, IterableValidationNote
from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError

from beskar_jobs.model.errors import ValueNotSerializable
from beskar_jobs.wire.converter import Structure, Unstructure, ValueConverter
from beskar_jobs.wire.scalars import SCALARS, Misfit, text_scalar
from beskar_jobs.wire.typewalk import NotPortable, PlainData, stripped, type_name, walk

T = TypeVar("T")


_LONGEST_PATH: Final = 500


def register_type(cls: type[T], *, to_text: Callable[[T], str], from_text: Callable[[str], T]) -> None:
    """Let values of a plain class stand in JSON as a string: ``register_type(Path, to_text=str, from_text=Path)``.

    To be called before the first handler that names *cls* is decorated, in clients and workers alike. *from_text* may
    raise anything for a string that is not of the form. Subclasses are written too if they come back equal.

    Raises:
        ValueError: values of *cls* can be written already; jobs that wait would not be read as they were written.
    """
    if check_serializable(cls) is None:
        raise ValueError(f"{type_name(cls)} stands in JSON already, and its form cannot be changed")
    SCALARS[cls] = text_scalar(cls, to_text, from_text, f"the text of {type_name(cls)}")


def check_serializable(declared: Any) -> str | None:
    """Why values of the *declared* type cannot make the round trip, naming the part; ``None`` if they can."""
    try:
        walk(stripped(declared), {})
    except NotPortable as problem:
        return problem.text(type_name(declared))
    _hooks(declared)
    return None


def dump_value(value: Any, declared: Any) -> bytes:
    """JSON of *value*. *declared* may be ``Any``, for plain JSON data as it stands.

    Raises:
        ValueNotSerializable: *value* does not fit *declared*; names the place.
    """
    unstructure, _ = _hooks(declared)
    try:
        plain = unstructure(value)
    except RecursionError:
        raise ValueNotSerializable(f"{type_name(declared)}: is nested too deeply, or contains itself") from None
    except AttributeError as error:  # a slot that was never set
        raise ValueNotSerializable(f"{type_name(type(error.obj))}.{error.name}: is not set") from None
    except Exception as error:  # from a property of the user's, say
        raise ValueNotSerializable(f"{type_name(declared)}: cannot be read: {type(error).__name__}") from error
    if not _same(value, _structured(plain, declared), plain, unstructure):
        raise ValueNotSerializable(f"{type_name(declared)}: does not come back equal")
    try:
        return orjson.dumps(plain)
    except TypeError as error:  # orjson.JSONEncodeError is one: lone surrogates, more than 254 levels
        raise ValueNotSerializable(f"{type_name(declared)}: cannot be written as JSON: {error}") from None


def load_value(data: bytes, declared: Any) -> Any:
    """The value in *data*. *declared* may be ``Any``, for plain JSON data as it stands.

    Raises:
        ValueNotSerializable: *data* is no JSON, or does not fit *declared*; names the place.
    """
    try:
        plain = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ValueNotSerializable(f"{type_name(declared)}: is no valid JSON: {str(error)[:200]}") from None
    return plain if declared is Any else _structured(plain, declared)


@cache
def _compiled(declared: Any, detailed: bool) -> tuple[Unstructure, Structure]:
    """The hooks of one type; each has a converter of its own, so that no thread meets what another has half made."""
    root = PlainData if declared is Any else stripped(declared)
    try:
        walk(root, {})
    except NotPortable as problem:
        raise ValueNotSerializable(problem.text(type_name(declared))) from None
    converter = ValueConverter(detailed_validation=detailed)
    return converter.get_unstructure_hook(root), converter.get_structure_hook(root)


def _hooks(declared: Any, detailed: bool = False) -> tuple[Unstructure, Structure]:
    try:
        return _compiled(declared, detailed)
    except TypeError:  # unhashable, as Annotated[int, []] is
        return _compiled(stripped(declared), detailed)


def _structured(plain: Any, declared: Any) -> Any:
    _, structure = _hooks(declared)
    try:
        return structure(plain, declared)
    except Exception as error:
        failure = error
    if not isinstance(failure, RecursionError):
        try:
            _hooks(declared, detailed=True)[1](plain, declared)
        except Exception as error:
            failure = error
    text, cause = _explained(failure, type_name(declared))
    raise ValueNotSerializable(text) from cause


def _explained(error: Exception, path: str) -> tuple[str, Exception | None]:
    """The place of the first failure and what it is; with the exception if it is the user's own."""
    owner, missing = path, False
    while isinstance(error, BaseValidationError):
        owner, error, missing = type_name(error.cl), error.exceptions[0], False
        for note in getattr(error, "__notes__", ()):
            if isinstance(note, AttributeValidationNote):
                path, missing = f"{path}.{note.name}", isinstance(error, KeyError)
            elif isinstance(note, IterableValidationNote):
                path += f"[{'key' if isinstance(note.index, Misfit) else repr(note.index)[:80]}]"
    path = path if len(path) <= _LONGEST_PATH else f"{path[:_LONGEST_PATH]}…"
    if isinstance(error, Misfit):
        return f"{path}: {error}", None
    if isinstance(error, RecursionError):
        return f"{path}: is nested too deeply", None
    if isinstance(error, ForbiddenExtraKeysError):
        extra = ", ".join(sorted(repr(name)[:80] for name in error.extra_fields)[:5])
        return f"{path}: has {extra}, which {owner} does not know", None
    if missing:
        return f"{path}: is missing, and {owner} has no default for it", None
    return f"{path}: was refused by {owner} itself: {type(error).__name__}: {str(error)[:200]}", error


def _same(value: Any, back: Any, plain: Any, unstructure: Unstructure) -> bool:
    """Classes without an equality of their own, or with an odd one, are compared by their plain data instead."""
    try:
        if back == value:
            return True
    except Exception:  # an array, say, whose equality is no bool
        pass
    try:
        return bool(unstructure(back) == plain)
    except Exception:
        return False
