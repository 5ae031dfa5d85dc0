"""What type checkers say to users of the library: nothing about right uses, and the right thing about wrong ones.

``accepted/`` has to be clean under mypy --strict and pyright strict. In ``refused/`` every line that is marked
``# E: code | rule`` has to give exactly that error code of mypy and that rule of pyright (``-``: nothing; several by
commas), and no other line any.
Each checker runs once, over all files.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILES = sorted((*HERE.glob("accepted/*.py"), *HERE.glob("refused/*.py")))
MARK = re.compile(r"# E: (?P<mypy>[a-z, -]+) \| (?P<pyright>[A-Za-z, -]+)$")
NOTHING = "-"
SECONDS = 300


@attrs.frozen(order=True)
class Finding:
    """One error: file, line (from 1), code."""

    path: Path
    line: int
    code: str
    message: str = attrs.field(default="", eq=False, order=False)


@pytest.fixture(scope="module")
def mypy_findings(tmp_path_factory: pytest.TempPathFactory) -> list[Finding]:
    cache = tmp_path_factory.mktemp("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--output=json", "--config-file=", f"--cache-dir={cache}"]
    done = subprocess.run(
        [*command, "--scripts-are-modules", "--explicit-package-bases", *map(str, FILES)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        Finding((ROOT / report["file"]).resolve(), report["line"], report["code"], report["message"])
        for report in reports
        if report["severity"] == "error"
    ]


@pytest.fixture(scope="module")
def pyright_findings() -> list[Finding]:
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "--project", str(HERE)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [
        Finding(
            Path(report["file"]).resolve(),
            report["range"]["start"]["line"] + 1,
            report.get("rule", ""),
            report["message"],
        )
        for report in json.loads(done.stdout)["generalDiagnostics"]
        if report["severity"] == "error" and Path(report["file"]).resolve() in FILES
    ]


def marked(path: Path, checker: str) -> Iterator[Finding]:
    for line, text in enumerate(path.read_text().splitlines(), 1):
        match = MARK.search(text)
        codes = match[checker].split(", ") if match is not None else []
        yield from (Finding(path, line, code) for code in codes if code != NOTHING)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_mypy_says_what_is_marked_and_nothing_else(path: Path, mypy_findings: list[Finding]) -> None:
    assert sorted(f for f in mypy_findings if f.path == path) == sorted(marked(path, "mypy"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_pyright_says_what_is_marked_and_nothing_else(path: Path, pyright_findings: list[Finding]) -> None:
    assert sorted(f for f in pyright_findings if f.path == path) == sorted(marked(path, "pyright"))


def test_every_refused_file_marks_something_and_no_accepted_one_does() -> None:
    for path in FILES:
        assert bool(list(marked(path, "mypy"))) is (path.parent.name == "refused")
