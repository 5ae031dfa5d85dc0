"""The page on the code generator is run as it stands: its project, its commands, what they print."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from beskar_codegen.settings import load
from beskar_jobs.handlers.rules import RULES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "codegen.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BIN / command[0]), *command[1:]], cwd=folder, capture_output=True, text=True, timeout=100, check=False
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The blocks of the page that begin with the name of a file."""
    for block in (*blocks("python"), *blocks("toml")):
        head, _, rest = block.partition("\n")
        if head.startswith("# "):
            file = tmp_path / head.removeprefix("# ")
            file.parent.mkdir(exist_ok=True)
            file.write_text(rest)
    return tmp_path


def test_the_commands_print_what_the_page_shows(project: Path) -> None:
    (session,) = [block for block in blocks("console") if "generate" in block]
    for part in session.split("$ ")[1:]:
        command, _, shown = part.partition("\n")
        done = run(shlex.split(command), project)
        assert (done.returncode, done.stdout + done.stderr) == (0, shown)
    assert run(["beskar-codegen", "check"], project).returncode == 0


def test_the_client_is_accepted_and_the_wrong_one_refused_as_the_page_shows(project: Path) -> None:
    assert run(["beskar-codegen", "generate"], project).returncode == 0
    (shown,) = [block for block in blocks("text") if "error:" in block]
    # Its first line is the name of the file in the page.
    wrong = project / "wrong.py"
    wrong.write_text(f"# wrong.py\n{wrong.read_text()}")
    checked = run(["mypy", "--strict", "--no-error-summary", "client.py", "wrong.py"], project)
    told = [line for line in checked.stdout.splitlines(keepends=True) if ": error:" in line]
    assert "".join(told) == shown, checked.stdout


def below_src(project: Path) -> Path:
    """The page's project with its package in ``src``, and a library in its handlers that nobody has."""
    (project / "src").mkdir()
    (project / "shop").rename(project / "src" / "shop")
    (project / "pyproject.toml").write_text('[tool.beskar.codegen]\nsource = ["src"]\n')
    (project / "src" / "shop" / "__init__.py").touch()
    return project / "src" / "shop" / "handlers.py"


def test_mypy_takes_the_stubs_with_the_path_that_the_page_gives_for_a_source_folder(project: Path) -> None:
    handlers = below_src(project)
    handlers.write_text("import no_such_library\n" + handlers.read_text())
    assert run(["beskar-codegen", "generate"], project).returncode == 0
    (given,) = re.findall(r'`(mypy_path = "[^"`]*src[^"`]*")`', PAGE)
    (project / "mypy.ini").write_text("[mypy]\n" + given.replace('"', ""))
    (project / "uses.py").write_text("from shop.handlers import InvoiceJobHandler\n\nInvoiceJobHandler.request(1)\n")
    checked = run(["mypy", "--strict", "--no-error-summary", "uses.py"], project)
    assert 'incompatible type "int"; expected "InvoiceArgs"' in checked.stdout
    assert "no_such_library" not in checked.stdout, "mypy has read the source"


@pytest.mark.parametrize(("declaration", "is_kept"), [("model: nn.Module | None", True), ("model: object", False)])
def test_a_stub_keeps_the_imports_of_declarations_and_no_others(project: Path, declaration: str, is_kept: bool) -> None:
    assert "`model: nn.Module | None`" in PAGE
    handlers = below_src(project)
    handlers.write_text(f"import torch.nn as nn\n{handlers.read_text()}        nn.Module()\n\n    {declaration}\n")
    assert run(["beskar-codegen", "generate"], project).returncode == 0
    stub = (project / "stubs" / "shop" / "handlers.pyi").read_text()
    assert f"    {declaration}\n" in stub
    assert ("import torch.nn as nn\n" in stub) is is_kept


def test_the_settings_of_the_page_are_those_that_there_are(project: Path) -> None:
    (table,) = re.findall(r"^\| key \| default .*?\n\n", PAGE, re.DOTALL | re.MULTILINE)
    rows = dict(re.findall(r"^\| `(\w+)` \| (?:`([^`]*)`)?", table, re.MULTILINE))
    settings = load(project)
    assert list(rows) == ["source", "descriptors", "stubs", "contract", "mode"]
    assert (settings.descriptors, rows["stubs"], rows["contract"], rows["mode"]) == (
        "shop/jobs.py",
        f'"{settings.stubs}"',
        f'"{settings.contract}"',
        f'"{settings.mode}"',
    )


def test_every_rule_that_the_page_names_is_there() -> None:
    assert set(re.findall(r"JOBGEN\d+", PAGE)) <= set(RULES)
