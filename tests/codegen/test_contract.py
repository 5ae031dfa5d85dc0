"""The contract: schemas as on the wire, and which changes break whom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from beskar_codegen.contract import Contract, compare, contract_of, dump, load
from beskar_codegen.model import Diagnostic, Place
from beskar_codegen.read import read_project
from beskar_codegen.validate import build_project
from tests.codegen.command import make_project

HEAD = """\
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Generic, Literal, NamedTuple, NewType, NotRequired, TypedDict, TypeVar
from uuid import UUID

import attrs
"""


def contract(
    root: Path, arguments: str, result: str = "    id: str", *, more: str = "", decorator: str = ""
) -> Contract:
    """The contract of a handler with these fields, declared in *more* as needed."""
    types = f"{HEAD}\n{more}\n\n@attrs.frozen\nclass Args:\n{arguments}\n\n@attrs.frozen\nclass Result:\n{result}\n"
    handlers = (
        "from beskar_jobs import JobContext, JobHandlerWithResult, job_handler\nfrom app.types import Args, Result\n"
        f'@job_handler("mail.send"{decorator})\n'
        "class MailJobHandler(JobHandlerWithResult[Args, Result]):\n"
        "    async def execute(self, context: JobContext[Args]) -> Result: ...\n"
    )
    make_project(root, handlers=handlers, types=types)
    model, diagnostics = build_project(read_project(root, ["app"]))
    assert diagnostics == []
    return contract_of(model)


def changes(old: Contract, new: Contract, **options: Any) -> list[Diagnostic]:
    return compare(old, new, lambda job_type: Place("app/handlers.py", 3, 1), **options)


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        ("str", {"type": "string"}),
        ("int", {"type": "integer"}),
        ("float", {"type": "number"}),
        ("bool", {"type": "boolean"}),
        ("None", {"type": "null"}),
        ("bytes", {"type": "string", "contentEncoding": "base64"}),
        ("Decimal", {"type": "string", "format": "decimal"}),
        ("UUID", {"type": "string", "format": "uuid"}),
        ("datetime", {"type": "string", "format": "zoned-date-time"}),
        ("date", {"type": "string", "format": "iso-date"}),
        ("time", {"type": "string", "format": "iso-time"}),
        ("timedelta", {"type": "string", "format": "iso-duration"}),
        ("Literal['a', 1, None]", {"enum": ["a", 1, None]}),
        ("list[int]", {"type": "array", "items": {"type": "integer"}}),
        ("set[str]", {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        ("tuple[int, ...]", {"type": "array", "items": {"type": "integer"}}),
        (
            "tuple[int, str]",
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "items": False,
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        ("dict[str, int]", {"type": "object", "additionalProperties": {"type": "integer"}}),
        (
            "dict[int, str]",
            {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "propertyNames": {"type": "string", "pattern": "^(0|-?[1-9][0-9]*)$"},
            },
        ),
        ("str | None", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ("Text", {"title": "Text", "enum": ["a", "b"]}),
        ("Number", {"title": "Number", "enum": [1, 2]}),
        ("Mixed", {"title": "Mixed", "enum": ["ONE", "TWO"]}),
        ("Name", {"type": "string"}),
        ("Pair[int]", {"$ref": "#/$defs/Pair-int"}),
        ("First | Second", {"anyOf": [{"$ref": "#/$defs/First.tagged"}, {"$ref": "#/$defs/Second.tagged"}]}),
        ("First | None", {"anyOf": [{"$ref": "#/$defs/First"}, {"type": "null"}]}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_schemas_are_those_of_the_wire(tmp_path: Path, annotation: str, schema: dict[str, Any]) -> None:
    more = """
T = TypeVar("T")
Name = NewType("Name", str)

class Text(enum.Enum):
    A = "a"
    B = "b"

class Number(enum.IntEnum):
    ONE = enum.auto()
    TWO = enum.auto()

class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"

@attrs.frozen
class First:
    x: int

@attrs.frozen
class Second:
    x: int

@attrs.frozen
class Pair(Generic[T]):
    left: T
    right: T
"""
    made = contract(tmp_path, f"    it: {annotation}", more=more)["mail.send"].arguments
    assert made["properties"]["it"] == schema
    assert made["required"] == ["it"]
    assert made["additionalProperties"] is False


def test_members_of_a_union_of_classes_carry_their_tag(tmp_path: Path) -> None:
    more = "@attrs.frozen\nclass A:\n    x: int\n\n@attrs.frozen\nclass B:\n    x: int\n"
    definitions = contract(tmp_path, "    it: A | B", more=more)["mail.send"].arguments["$defs"]
    assert definitions["A.tagged"]["properties"]["_type"] == {"const": "A"}
    assert definitions["A.tagged"]["required"] == ["_type", "x"]


def test_a_type_that_contains_itself_refers_to_itself(tmp_path: Path) -> None:
    more = "@attrs.frozen\nclass Node:\n    next: 'Node | None' = None\n"
    made = contract(tmp_path, "    it: Node", more=more)
    assert made["mail.send"].arguments["$defs"]["Node"]["properties"]["next"] == {
        "anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]
    }
    assert changes(made, made) == []


def test_results_are_described_as_they_are_written_with_every_field(tmp_path: Path) -> None:
    made = contract(tmp_path, "    to: str = ''", "    id: str\n    note: str = ''")["mail.send"]
    assert made.arguments["required"] == []
    assert made.result["required"] == ["id", "note"]


ENUM = "class Color(enum.Enum):\n    RED = 'red'\n"
NODE = "@attrs.frozen\nclass Node:\n    next: 'Node | None' = None\n"
CLASSES = "@attrs.frozen\nclass A:\n    x: int\n\n@attrs.frozen\nclass B:\n    x: int\n"


@pytest.mark.parametrize(
    ("old", "new", "code", "text"),
    [
        ("to: str; cc: str = ''", "to: str", "JOBGEN053", "the argument 'cc' is gone"),
        ("to: str", "to: str; cc: str", "JOBGEN054", "the argument 'cc' is required now"),
        ("to: str; cc: str = ''", "to: str; cc: str", "JOBGEN054", "the argument 'cc' is required now"),
        ("to: str | None", "to: str", "JOBGEN055", "the argument 'to' was string | null and is string"),
        ("to: str", "to: int", "JOBGEN055", "the argument 'to' was string and is integer"),
        ("to: float", "to: int", "JOBGEN055", "was number and is integer"),
        ("to: str", "to: UUID", "JOBGEN055", "was string and is string (uuid)"),
        ("to: datetime", "to: date", "JOBGEN055", "was string (zoned-date-time) and is string (iso-date)"),
        ("to: list[str]", "to: list[int]", "JOBGEN055", "the argument 'to[]' was string and is integer"),
        ("to: tuple[int, int]", "to: tuple[int]", "JOBGEN055", "was array of exactly integer, integer"),
        ("to: list[int]", "to: tuple[int, int]", "JOBGEN055", "was array of integer"),
        ("to: dict[str, int]", "to: dict[int, int]", "JOBGEN055", "'to[]'"),
        ("to: Literal['a', 'b']", "to: Literal['a']", "JOBGEN055", "was one of 'a', 'b' and is one of 'a'"),
        ("to: str", "to: Literal['a']", "JOBGEN055", "was string and is one of 'a'"),
        ("to: A | B", "to: A", "JOBGEN055", "was A (tagged) | B (tagged) and is A"),
        ("to: A", "to: A | B", "JOBGEN055", "was A and is A (tagged) | B (tagged)"),
        ("to: A", "to: dict[str, str]", "JOBGEN055", "'to[]' was integer and is string"),
    ],
    ids=str,
)
def test_a_change_of_the_arguments_that_stored_jobs_do_not_fit_is_breaking(
    tmp_path: Path, old: str, new: str, code: str, text: str
) -> None:
    before = contract(tmp_path / "old", f"    {old}", more=CLASSES)
    after = contract(tmp_path / "new", f"    {new}", more=CLASSES)
    told = changes(before, after)
    assert {each.code for each in told} == {code}
    assert any(text in each.message for each in told), told
    assert all("stored jobs and deployed clients" in each.message for each in told)
    raised = contract(tmp_path / "raised", f"    {new}", more=CLASSES, decorator=", version=2")
    assert changes(before, raised) == []
    assert changes(before, after, accepted=["mail.send"]) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("to: str", "to: str; cc: str = ''"),
        ("to: str; cc: str", "to: str; cc: str = ''"),
        ("to: str; cc: str", "cc: str; to: str"),
        ("to: str", "to: str | None"),
        ("to: int", "to: float"),
        ("to: int", "to: int | str"),
        ("to: list[int]", "to: set[int]"),
        ("to: tuple[int, int]", "to: list[int]"),
        ("to: Literal['a']", "to: Literal['a', 'b']"),
        ("to: Literal['a']", "to: str"),
        ("to: A", "to: dict[str, int]"),
        ("to: Node", "to: Node | None"),
    ],
    ids=str,
)
def test_a_change_of_the_arguments_that_takes_all_that_was_taken_is_compatible(
    tmp_path: Path, old: str, new: str
) -> None:
    before = contract(tmp_path / "old", f"    {old}", more=CLASSES + NODE)
    after = contract(tmp_path / "new", f"    {new}", more=CLASSES + NODE)
    assert changes(before, after) == []


def test_an_enum_may_gain_members_in_arguments_and_not_in_results(tmp_path: Path) -> None:
    more = f"{ENUM}    BLUE = 'blue'\n"
    small = contract(tmp_path / "small", "    color: Color", "    color: Color", more=ENUM)
    large = contract(tmp_path / "large", "    color: Color", "    color: Color", more=more)
    (gained,) = changes(small, large)
    (lost,) = changes(large, small)
    assert (gained.code, lost.code) == ("JOBGEN057", "JOBGEN055")
    assert "the result's field 'color' was Color ('red') and may be Color ('blue', 'red')" in gained.message
    assert "the argument 'color' was Color ('blue', 'red') and is Color ('red')" in lost.message


@pytest.mark.parametrize(
    ("old", "new", "code", "text"),
    [
        ("id: str; at: str", "id: str", "JOBGEN056", "the result's field 'at' is gone"),
        ("id: str", "id: str; at: str = ''", "JOBGEN056", "the result's field 'at' is new"),
        ("id: str", "id: str | None", "JOBGEN057", "the result's field 'id' was string and may be string | null"),
        ("id: str", "id: int", "JOBGEN057", "was string and may be integer"),
        ("id: int", "id: float", "JOBGEN057", "was integer and may be number"),
    ],
    ids=str,
)
def test_a_change_of_the_result_that_readers_do_not_know_is_breaking(
    tmp_path: Path, old: str, new: str, code: str, text: str
) -> None:
    (told,) = changes(
        contract(tmp_path / "o", "    to: str", f"    {old}"), contract(tmp_path / "n", "    to: str", f"    {new}")
    )
    assert told.code == code
    assert text in told.message
    assert "result readers" in told.message


@pytest.mark.parametrize(
    ("old", "new"),
    [("id: str | None", "id: str"), ("id: float", "id: int"), ("id: str", "id: str = ''")],
    ids=str,
)
def test_a_narrower_result_is_compatible(tmp_path: Path, old: str, new: str) -> None:
    before = contract(tmp_path / "o", "    to: str", f"    {old}")
    assert changes(before, contract(tmp_path / "n", "    to: str", f"    {new}")) == []


def test_a_move_to_another_queue_is_breaking_and_says_for_whom(tmp_path: Path) -> None:
    before = contract(tmp_path / "o", "    to: str", decorator=', queue="mail"')
    after = contract(tmp_path / "n", "    to: str", decorator=', queue="post"')
    (told,) = changes(before, after)
    assert told.code == "JOBGEN052"
    assert "moved from queue 'mail' to 'post'" in told.message
    assert "stored jobs and those of deployed clients" in told.message


def test_a_removed_job_type_is_breaking_until_it_is_let_go_by_name(tmp_path: Path) -> None:
    before = contract(tmp_path, "    to: str")
    (told,) = changes(before, {})
    assert told.code == "JOBGEN051"
    assert "generate --accept mail.send" in told.hint
    assert changes(before, {}, accepted=["mail.send"]) == []


def test_a_lowered_version_is_breaking(tmp_path: Path) -> None:
    before = contract(tmp_path / "o", "    to: str", decorator=", version=3")
    (told,) = changes(before, contract(tmp_path / "n", "    to: str", decorator=", version=2"))
    assert told.code == "JOBGEN058"


def test_a_new_job_type_is_compatible(tmp_path: Path) -> None:
    assert changes({}, contract(tmp_path, "    to: str")) == []


def test_the_file_reads_back_as_it_was_written_and_is_the_same_each_time(tmp_path: Path) -> None:
    made = contract(tmp_path / "a", "    to: str; color: Color", more=ENUM)
    text = dump(made)
    assert load("lock", text) == made
    assert text.endswith("}\n")
    assert "\r" not in text
    assert dump(contract(tmp_path / "b", "    to: str; color: Color", more=ENUM)) == text


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('{"format": ', 1, "it is not JSON"),
        ('{\n<<<<<<< HEAD\n"a": 1}', 2, "it has unresolved merge conflicts"),
        ("[]", 1, "it is some other file"),
        ('{"name": "left-pad"}', 1, "it is some other file"),
        ('{"format": "beskar-jobs-contract", "format_version": 99}', 1, "it is of format version 99"),
        ('{"format": "beskar-jobs-contract", "format_version": 1}', 1, "its jobs are missing"),
        (
            json.dumps({"format": "beskar-jobs-contract", "format_version": 1, "jobs": {"a": {"queue": 3}}}),
            1,
            "its entry for 'a' is damaged",
        ),
    ],
    ids=str,
)
def test_a_file_that_is_no_contract_says_why(text: str, line: int, problem: str) -> None:
    told = load("beskar_jobs.lock.json", text)
    assert isinstance(told, Diagnostic)
    assert (told.code, told.place.line) == ("JOBGEN050", line)
    assert problem in told.message
