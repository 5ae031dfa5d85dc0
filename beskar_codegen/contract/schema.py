"""JSON Schemas (2020-12) of arguments and results, made from types as written. The format is that of docs/values.md.

Arguments are described as a worker reads them: fields with a default may be missing. Results are described as a worker
writes them: every field of a class is there. Fields that a class does not know are refused by whoever reads, so objects
are closed. Formats of our own: ``zoned-date-time`` (RFC 3339, the zone in brackets where there is one), ``iso-date``,
``iso-time``, ``iso-duration``, ``decimal``; a validator that does not know them takes any string.

A type that is not known here (unresolved, or a plain class that the program registers) is a string, as docs/values.md
says of registered types; ``title`` keeps its name, and the comparison goes by it.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Mapping
from typing import Any, Final

from beskar_codegen.contract.choices import enum_values
from beskar_codegen.model import (
    DeclaredType,
    Field,
    LiteralType,
    NamedType,
    NoneType,
    TypeExpression,
    TypeKind,
    TypeVariable,
    UnionType,
    UnresolvedType,
)
from beskar_codegen.plan.expressions import filled, modernised

Schema = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
TAG: Final = "_type"
_REF: Final = "#/$defs/"
_NOT_IN_URI: Final = re.compile(r"[^A-Za-z0-9_.]+")

_SCALARS: Final[Mapping[tuple[str, str], Schema]] = {
    ("builtins", "str"): {"type": "string"},
    ("builtins", "int"): {"type": "integer"},
    ("builtins", "float"): {"type": "number"},
    ("builtins", "bool"): {"type": "boolean"},
    ("builtins", "bytes"): {"type": "string", "contentEncoding": "base64"},
    ("builtins", "None"): {"type": "null"},
    ("types", "NoneType"): {"type": "null"},
    ("decimal", "Decimal"): {"type": "string", "format": "decimal"},
    ("uuid", "UUID"): {"type": "string", "format": "uuid"},
    ("datetime", "datetime"): {"type": "string", "format": "zoned-date-time"},
    ("datetime", "date"): {"type": "string", "format": "iso-date"},
    ("datetime", "time"): {"type": "string", "format": "iso-time"},
    ("datetime", "timedelta"): {"type": "string", "format": "iso-duration"},
}
_LISTS: Final = {("builtins", "list"), ("collections.abc", "MutableSequence")}
_SETS: Final = {("builtins", "set"), ("builtins", "frozenset"), ("collections.abc", "MutableSet")}
_DICTS: Final = {("builtins", "dict"), ("collections.abc", "Mapping"), ("collections.abc", "MutableMapping")}
_TYPING: Final = {"typing", "typing_extensions"}
_WRAPPERS: Final = {"Required", "NotRequired", "ReadOnly", "Annotated", "Final"}
_CLASSES: Final = {TypeKind.ATTRS, TypeKind.DATACLASS, TypeKind.NAMED_TUPLE, TypeKind.TYPED_DICT}

Known = Mapping[tuple[str, str], DeclaredType]


def schema_of(expression: TypeExpression, known: Known, *, is_written: bool) -> Schema:
    """The schema of the values of a type.

    Args:
        known: the declared types by home.
        is_written: describe what is written (results), not what is read (arguments).
    """
    maker = _Maker(known, is_written=is_written)
    root = maker.of(expression)
    definitions = maker.definitions
    if set(root) == {"$ref"} and not _refers(definitions, root["$ref"]):
        root = definitions.pop(root["$ref"].removeprefix(_REF))
    if definitions:
        root = {**root, "$defs": definitions}
    return {"$schema": DIALECT, **root}


class _Maker:
    def __init__(self, known: Known, *, is_written: bool) -> None:
        self.definitions: dict[str, Schema] = {}
        self._known = known
        self._is_written = is_written
        self._keys: dict[tuple[str, str, tuple[TypeExpression, ...]], str] = {}

    def of(self, expression: TypeExpression) -> Schema:
        match modernised(expression):
            case NoneType():
                return {"type": "null"}
            case UnionType(members=members):
                return self._union(members)
            case LiteralType(values=values):
                return {"enum": [_literal(text) for text in values]}
            case NamedType() as named:
                return self._named(named)
            case UnresolvedType(text=text):
                return {"type": "string", "title": text}
            case TypeVariable(name=name):
                return {"title": name}
            case _:
                return {}

    def _named(self, named: NamedType) -> Schema:
        home, arguments = (named.module, named.name), named.arguments
        if home in _SCALARS:
            return dict(_SCALARS[home])
        if named.module in _TYPING and named.name in _WRAPPERS and arguments:
            return self.of(arguments[0])
        if named.module in _TYPING and named.name == "Optional" and arguments:
            return self._union((arguments[0], NoneType()))
        if named.module in _TYPING and named.name == "Union":
            return self._union(arguments)
        if home in _LISTS | _SETS:
            array: Schema = {"type": "array", "items": self.of(arguments[0]) if arguments else {}}
            return {**array, "uniqueItems": True} if home in _SETS else array
        if home == ("builtins", "tuple"):
            return self._tuple(arguments)
        if home in _DICTS:
            return self._dict(arguments)
        declared = self._known.get(home)
        return {"type": "string", "title": named.name} if declared is None else self._declared(declared, arguments)

    def _tuple(self, arguments: tuple[TypeExpression, ...]) -> Schema:
        if len(arguments) == 2 and type(arguments[1]).__name__ == "EllipsisType":
            return {"type": "array", "items": self.of(arguments[0])}
        count = len(arguments)
        fixed: Schema = {"type": "array", "items": False, "minItems": count, "maxItems": count}
        return {**fixed, "prefixItems": [self.of(each) for each in arguments]} if count else fixed

    def _dict(self, arguments: tuple[TypeExpression, ...]) -> Schema:
        if len(arguments) != 2:
            return {"type": "object"}
        schema: Schema = {"type": "object", "additionalProperties": self.of(arguments[1])}
        key = self.of(arguments[0])
        if key == {"type": "integer"}:
            key = {"type": "string", "pattern": "^(0|-?[1-9][0-9]*)$"}
        return schema if key == {"type": "string"} else {**schema, "propertyNames": key}

    def _declared(self, declared: DeclaredType, arguments: tuple[TypeExpression, ...]) -> Schema:
        if declared.kind in (TypeKind.NEW_TYPE, TypeKind.ALIAS):
            if declared.target is None:
                return {"type": "string", "title": declared.name}
            variables = dict(zip(declared.type_parameters, arguments, strict=False))
            identity = (declared.module, declared.name, arguments)
            if identity in self._keys:  # an alias that is a part of itself
                return {"$ref": _REF + self._keys[identity]}
            key = self._keys[identity] = self._key(declared, arguments)
            schema = self.of(filled(declared.target, variables))
            if _refers([self.definitions, schema], _REF + key):
                self.definitions[key] = schema
                return {"$ref": _REF + key}
            del self._keys[identity]
            return schema
        if declared.kind is TypeKind.ENUM:
            return enum_values(declared)
        if declared.kind in _CLASSES:
            return self._class(declared, arguments)
        return {"type": "string", "title": declared.name}

    def _class(self, declared: DeclaredType, arguments: tuple[TypeExpression, ...], *, tag: str = "") -> Schema:
        identity = (declared.module, declared.name + (" with tag" if tag else ""), arguments)
        if identity not in self._keys:
            key = self._keys[identity] = self._key(declared, arguments, tag)
            self.definitions[key] = {}  # in this place, whatever its fields bring along
            variables = dict(zip(declared.type_parameters, arguments, strict=False))
            fields = [field for field in declared.fields if field.in_init]
            properties: Schema = {TAG: {"const": tag}} if tag else {}
            properties |= {field.name: self.of(filled(field.type, variables)) for field in fields}
            required = [field.name for field in fields if self._is_required(field, declared)]
            self.definitions[key] = {
                "title": declared.name,
                "type": "object",
                "properties": properties,
                "required": sorted([TAG, *required] if tag else required),
                "additionalProperties": False,
            }
        return {"$ref": _REF + self._keys[identity]}

    def _is_required(self, field: Field, declared: DeclaredType) -> bool:
        if declared.kind is TypeKind.TYPED_DICT:
            wrappers = _wrappers(field.type)
            return "Required" in wrappers or (declared.total and "NotRequired" not in wrappers and field.is_required)
        return self._is_written or field.is_required

    def _key(self, declared: DeclaredType, arguments: tuple[TypeExpression, ...], tag: str = "") -> str:
        """A key for the definitions: the class's name where it is the only one, in characters that a URI may have."""
        name = declared.name + (f"[{', '.join(map(type_text, arguments))}]" if arguments else "")
        plain = _NOT_IN_URI.sub("-", name + (".tagged" if tag else "")).strip("-")
        taken = set(self._keys.values())
        names = itertools.chain((plain, f"{declared.module}.{plain}"), (f"{plain}-{n}" for n in itertools.count(2)))
        return next(each for each in names if each not in taken)

    def _union(self, members: tuple[TypeExpression, ...]) -> Schema:
        flat: list[TypeExpression] = []
        for member in members:
            flat += self._unfolded(member)
        tagged = [self._with_fields(member) for member in flat]
        is_tagged = sum(declared is not None for declared in tagged) > 1
        schemas: list[Schema] = []
        for member, declared in zip(flat, tagged, strict=True):
            if is_tagged and declared is not None and isinstance(member, NamedType):
                schema = self._class(declared, member.arguments, tag=declared.name.rpartition(".")[2])
            else:
                schema = self.of(member)
            if schema not in schemas:
                schemas.append(schema)
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}

    def _unfolded(self, member: TypeExpression) -> list[TypeExpression]:
        """The members of a union within a union, also behind an alias."""
        member = modernised(member)
        if isinstance(member, UnionType):
            return [each for inner in member.members for each in self._unfolded(inner)]
        if isinstance(member, NamedType):
            declared = self._known.get((member.module, member.name))
            if declared is not None and declared.kind is TypeKind.ALIAS and isinstance(declared.target, UnionType):
                variables = dict(zip(declared.type_parameters, member.arguments, strict=False))
                return [each for inner in declared.target.members for each in self._unfolded(filled(inner, variables))]
        return [member]

    def _with_fields(self, member: TypeExpression) -> DeclaredType | None:
        """The class with fields that *member* is; several of these in one union are told apart by a tag."""
        if not isinstance(member, NamedType):
            return None
        declared = self._known.get((member.module, member.name))
        return declared if declared is not None and declared.kind in _CLASSES else None


def _wrappers(expression: TypeExpression) -> set[str]:
    found = set()
    while isinstance(expression, NamedType) and expression.module in _TYPING and expression.name in _WRAPPERS:
        found.add(expression.name)
        if not expression.arguments:
            break
        expression = expression.arguments[0]
    return found


def _literal(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text.rpartition(".")[2]  # the member of an enum
    return value if isinstance(value, str | int | bool | None) else text


def type_text(expression: TypeExpression) -> str:
    """A type for people: names without their modules."""
    match expression:
        case NamedType(name=name, arguments=arguments):
            return f"{name}[{', '.join(map(type_text, arguments))}]" if arguments else name
        case UnionType(members=members):
            return " | ".join(map(type_text, members))
        case LiteralType(values=values):
            return f"Literal[{', '.join(values)}]"
        case NoneType():
            return "None"
        case TypeVariable(name=name):
            return name
        case UnresolvedType(text=text):
            return text
        case _:
            return "..."


def _refers(part: object, reference: str) -> bool:
    if isinstance(part, dict):
        return part.get("$ref") == reference or any(_refers(each, reference) for each in part.values())
    return isinstance(part, list) and any(_refers(each, reference) for each in part)
