"""What a change of a schema breaks. Pure, and about JSON alone: two schemas in, refusals out.

The question is always the same: is there a value that one side writes and the other side refuses? For arguments the
writer is the old code (stored jobs, deployed clients) and the reader the new one; for results the writer is the new
code and the reader the old one (deployed clients). So a wider argument is fine and a wider result is not. The check
knows the schemas that :mod:`beskar_codegen.contract.schema` makes, not all of JSON Schema; what it cannot prove to be
fine it refuses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

import attrs

Schema = Mapping[str, Any]
_TAG: Final = "_type"


class RefusalKind(StrEnum):
    """Why a reader refuses what a writer writes."""

    UNKNOWN = "unknown"  # a field that the reader does not know
    MISSING = "missing"  # a field that the reader needs, and that the writer may leave out
    TYPE = "type"  # a value of another type


@attrs.frozen
class Refusal:
    """One reason for which values are refused.

    Attributes:
        where: the field, ``a.b[]``; ``""`` for the value as a whole.
        written, read: what either side says, in words; of ``TYPE`` only.
    """

    kind: RefusalKind
    where: str
    written: str = ""
    read: str = ""


def refusals(writer: Schema, reader: Schema) -> list[Refusal]:
    """Why a reader with the schema *reader* refuses values of the schema *writer*; each reason once, in order."""
    comparison = _Comparison(writer.get("$defs", {}), reader.get("$defs", {}))
    return list(dict.fromkeys(comparison.check(writer, reader, "")))


class _Comparison:
    def __init__(self, written: Mapping[str, Schema], read: Mapping[str, Schema]) -> None:
        self._written = written
        self._read = read
        self._assumed: set[tuple[str, str]] = set()  # pairs that are under way, for types that contain themselves

    def check(self, writer: Schema, reader: Schema, where: str) -> Iterator[Refusal]:
        writer_union, reader_union = _resolved(writer, self._written), _resolved(reader, self._read)
        alternatives = reader_union.get("anyOf", [reader])
        if "anyOf" not in writer_union:
            yield from self._check_one(writer, alternatives, where)
            return
        for one in writer_union["anyOf"]:
            for found in self._check_one(one, alternatives, where):
                # Of one alternative that is refused, people are told the whole type that it is part of.
                is_whole = found.kind is RefusalKind.TYPE and found.where == where
                yield self._type(writer_union, alternatives, where) if is_whole else found

    def _check_one(self, one: Schema, alternatives: list[Schema], where: str) -> Iterator[Refusal]:
        """One alternative of the writer; some alternative of the reader has to take all its values."""
        best: list[Refusal] | None = None
        for other in alternatives:
            pair = (str(one.get("$ref", "")), str(other.get("$ref", "")))
            if all(pair) and pair in self._assumed:
                return
            plain, taker = _resolved(one, self._written), _resolved(other, self._read)
            if not _alike(plain, taker):
                continue
            self._assumed.add(pair)
            found = list(self._check_plain(plain, taker, where))
            if not found:
                return
            self._assumed.discard(pair)
            best = found if best is None or len(found) < len(best) else best
        if best is None:
            yield self._type(one, alternatives, where)
        else:
            yield from best

    def _check_plain(self, one: Schema, other: Schema, where: str) -> Iterator[Refusal]:
        """Two schemas without alternatives that are of one kind."""
        if "properties" in one and "properties" in other:
            yield from self._check_fields(one, other, where)
        elif one.get("type") == "object":
            yield from self._check_mapping(one, other, where)
        elif one.get("type") == "array":
            yield from self._check_array(one, other, where)
        elif not _takes_scalar(one, other):
            yield self._type(one, [other], where)

    def _check_fields(self, one: Schema, other: Schema, where: str) -> Iterator[Refusal]:
        written, read = one["properties"], other["properties"]
        required = set(one.get("required", ()))
        for name in written:
            place = f"{where}.{name}" if where else name
            if name in read:
                yield from self.check(written[name], read[name], place)
            else:
                yield Refusal(RefusalKind.UNKNOWN, place)
        for name in other.get("required", ()):
            if name not in required:
                yield Refusal(RefusalKind.MISSING, f"{where}.{name}" if where else name)

    def _check_mapping(self, one: Schema, other: Schema, where: str) -> Iterator[Refusal]:
        if "properties" in other:
            yield self._type(one, [other], where)
            return
        values = one["properties"].values() if "properties" in one else [one.get("additionalProperties", {})]
        for value in values:
            yield from self.check(value, other.get("additionalProperties", {}), f"{where}[]")
        keys = {"type": "string"}
        yield from self.check(one.get("propertyNames", keys), other.get("propertyNames", keys), f"{where}[]")

    def _check_array(self, one: Schema, other: Schema, where: str) -> Iterator[Refusal]:
        fixed, wanted = _fixed(one), _fixed(other)
        if wanted is not None:
            if fixed is None or len(fixed) != len(wanted):
                yield self._type(one, [other], where)
                return
            for index, (item, place) in enumerate(zip(fixed, wanted, strict=True)):
                yield from self.check(item, place, f"{where}[{index}]")
            return
        for item in [one.get("items", {})] if fixed is None else fixed:
            yield from self.check(item, other.get("items", {}), f"{where}[]")

    def _type(self, one: Schema, alternatives: list[Schema], where: str) -> Refusal:
        read = " | ".join(described(each, self._read) for each in alternatives)
        return Refusal(RefusalKind.TYPE, where, described(one, self._written), read)


def described(schema: Schema, definitions: Mapping[str, Schema]) -> str:
    """A schema in a few words: ``string (uuid)``, ``array of integer``, ``MailArgs``."""
    schema = _resolved(schema, definitions)
    if "anyOf" in schema:
        return " | ".join(described(each, definitions) for each in schema["anyOf"])
    if "const" in schema:
        return repr(schema["const"])
    if "enum" in schema:
        shown = ", ".join(map(repr, schema["enum"][:5])) + (", …" if len(schema["enum"]) > 5 else "")
        return f"{schema['title']} ({shown})" if "title" in schema else f"one of {shown}"
    if "title" in schema:
        return f"{schema['title']} (tagged)" if _tag(schema) else str(schema["title"])
    kind = str(schema.get("type", "anything"))
    if kind == "array":
        fixed = _fixed(schema)
        if fixed is not None:
            return f"array of exactly {', '.join(described(each, definitions) for each in fixed) or 'nothing'}"
        return f"array of {described(schema.get('items', {}), definitions)}"
    if kind == "object":
        return f"object of {described(schema.get('additionalProperties', {}), definitions)}"
    form = schema.get("format") or schema.get("contentEncoding")
    return f"{kind} ({form})" if form else kind


def _resolved(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    for _ in range(100):
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        schema = definitions.get(reference.removeprefix("#/$defs/"), {})
    return {}


def _kinds(schema: Schema) -> set[str]:
    """The kinds of JSON that values are."""
    if "const" in schema or "enum" in schema:
        return {_kind(value) for value in schema.get("enum", [schema.get("const")])}
    return {str(schema["type"])} if "type" in schema else set()


def _kind(value: object) -> str:
    if value is None:
        return "null"
    return {bool: "boolean", int: "integer", float: "number", str: "string"}.get(type(value), "object")


def _alike(one: Schema, other: Schema) -> bool:
    """Whether values of *one* have a kind that *other* has, and the same tag."""
    written, read = _kinds(one), _kinds(other)
    if not read or not written:
        return not read or not other.get("type")
    if "number" in read:
        read = read | {"integer"}
    tags = [_tag(each) for each in (one, other)]
    return bool(written & read) and (tags[0] == tags[1] or (None in tags and not any(tags)))


def _tag(schema: Schema) -> object:
    properties = schema.get("properties")
    return properties.get(_TAG, {}).get("const") if isinstance(properties, Mapping) else None


def _takes_scalar(one: Schema, other: Schema) -> bool:
    if "x-names" in one and "x-names" in other:
        return set(one["x-names"]) <= set(other["x-names"]) and one.get("type") == other.get("type")
    if not _kinds(other):
        return "x-names" not in other
    choices = one.get("enum", [one["const"]] if "const" in one else None)
    wanted = other.get("enum", [other["const"]] if "const" in other else None)
    if choices is not None and wanted is not None:
        return {(type(value), value) for value in choices} <= {(type(value), value) for value in wanted}
    if wanted is not None:
        return False
    if choices is not None:
        form = other.get("format") or other.get("contentEncoding") or other.get("pattern") or other.get("title")
        accepted = _kinds(other) | ({"integer"} if "number" in _kinds(other) else set())
        return not form and {_kind(value) for value in choices} <= accepted
    same = all(one.get(key) == other.get(key) for key in ("format", "contentEncoding", "pattern"))
    opaque = one.get("title") == other.get("title") or ("x-names" in one and "x-names" not in other)
    kinds = one.get("type") == other.get("type") or (one.get("type"), other.get("type")) == ("integer", "number")
    return kinds and same and opaque


def _fixed(schema: Schema) -> list[Schema] | None:
    """The items of an array of fixed length."""
    if schema.get("items") is False:
        return list(schema.get("prefixItems", []))
    return None
