"""What a process pays for, by what it imports: a client stays light, and importing the library touches no driver."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import beskar_codegen
import beskar_jobs

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ["croniter", "libcst", "mqtt5", "opentelemetry", "psycopg", "redis", "rich", "sqlite3", "typer"]

PROBE = """
import sys
{code}
print(*sorted(name for name in {heavy!r} if name in sys.modules))
"""


def _heavy_modules_after(code: str) -> list[str]:
    """Which of the heavy modules a fresh interpreter has loaded once it has run *code*."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROBE.format(code=code, heavy=HEAVY)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=ROOT,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


def test_the_probe_sees_what_is_loaded() -> None:
    assert _heavy_modules_after("import sqlite3") == ["sqlite3"]


@pytest.mark.parametrize(
    "code",
    [
        "import beskar_jobs",
        "from beskar_jobs import JobClient; JobClient('mqtt://127.0.0.1:1')",
        "from beskar_jobs import JobHandler, JobHandlerWithResult, job_handler",
        "import examples.media.jobs",
    ],
    ids=["library", "client", "handlers", "descriptors"],
)
def test_a_client_loads_no_generator_no_command_line_and_no_driver(code: str) -> None:
    assert _heavy_modules_after(code) == []


def test_descriptors_do_not_load_the_handlers_or_what_they_need() -> None:
    code = "import examples.media.jobs; assert not {'PIL', 'examples.media.handlers'} & set(sys.modules)"
    assert _heavy_modules_after(code) == []


@pytest.mark.parametrize("package", [beskar_jobs, beskar_codegen], ids=["beskar_jobs", "beskar_codegen"])
def test_every_name_in_every_all_is_there(package: ModuleType) -> None:
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), f"{info.name}.__all__ names {name}"


def test_every_public_name_of_the_library_can_be_imported_lazily() -> None:
    assert [name for name in beskar_jobs.__all__ if not hasattr(beskar_jobs, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'JobQueue'"):
        _ = beskar_jobs.JobQueue  # type: ignore[attr-defined]


def test_importing_the_library_loads_none_of_its_parts() -> None:
    code = "import sys, beskar_jobs; assert not [m for m in sys.modules if m.startswith('beskar_jobs.')]"
    assert _heavy_modules_after(code) == []
