"""Cases as folders: what the generator makes of ``input/`` is ``expected/`` and ``diagnostics.txt``.

A new case is a new folder under ``cases``. ``pytest tests/codegen/test_golden.py --rewrite-golden`` writes what is
expected anew; the difference is read in review. The version of the generator reads ``VERSION`` there.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from beskar_codegen.generation import generate
from beskar_codegen.report import report
from beskar_codegen.settings import load
from beskar_codegen.version import VERSION

CASES = sorted(folder.parent for folder in Path(__file__).parent.glob("cases/*/input"))
MARK = f"beskar-codegen {VERSION}."


def outcome(folder: Path) -> tuple[dict[str, str], str]:
    """The generated files of the project in *folder*, and its diagnostics as text."""
    settings = load(folder, root=folder)
    generation = generate(settings, use_cache=False)
    files = {path: text.replace(MARK, "beskar-codegen VERSION.") for path, text in generation.files.items()}
    if not generation.diagnostics:
        files[settings.contract] = generation.contract
    return files, report(generation.diagnostics, "text", root=folder, version=VERSION)


def tree(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode("utf-8", "surrogateescape")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    folder = tmp_path / "project"
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
