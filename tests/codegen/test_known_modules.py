"""Modules as plain data: they come back equal, and a digest of their meaning knows no places."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from beskar_codegen.model import SourceModule
from beskar_codegen.modules_plain import meaning, module_from_plain, to_plain
from beskar_codegen.read import read_project
from tests.codegen.command import HANDLERS, TYPES, make_project

CASES = sorted(path for path in (Path(__file__).parent / "cases").iterdir() if (path / "input").is_dir())


def modules(root: Path) -> tuple[SourceModule, ...]:
    return read_project(root, ["."]).modules


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_modules_come_back_equal_from_plain_data(case: Path) -> None:
    for module in modules(case / "input"):
        assert module_from_plain(orjson.loads(orjson.dumps(to_plain(module)))) == module


@pytest.mark.parametrize("plain", [None, [], [0], [15], [99, 1], ["x"], [None, 1], {}])
def test_other_data_is_refused(plain: object) -> None:
    with pytest.raises((ValueError, TypeError, LookupError)):
        module_from_plain(plain)


def test_meaning_is_the_same_for_moved_code_and_another_one_for_another_default(tmp_path: Path) -> None:
    def of(name: str, handlers: str, types: str) -> list[str]:
        root = make_project(tmp_path / name, handlers=handlers, types=types)
        return [meaning(to_plain(module)) for module in read_project(root, ["app"]).modules]

    base = of("base", HANDLERS, TYPES)
    assert of("moved", "\n\n" + HANDLERS, "# comment\n" + TYPES) == base
    assert of("other", HANDLERS, TYPES.replace('cc: str = ""', 'cc: str = "x"')) != base
