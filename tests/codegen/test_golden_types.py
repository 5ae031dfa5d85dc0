"""The generated code of all golden cases in the eyes of mypy, pyright, stubtest and Ruff: one process for each tool.

The cases share the package ``app``. Here each gets a package and job types of its own, so that all of them can stand in
one tree, be checked in one run, and be imported in one process.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from beskar_codegen.generation import generate
from beskar_codegen.settings import load

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).with_name("cases")
PATIENCE = 300
JOB_TYPE = re.compile(rb'"(mail|a|options|point|numbers|everything)\.')
# What these are about is the line length, folders of another name, and syntax of Python 3.12.
APART = {"line_length_of_the_project", "handlers_in_a_package_file", "sources_below_src"}
MODERN = {"pep_695_syntax"}
MYPY = """
[mypy]
strict = true
python_version = 3.11
explicit_package_bases = true
mypy_path = stubs
"""
# Of an attrs class, stubtest refuses what mypy's own plugin makes of it; the page tells users what to allow.
ATTRS_IN_STUBTEST = (ROOT / "docs" / "codegen.md").read_text().partition("```allowlist\n")[2].partition("```")[0]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One project with the packages of all cases that come out without a diagnostic."""
    whole = tmp_path_factory.mktemp("whole")
    for case in sorted(CASES.iterdir()):
        is_too_modern = case.name in MODERN and sys.version_info < (3, 12)
        is_about_files = (case / "before").exists()
        if case.name in APART or is_too_modern or is_about_files or not (case / "expected/app/jobs.py").exists():
            continue
        folder = tmp_path_factory.mktemp(case.name)
        for source in (case / "input").rglob("*"):
            if source.is_file():
                data = re.sub(rb"\bapp\b", case.name.encode(), source.read_bytes())
                target = folder / str(source.relative_to(case / "input")).replace("app/", f"{case.name}/")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(JOB_TYPE.sub(f'"{case.name}.'.encode(), data))
        generation = generate(load(folder, root=folder), use_cache=False)
        assert generation.diagnostics == (), case.name
        for path, text in generation.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        shutil.copytree(folder, whole, dirs_exist_ok=True)
    (whole / "mypy.ini").write_text(MYPY)
    settings = {
        "include": generated(whole),
        "typeCheckingMode": "strict",
        "stubPath": "stubs",
        "extraPaths": [str(ROOT)],
        "pythonVersion": "3.11",
    }
    (whole / "pyrightconfig.json").write_text(json.dumps(settings))
    (whole / "pyproject.toml").unlink()
    return whole


def generated(tree: Path) -> list[str]:
    found = [*tree.glob("*/jobs.py"), *tree.glob("stubs/**/*.pyi")]
    return sorted(path.relative_to(tree).as_posix() for path in found)


def run_tool(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MYPY_CACHE_DIR": str(tree / ".mypy_cache")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_mypy_accepts_all_cases(tree: Path) -> None:
    paths = generated(tree)
    assert len(paths) > 60
    run = run_tool(tree, "-m", "mypy", *paths)
    told = [line for line in run.stdout.splitlines() if line.partition(":")[0] in paths]
    assert told == [], run.stdout
    assert run.returncode in (0, 1), run.stderr


def test_pyright_accepts_all_cases(tree: Path) -> None:
    run = run_tool(tree, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable)
    report = json.loads(run.stdout)
    assert report["summary"]["filesAnalyzed"] == len(generated(tree))
    assert [(each["file"], each["message"]) for each in report["generalDiagnostics"]] == []


def test_stubs_of_all_cases_fit_their_modules(tree: Path) -> None:
    modules = sorted(
        path.removeprefix("stubs/").removesuffix(".pyi").replace("/", ".")
        for path in generated(tree)
        if path.endswith(".pyi") and not path.endswith("__init__.pyi")  # a package is looked at with its modules
    )
    (tree / "allowed.txt").write_text(ATTRS_IN_STUBTEST)
    options = ("--mypy-config-file", "mypy.ini", "--concise", "--allowlist", "allowed.txt", "--ignore-unused-allowlist")
    run = run_tool(tree, "-m", "mypy.stubtest", *modules, *options)
    assert run.stdout == ""
    assert run.returncode == 0, run.stderr


def test_ruff_finds_nothing(tree: Path) -> None:
    run = run_tool(tree, "-m", "ruff", "format", "--isolated", "--diff", "--no-cache", *generated(tree))
    assert run.returncode == 0, run.stdout
    run = run_tool(tree, "-m", "ruff", "check", "--isolated", "--no-cache", "--ignore=PYI001", *generated(tree))
    assert run.returncode == 0, run.stdout
