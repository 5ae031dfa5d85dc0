"""Generated code in the eyes of mypy, pyright, stubtest and Ruff.

One project is generated once, in both modes and with stubs; each tool looks at all of it in one process.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from beskar_codegen.plan import PlanSettings
from tests.codegen.generating import generate_all

ROOT = Path(__file__).parents[2]
PROJECT = Path(__file__).with_name("project")
GENERATED = ("app/jobs.py", "client/jobs.py", "stubs/app/handlers.pyi", "stubs/app/__init__.pyi")
CHECKED = (*GENERATED, "right_uses.py", "wrong_uses.py")
PATIENCE = 300

MYPY = """
[mypy]
strict = true
python_version = 3.11
explicit_package_bases = true
mypy_path = stubs
show_column_numbers = true
"""

Finding = tuple[str, int, str]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(PROJECT, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    generate_all(folder, PlanSettings(first_party=frozenset({"app", "client"})))
    (folder / "mypy.ini").write_text(MYPY)
    settings = {
        "include": list(CHECKED),
        "typeCheckingMode": "strict",
        # The uses are for their types: they throw values away.
        "reportUnusedExpression": "none",
        "extraPaths": ["stubs", str(ROOT)],
        "pythonVersion": "3.11",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture(scope="module")
def mypy_findings(project: Path) -> list[Finding]:
    run = run_tool(project, "-m", "mypy", "--no-error-summary", *CHECKED)
    return [
        (found["path"], int(found["line"]), found["code"])
        for line in run.stdout.splitlines()
        if (found := re.match(r"(?P<path>[^:]+):(?P<line>\d+):\d+: error: .*\[(?P<code>[\w-]+)\]$", line))
    ] + [(line, 0, "") for line in run.stdout.splitlines() if ": error:" in line and not line.endswith("]")]


@pytest.fixture(scope="module")
def pyright_findings(project: Path) -> list[Finding]:
    run = run_tool(project, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable)
    found = json.loads(run.stdout)["generalDiagnostics"]
    return [
        (
            Path(each["file"]).relative_to(project.resolve()).as_posix(),
            each["range"]["start"]["line"] + 1,
            each.get("rule", each["message"]),
        )
        for each in found
    ]


def run_tool(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MYPY_CACHE_DIR": str(project / ".mypy_cache")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def expected(column: int) -> Counter[tuple[int, str]]:
    """What ``wrong_uses.py`` expects: the codes of mypy (0), the rules of pyright (1)."""
    lines = (PROJECT / "wrong_uses.py").read_text().splitlines()
    return Counter(
        (number, code)
        for number, line in enumerate(lines, start=1)
        if "# E: " in line
        for code in line.partition("# E: ")[2].split()[column].split("+")
    )


def test_mypy_accepts_generated_code_and_right_uses(mypy_findings: list[Finding]) -> None:
    assert [each for each in mypy_findings if each[0] != "wrong_uses.py"] == []


def test_pyright_accepts_generated_code_and_right_uses(pyright_findings: list[Finding]) -> None:
    assert [each for each in pyright_findings if each[0] != "wrong_uses.py"] == []


def test_mypy_refuses_each_wrong_use_at_its_line(mypy_findings: list[Finding]) -> None:
    found = Counter((line, code) for path, line, code in mypy_findings if path == "wrong_uses.py")
    assert found == expected(0)


def test_pyright_refuses_each_wrong_use_at_its_line(pyright_findings: list[Finding]) -> None:
    found = Counter((line, code) for path, line, code in pyright_findings if path == "wrong_uses.py")
    assert found == expected(1)


def test_stubs_fit_their_modules(project: Path) -> None:
    run = run_tool(project, "-m", "mypy.stubtest", "app.handlers", "--mypy-config-file", "mypy.ini")
    assert run.returncode == 0, run.stdout
    assert "no issues found in 1 module" in run.stdout


@pytest.mark.parametrize("config", [["--isolated"], ["--config", str(ROOT / "pyproject.toml")]], ids=["own", "ours"])
def test_ruff_finds_nothing_to_lint(project: Path, config: list[str]) -> None:
    run = run_tool(project, "-m", "ruff", "check", *config, "--no-cache", *GENERATED)
    assert run.returncode == 0, run.stdout


def test_ruff_finds_nothing_to_format(project: Path) -> None:
    run = run_tool(project, "-m", "ruff", "format", "--isolated", "--diff", "--no-cache", *GENERATED)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("length", [60, 79, 100, 120])
def test_formatting_follows_the_line_length(project: Path, tmp_path: Path, length: int) -> None:
    shutil.copytree(project / "app", tmp_path / "app", ignore=shutil.ignore_patterns("jobs.py", "__pycache__"))
    generate_all(tmp_path, PlanSettings(first_party=frozenset({"app", "client"}), line_length=length))
    run = run_tool(
        tmp_path, "-m", "ruff", "format", "--isolated", "--diff", "--no-cache", f"--line-length={length}", *GENERATED
    )
    assert run.returncode == 0, run.stdout
