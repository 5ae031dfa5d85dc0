"""Diagnostics in four formats: sorted, each once, with what each reader needs."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beskar_codegen.model import Diagnostic, Place
from beskar_codegen.report import FORMATS, ReportFormat, report
from beskar_jobs.handlers.rules import RULES
from tests.codegen.sarif_rules import check_log

FIRST = Diagnostic(Place("app/a.py", 2, 14, 2, 16), "JOBGEN002", "the job type of A is empty or blank", "name it")
SECOND = Diagnostic(Place("app/b.py", 1, 1, 1, 1), "JOBGEN003", "100% of: a, b\nand more", "leave, it: out")


def told(form: ReportFormat, root: Path, *diagnostics: Diagnostic, is_coloured: bool = False) -> str:
    return report(diagnostics, form, root=root, version="1.2.3", is_coloured=is_coloured)


def test_text_begins_with_the_line_that_editors_know_then_shows_source_and_hint(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "a.py").write_text('import x\n@job_handler("")\nclass A: ...\n')
    assert told("text", tmp_path, FIRST).splitlines() == [
        "app/a.py:2:14: error JOBGEN002: the job type of A is empty or blank",
        '  2 | @job_handler("")',
        "    |              ^^",
        "  hint: name it",
    ]


def test_text_without_the_source_at_hand_has_no_excerpt(tmp_path: Path) -> None:
    assert told("text", tmp_path, FIRST).count("\n") == 2


def test_a_caret_stands_below_its_column_behind_tabs_and_at_the_end_of_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\tx = 1\r\ny\r\n")
    tabbed = Diagnostic(Place("a.py", 1, 2, 1, 3), "JOBGEN002", "m", "h")
    behind = Diagnostic(Place("a.py", 2, 2, 2, 2), "JOBGEN002", "m", "h")
    lines = told("text", tmp_path, tabbed, behind).splitlines()
    assert lines[1:3] == ["  1 | \tx = 1", "    | \t^"]
    assert lines[5:7] == ["  2 | y", "    |  ^"]


def test_colours_change_nothing_but_colours(tmp_path: Path) -> None:
    import re  # noqa: PLC0415

    coloured = told("text", tmp_path, FIRST, is_coloured=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == told("text", tmp_path, FIRST)


@pytest.mark.parametrize("form", FORMATS)
def test_diagnostics_are_sorted_and_each_is_told_once(tmp_path: Path, form: ReportFormat) -> None:
    assert told(form, tmp_path, SECOND, FIRST, SECOND) == told(form, tmp_path, FIRST, SECOND)
    assert told(form, tmp_path, FIRST, SECOND).count("name it") == 1


def test_github_annotations_escape_what_the_runner_would_read_otherwise(tmp_path: Path) -> None:
    assert told("github", tmp_path, FIRST, SECOND).splitlines() == [
        "::error file=app/a.py,line=2,col=14,endColumn=16,title=JOBGEN002"
        "::the job type of A is empty or blank; name it",
        "::error file=app/b.py,line=1,col=1,title=JOBGEN003::100%25 of: a, b%0Aand more; leave, it: out",
    ]


def test_github_annotations_escape_paths(tmp_path: Path) -> None:
    odd = Diagnostic(Place("a,b:c.py"), "JOBGEN002", "m", "h")
    assert "file=a%2Cb%3Ac.py," in told("github", tmp_path, odd)


def test_json_is_a_list_of_objects_with_six_fields(tmp_path: Path) -> None:
    assert json.loads(told("json", tmp_path, FIRST)) == [
        {
            "code": "JOBGEN002",
            "path": "app/a.py",
            "line": 2,
            "column": 14,
            "message": "the job type of A is empty or blank",
            "hint": "name it",
        }
    ]
    assert json.loads(told("json", tmp_path)) == []


def test_sarif_has_what_the_standard_requires_and_the_rules_that_were_broken(tmp_path: Path) -> None:
    log = json.loads(told("sarif", tmp_path, FIRST, SECOND))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("beskar-codegen", "1.2.3")
    assert [rule["id"] for rule in driver["rules"]] == ["JOBGEN002", "JOBGEN003"]
    assert driver["rules"][0]["shortDescription"]["text"] == RULES["JOBGEN002"].rule
    first, second = run["results"]
    assert (first["ruleId"], first["ruleIndex"], second["ruleIndex"]) == ("JOBGEN002", 0, 1)
    assert first["level"] == "error"
    assert first["message"]["text"].startswith(FIRST.message)
    location = first["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "app/a.py", "uriBaseId": "SRCROOT"}
    assert location["region"] == {"startLine": 2, "startColumn": 14, "endLine": 2, "endColumn": 16}
    assert run["columnKind"] == "unicodeCodePoints"


def test_a_sarif_fingerprint_outlives_an_edit_above(tmp_path: Path) -> None:
    moved = Diagnostic(Place("app/a.py", 9, 14, 9, 16), FIRST.code, FIRST.message, FIRST.hint)
    prints = [
        json.loads(told("sarif", tmp_path, each))["runs"][0]["results"][0]["partialFingerprints"]
        for each in (FIRST, moved)
    ]
    assert prints[0] == prints[1]


def test_sarif_without_results_is_still_a_run(tmp_path: Path) -> None:
    (run,) = json.loads(told("sarif", tmp_path))["runs"]
    assert run["results"] == []


ODD_PLACES = [
    Place("app/a b.py", 1, 1, 1, 1),
    Place("a:b/ä#?%.py", 3, 7, 3, 8),
    Place("app/\udcff.py", 3, 7, 5, 1),
    Place("pyproject.toml"),
]


def every_rule_at(place: Place) -> list[Diagnostic]:
    return [Diagnostic(place, code, f"{code} is broken\nhere", "mend it") for code in RULES]


def test_sarif_keeps_the_standard_for_every_rule_and_every_kind_of_place(tmp_path: Path) -> None:
    for place in ODD_PLACES:
        log = json.loads(told("sarif", tmp_path, *every_rule_at(place)))
        check_log(log)
        assert len(log["runs"][0]["results"]) == len(RULES)
    several = [Diagnostic(place, "JOBGEN002", "m", "h") for place in ODD_PLACES]
    log = json.loads(told("sarif", tmp_path, *several, *several))
    check_log(log)
    assert len(log["runs"][0]["results"]) == len(ODD_PLACES)
    check_log(json.loads(told("sarif", tmp_path)))


def _set(*path: str | int, value: Any) -> Callable[[Any], None]:
    def spoil(log: Any) -> None:
        for key in path[:-1]:
            log = log[key]
        log[path[-1]] = value

    return spoil


RESULT = ("runs", 0, "results", 0)
LOCATION = (*RESULT, "locations", 0, "physicalLocation")


@pytest.mark.parametrize(
    "spoil",
    [
        _set("version", value="2.1"),
        _set("$schema", value="sarif-schema-2.1.0.json"),
        _set("runs", 0, "tool", "driver", "rules", 1, "id", value="JOBGEN002"),
        _set("runs", 0, "tool", "driver", "semanticVersion", value="1.2"),
        _set(*RESULT, "ruleIndex", value=1),
        _set(*RESULT, "ruleId", value="JOBGEN003"),
        _set(*RESULT, "ruleIndex", value=2),
        _set(*RESULT, "severity", value="high"),
        _set(*RESULT, "message", value={}),
        _set(*LOCATION, "artifactLocation", "uri", value="/app/a.py"),
        _set(*LOCATION, "artifactLocation", "uri", value="app\\a.py"),
        _set(*LOCATION, "artifactLocation", "uri", value="../a.py"),
        _set(*LOCATION, "artifactLocation", "uri", value="a b.py"),
        _set(*LOCATION, "artifactLocation", "uriBaseId", value="ELSEWHERE"),
        _set(*LOCATION, "region", "startLine", value=0),
        _set(*LOCATION, "region", "startColumn", value=0),
        _set(*LOCATION, "region", "endColumn", value=14),
    ],
)
def test_the_check_of_sarif_sees_what_is_wrong(tmp_path: Path, spoil: Callable[[Any], None]) -> None:
    log = json.loads(told("sarif", tmp_path, FIRST, SECOND))
    check_log(log)
    spoiled = copy.deepcopy(log)
    spoil(spoiled)
    with pytest.raises((AssertionError, KeyError)):
        check_log(spoiled)
