"""The decorator, which sees classes, and the code generator, which sees sources, come to the same verdict."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import ModuleType

import pytest

import beskar_jobs
from beskar_codegen.model import Diagnostic
from beskar_codegen.read import read_project
from beskar_codegen.validate import build_project, checks
from beskar_codegen.validate.options import MAX_PRIORITY, MAX_VERSION, OPTIONS
from beskar_codegen.validate.recurring import OPTIONS as RECURRING_OPTIONS
from beskar_jobs import JobDefinitionError, job_handler
from beskar_jobs.handlers import decorator, registry
from beskar_jobs.handlers.rules import handlers as shared
from beskar_jobs.handlers.rules import recurring as recurring_rules
from beskar_jobs.model import job
from tests.codegen.verdict_cases import CASES, HEADER

SHARED = {rule.code for rule in (*shared.TABLE, *recurring_rules.TABLE)}


def imported_verdict(source: str, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """The code that the decorator breaks with when *source* is run as a module."""
    monkeypatch.setattr(decorator, "default_registry", registry.HandlerRegistry())
    module = ModuleType("verdict_case")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    try:
        exec(compile(source, "verdict_case.py", "exec", dont_inherit=True), vars(module))
    except JobDefinitionError as error:
        return error.code
    return None


def read_verdict(source: str, folder: Path) -> list[Diagnostic]:
    (folder / "verdict_case.py").write_text(source)
    _, diagnostics = build_project(read_project(folder, ["."]), standalone=True)
    return [each for each in diagnostics if each.code in SHARED or each.code == "JOBGEN017"]


@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"], ids=["plain", "future"])
@pytest.mark.parametrize(("expected", "source"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_verdict_is_the_same(
    expected: str | None, source: str, future: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = future + HEADER + source
    assert imported_verdict(source, monkeypatch) == expected
    diagnostics = read_verdict(source, tmp_path)
    assert sorted({each.code for each in diagnostics}) == ([expected] if expected else []), diagnostics


def test_every_rule_of_the_decorator_has_a_case() -> None:
    assert {case[1] for case in CASES} - {None} == SHARED


def test_the_generator_knows_the_options_and_bounds_of_the_decorator() -> None:
    names = [name for name in inspect.signature(job_handler).parameters if name != "job_type"]
    assert sorted(OPTIONS) == sorted(names)
    names = [name for name in inspect.signature(beskar_jobs.recurring).parameters if name != "schedule"]
    assert sorted(RECURRING_OPTIONS) == sorted(names)
    assert (MAX_PRIORITY, MAX_VERSION) == (job.MAX_PRIORITY, decorator.MAX_VERSION)
    assert checks.DEFAULT_QUEUE == job.DEFAULT_QUEUE
