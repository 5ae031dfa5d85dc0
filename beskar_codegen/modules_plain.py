"""Modules of the model as plain JSON data, and back.

An attrs value is a list of its class's number and its fields in order, a tuple is a list that begins with null. It is
made for size and speed, not for eyes: a thousand handlers are some hundred thousand values. A change of the model
changes the key of the cache, so that nothing old is read by it.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Final

import attrs
import orjson

from beskar_codegen import model
from beskar_codegen.model import DeclaredType, SourceModule, TypeKind

_CLASSES: Final[tuple[type, ...]] = (
    model.Place,
    model.Diagnostic,
    model.NamedType,
    model.UnionType,
    model.LiteralType,
    model.NoneType,
    model.TypeVariable,
    model.UnresolvedType,
    model.EllipsisType,
    model.Field,
    model.DeclaredType,
    model.Argument,
    model.ExecuteModel,
    model.HandlerDeclaration,
    model.StarImport,
    model.SourceModule,
    model.RecurringUse,
)
_NAMES: Final = {cls: [field.name for field in attrs.fields(cls)] for cls in _CLASSES}
_NUMBERS: Final = {cls: number for number, cls in enumerate(_CLASSES)}

_DIGEST: Final = 1 + _NAMES[model.SourceModule].index("digest")
_PLACES: Final = re.compile(rb'\[0,"(?:[^"\\]|\\.)*",\d+,\d+,\d+,\d+\]')

SHAPE: Final = hashlib.sha256(repr(list(_NAMES.items())).encode()).hexdigest()
"""Changes whenever a class of the model does."""


def to_plain(value: Any) -> Any:
    """*value*, a part of the model, as plain data."""
    cls = type(value)
    if cls is tuple:
        return [None, *map(to_plain, value)]
    names = _NAMES.get(cls)
    if names is None:
        return value.value if cls is TypeKind else value
    return [_NUMBERS[cls], *(to_plain(getattr(value, name)) for name in names)]


def meaning(plain: Any) -> str:
    """A digest of all that a module means, and of nothing else: without places, and without that of its bytes.

    Args:
        plain: the module as plain data.
    """
    without = list(plain)
    without[_DIGEST] = ""
    try:
        data = orjson.dumps(without)
    except orjson.JSONEncodeError:  # half of a surrogate pair, in a file name or a literal
        data = json.dumps(without, separators=(",", ":")).encode()
    return hashlib.sha256(_PLACES.sub(b"", data)).hexdigest()


def module_from_plain(plain: Any) -> SourceModule:
    """The module that :func:`to_plain` made *plain* of.

    Raises:
        ValueError, TypeError, LookupError: it is something else.
    """
    module = _from_plain(plain)
    if not isinstance(module, SourceModule):
        raise TypeError("not a module")
    return module


def _from_plain(plain: Any) -> Any:
    if type(plain) is not list:
        return plain
    head = plain[0]
    parts = [_from_plain(each) if type(each) is list else each for each in plain[1:]]
    if head is None:
        return tuple(parts)
    cls = _CLASSES[head]
    if cls is DeclaredType:
        parts[2] = TypeKind(parts[2])
    return cls(*parts)
