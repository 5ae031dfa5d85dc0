"""tools/check_source.py finds what it is there to find, and leaves the rest alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.check_source import MAX_LINES, WARN_LINES, check_exports, check_file, check_ignores, check_length

INIT = Path("beskar_jobs/__init__.py")


@pytest.mark.parametrize(
    "source",
    [
        '"""Nothing to export."""\n',
        "from typing import Final\nfrom beskar_jobs.model.job import Job\n__all__ = ['Job']\n",
        "from .ports import Port\ndef make() -> Port: ...\n__all__ = ['make']\n",
        "from .ports import Port\ndef make() -> Port: ...\n__all__ = ['Port', 'make']\n",
        "if TYPE_CHECKING:\n    from beskar_jobs.client import JobClient\n__all__ = ('JobClient',)\n",
        "from .a import b as c\ndef f() -> None: ...\nX: int = 1\n_y = 2\n__all__ = ['X', 'c', 'f']\n",
    ],
)
def test_exact_exports_pass(source: str) -> None:
    assert list(check_exports(INIT, source)) == []


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("from beskar_jobs.model.job import Job\n", "no __all__, but these public names: Job"),
        ("from beskar_jobs.model.job import Job\n__all__: list[str] = []\n", "__all__ lacks Job"),
        ("__all__ = ['Job']\n", "names what is not defined here: Job"),
        ("class Job: ...\n__all__ = ['Job', 'Job']\n", "names something twice"),
        ("class Job: ...\n__all__ = names()\n", "not a literal list"),
    ],
)
def test_wrong_exports_are_told(source: str, told: str) -> None:
    (finding,) = check_exports(INIT, source)
    assert told in str(finding)
    assert finding.is_error


def test_a_long_module_is_a_warning_and_a_longer_one_an_error() -> None:
    path = Path("beskar_jobs/core/dispatch.py")
    assert list(check_length(path, "x\n" * WARN_LINES)) == []
    assert [f.is_error for f in check_length(path, "x\n" * (WARN_LINES + 1))] == [False]
    assert [f.is_error for f in check_length(path, "x\n" * (MAX_LINES + 1))] == [True]


# Put together here, so that this file does not silence anything itself.
TYPE = "# type" + ": ignore"
PYRIGHT = "# pyright" + ": ignore"


@pytest.mark.parametrize("comment", [f"{TYPE}[arg-type]  # the stub lacks None", f"{PYRIGHT}[reportX] -- see PEP 695"])
def test_an_ignore_with_rule_and_reason_passes(comment: str) -> None:
    assert list(check_ignores(INIT, f"f(1)  {comment}\n")) == []


@pytest.mark.parametrize(
    ("comment", "told"),
    [
        (TYPE, ["without the rule", "without a reason"]),
        (f"{TYPE}[arg-type]", ["without a reason"]),
        (f"{TYPE}  # because", ["without the rule"]),
        (f"{PYRIGHT}[reportX] #", ["without a reason"]),
    ],
)
def test_an_ignore_without_rule_or_reason_is_told(comment: str, told: list[str]) -> None:
    findings = [str(finding) for finding in check_ignores(INIT, f"f(1)  {comment}\n")]
    assert len(findings) == len(told)
    assert all(text in finding for text, finding in zip(told, findings, strict=True))


def test_tests_need_only_name_the_rule() -> None:
    path = Path("tests/wire/test_values.py")
    assert list(check_ignores(path, f"f(1)  {TYPE}[arg-type]\n")) == []
    assert len(list(check_ignores(path, f"f(1)  {TYPE}\n"))) == 1


def test_a_string_that_looks_like_an_ignore_is_none() -> None:
    assert list(check_ignores(INIT, f'TEXT = "{TYPE}"\n')) == []


def test_length_and_exports_bind_the_library_and_not_its_tests() -> None:
    source = "class Case: ...\n" * (MAX_LINES + 1)
    assert list(check_file(Path("tests/core/__init__.py"), source)) == []
    assert len(list(check_file(Path("beskar_jobs/core/__init__.py"), source))) == 2
