"""Wheel and sdist: what is in them, and two projects outside the repository that use what the wheel installs.

No network is needed: the wheel is installed without its dependencies into an environment of its own, which then gets
the path of the packages that this test runs with. (The repository itself is not on that path; only what pip put there.)
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from email.message import Message
from email.parser import Parser
from pathlib import Path

import attrs
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("beskar_jobs", "beskar_codegen")

TYPES = """\
import attrs


@attrs.frozen
class SendArgs:
    {field}: str
    copies: int = 1


@attrs.frozen
class SendResult:
    {result}: int
"""

HANDLERS = """\
from beskar_jobs import JobContext, JobHandlerWithResult, job_handler

from {package}.types import SendArgs, SendResult


@job_handler("{package}.send")
class SendJobHandler(JobHandlerWithResult[SendArgs, SendResult]):
    async def execute(self, context: JobContext[SendArgs]) -> SendResult:
        return SendResult(context.arguments.copies)
"""

CLIENT = """\
import sys

from beskar_jobs import JobHandle
from billing import jobs as billing
from billing.types import SendResult
from shipping import jobs as shipping


async def use(invoice: JobHandle[SendResult], parcel: JobHandle[shipping.SendResult]) -> int:
    return (await invoice.result()).pages + (await parcel.result()).grams


print(billing.Send(invoice="a").job_type, shipping.Send(parcel="b", copies=2).job_type)
print([name for name in sys.modules if name.endswith(".handlers") and not name.startswith("beskar_jobs")])
"""

WRONG = """\
from beskar_jobs import JobClient
from billing.handlers import SendJobHandler
from billing.jobs import Send as SendInvoice
from shipping.jobs import Send as SendParcel
from shipping.types import SendArgs

SendInvoice(parcel="a")
SendParcel(parcel=1)
SendJobHandler.request(SendArgs("a"))


async def run(client: JobClient) -> None:
    handle = await client.enqueue(SendInvoice(invoice="a"))
    (await handle.result()).grams
"""

WRONG_MARKS = [(7, "call-arg"), (8, "arg-type"), (9, "arg-type"), (14, "attr-defined")]


@attrs.frozen
class Distributions:
    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    folder = tmp_path_factory.mktemp("dist")
    done(run([sys.executable, "-m", "hatchling", "build", "--directory", str(folder)], ROOT))
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    return Distributions(wheel, sdist)


def run(
    command: Sequence[str], folder: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    # Nothing of this process's environment may lead back to the repository.
    kept = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "MYPYPATH", "VIRTUAL_ENV"}}
    return subprocess.run(
        command,
        cwd=folder,
        env=kept | (environment or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def done(process: subprocess.CompletedProcess[str]) -> str:
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def sources() -> set[str]:
    """All files of the two packages, by path."""
    return {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode("utf-8"))


def test_the_wheel_holds_the_two_packages_with_all_their_files_and_nothing_else(built: Distributions) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == sources()
    assert {f"{package}/py.typed" for package in PACKAGES} <= names


def test_the_sdist_holds_what_it_takes_to_build_the_same_wheel_and_no_tests(
    built: Distributions, tmp_path: Path
) -> None:
    with tarfile.open(built.sdist) as archive:
        if hasattr(tarfile, "data_filter"):  # not in every 3.11
            archive.extractall(tmp_path, filter="data")
        else:
            archive.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    assert {path.name for path in folder.iterdir()} == {
        *PACKAGES, "docs", "CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml", ".gitignore",
    }  # fmt: skip
    done(run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", "again"], folder))
    again = folder / "again" / built.wheel.name
    with zipfile.ZipFile(again) as one, zipfile.ZipFile(built.wheel) as other:
        assert {each.filename: each.CRC for each in one.infolist()} == {
            each.filename: each.CRC for each in other.infolist()
        }


def test_the_metadata_name_the_licence_the_readme_and_what_the_extra_adds(built: Distributions) -> None:
    told = metadata(built.wheel)
    assert (told["Name"], told["License-Expression"], told["Requires-Python"]) == ("beskar-jobs", "MIT", ">=3.11")
    assert told["Description-Content-Type"] == "text/markdown"
    assert "codegen" in told.get_all("Provides-Extra", [])
    assert [each for each in told.get_all("Requires-Dist", []) if re.match(r"libcst\b.*extra == 'codegen'", each)]


@pytest.fixture(scope="module")
def installed(built: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` folder of an environment with the wheel in it."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps"]
    done(run([*pip, f"{built.wheel}[codegen]"], folder))
    own = Path(done(run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder)).strip())
    # A path in such a file is searched, but the path files in it are not read: no way leads to the repository.
    (own / "dependencies.pth").write_text("".join(f"{sysconfig.get_path(each)}\n" for each in ("purelib", "platlib")))
    return folder / "bin"


def make_project(root: Path, package: str, *, field: str, result: str, mode: str) -> Path:
    (root / package).mkdir(parents=True)
    (root / "pyproject.toml").write_text(f'[tool.beskar.codegen]\nsource = ["{package}"]\nmode = "{mode}"\n')
    (root / package / "__init__.py").write_text("")
    (root / package / "py.typed").write_text("")
    (root / package / "types.py").write_text(TYPES.format(field=field, result=result))
    (root / package / "handlers.py").write_text(HANDLERS.format(package=package))
    return root


def test_two_projects_outside_generate_check_and_serve_one_client_without_a_clash(
    installed: Path, tmp_path: Path
) -> None:
    python, codegen = str(installed / "python"), str(installed / "beskar-codegen")
    where = "import beskar_jobs, beskar_codegen; print(beskar_jobs.__file__, beskar_codegen.__file__)"
    for file in done(run([python, "-c", where], tmp_path)).split():
        assert Path(file).is_relative_to(installed.parent)

    projects = [
        make_project(tmp_path / "one", "billing", field="invoice", result="pages", mode="import"),
        make_project(tmp_path / "two", "shipping", field="parcel", result="grams", mode="standalone"),
    ]
    for project in projects:
        done(run([codegen, "generate"], project))
        assert done(run([codegen, "check"], project)) == ""
        assert (project / "beskar_jobs.lock.json").is_file()

    client = tmp_path / "client"
    client.mkdir()
    (client / "client.py").write_text(CLIENT)
    (client / "wrong.py").write_text(WRONG)
    roots = os.pathsep.join(map(str, projects))
    stubs = os.pathsep.join(str(project / "stubs") for project in projects)
    printed = done(run([python, "client.py"], client, {"PYTHONPATH": roots})).splitlines()
    assert printed == ["billing.send shipping.send", "[]"]

    mypy = [python, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", "--no-pretty"]
    paths = {"MYPYPATH": os.pathsep.join([stubs, roots])}
    checked = run([*mypy, "client.py", "wrong.py"], client, paths)
    marks = re.findall(r"^(\w+)\.py:(\d+): error: .*\[([\w-]+)\]$", checked.stdout, re.MULTILINE)
    assert sorted(marks) == sorted(("wrong", str(line), code) for line, code in WRONG_MARKS), checked.stdout
    assert "client.py" not in checked.stdout


def test_the_hook_for_pre_commit_is_the_command_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    (entry,) = re.findall(r"^  entry: (.*)$", hook, re.MULTILINE)
    project = make_project(tmp_path, "billing", field="invoice", result="pages", mode="import")
    path = {"PATH": os.pathsep.join([str(installed), os.environ["PATH"]])}
    stale = run(shlex.split(entry), project, path)
    assert stale.returncode == 1
    assert "JOBGEN074" in stale.stdout
    done(run(["beskar-codegen", "generate"], project, path))
    done(run(shlex.split(entry), project, path))
