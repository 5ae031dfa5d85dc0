"""Cases as folders: what the generator makes of ``input/`` is ``expected/`` and ``diagnostics.txt``.

A case that also has ``before/`` is about what was generated at an earlier time: that project is generated first, then
its sources give way to those of ``input/``, and ``diagnostics.txt`` is what ``check`` and then ``generate`` print.

A new case is a new folder under ``cases``. ``pytest tests/codegen/test_golden.py --rewrite-golden`` writes what is
expected anew; the difference is read in review. The version of the generator reads ``VERSION`` there. Cases are named
after the rule that they are about: each rule has one that breaks it, and one that comes near and keeps it.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
from pathlib import Path

import pytest

from beskar_codegen.cli import commands
from beskar_codegen.generation import generate
from beskar_codegen.report import report
from beskar_codegen.settings import load
from beskar_codegen.version import VERSION
from beskar_jobs.handlers import rules

CASES = sorted(folder.parent for folder in Path(__file__).parent.glob("cases/*/input"))
MARK = f"beskar-codegen {VERSION}."
NEUTRAL = "beskar-codegen VERSION."


def outcome(folder: Path) -> tuple[dict[str, str], str]:
    """The generated files of the project in *folder*, and its diagnostics as text."""
    settings = load(folder, root=folder)
    generation = generate(settings, use_cache=False)
    files = {path: text.replace(MARK, NEUTRAL) for path, text in generation.files.items()}
    if not generation.diagnostics:
        files[settings.contract] = generation.contract
    return files, report(generation.diagnostics, "text", root=folder, version=VERSION)


def later_outcome(case: Path, folder: Path) -> tuple[dict[str, str], str]:
    """The files beside the sources once ``input/`` has taken the place of ``before/``, and what the command said."""
    shutil.copytree(case / "before", folder)
    assert command("generate", folder)[0] == 0
    for path in tree(case / "before"):
        (folder / path).unlink()
    for path, text in tree(case / "input").items():
        make_room(folder, folder / path)
        (folder / path).write_bytes(text.replace(NEUTRAL, MARK).encode("utf-8", "surrogateescape"))
    present = tree(folder)
    code, told = command("check", folder)
    assert tree(folder) == present, "a check has written something"
    said = f"$ beskar-codegen check: {code}\n{told}"
    code, told = command("generate", folder)
    said += f"$ beskar-codegen generate: {code}\n{told}"
    sources = tree(case / "input")
    files = {path: text.replace(MARK, NEUTRAL) for path, text in tree(folder).items()}
    return {path: text for path, text in files.items() if sources.get(path) != text}, said.replace(MARK, NEUTRAL)


def command(name: str, folder: Path) -> tuple[int, str]:
    """The exit code of the command and its standard output."""
    run = commands.Run(root=folder, flags={}, form="text", use_cache=False)
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        code = getattr(commands, name)(run)
    return code, output.getvalue()


def make_room(root: Path, path: Path) -> None:
    """Let *path* be written: no folder stands there, and no file where it needs a folder."""
    if path.is_dir():
        shutil.rmtree(path)
    for folder in reversed(path.relative_to(root).parents):
        if (root / folder).is_file():
            (root / folder).unlink()
    path.parent.mkdir(parents=True, exist_ok=True)


def tree(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode("utf-8", "surrogateescape")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    folder = tmp_path / "project"
    if (case / "before").exists():
        files, diagnostics = later_outcome(case, folder)
    else:
        shutil.copytree(case / "input", folder)
        before = tree(folder)
        files, diagnostics = outcome(folder)
        assert tree(folder) == before, "a source was changed"
    if request.config.getoption("--rewrite-golden"):
        rewrite(case, files, diagnostics)
    assert diagnostics == (case / "diagnostics.txt").read_text()
    assert files == tree(case / "expected")


def rewrite(case: Path, files: dict[str, str], diagnostics: str) -> None:
    shutil.rmtree(case / "expected", ignore_errors=True)
    (case / "diagnostics.txt").write_text(diagnostics)
    for path, text in files.items():
        target = case / "expected" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_generated_text_is_tidy(case: Path) -> None:
    for path, text in tree(case / "expected").items():
        assert "\r" not in text, path
        assert text.endswith("\n"), path
        assert not any(line != line.rstrip() for line in text.splitlines()), path
        assert str(Path(__file__).parents[2]) not in text, path


def test_cases_are_found() -> None:
    assert len(CASES) >= 60


@pytest.mark.parametrize("code", sorted(rules.RULES))
def test_each_rule_has_a_case_that_breaks_it_and_one_that_keeps_it(code: str) -> None:
    texts = [(case / "diagnostics.txt").read_text() for case in CASES if case.name.startswith(f"{code.lower()}_")]
    breaks = [bool(re.search(rf"\b{code}\b", text)) for text in texts]
    assert set(breaks) == {True, False}
