"""What ``beskar worker`` says of modules that it cannot use: one line, exit code 1, what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from beskar_jobs.testing.services import free_port
from tests.cli.program import beskar

BROKEN = """
import attrs
from beskar_jobs import JobHandler, job_handler

@attrs.frozen
class Args:
    n: int

@job_handler(" ")
class BlankJobHandler(JobHandler[Args]):
    def execute(self, context) -> None: ...
"""

BARE = """
from beskar_jobs import JobContext, JobHandler

class BareJobHandler(JobHandler[int]):
    def execute(self, context: JobContext[int]) -> None: ...
"""

PRIVATE = """
from beskar_jobs import HandlerRegistry, JobContext, JobHandler, job_handler

@job_handler("own", registry=HandlerRegistry())
class OwnJobHandler(JobHandler[int]):
    def execute(self, context: JobContext[int]) -> None: ...
"""


@pytest.mark.parametrize(
    ("module", "source", "told"),
    [
        ("nowhere", None, ["there is no module 'nowhere' in {folder}"]),
        ("here.jobs", None, ["there is no module 'here' in {folder}"]),
        ("chores.py", "", ["'chores.py' is a file name; name the module, as in 'beskar worker chores'"]),
        ("empty", "", ["module 'empty' ({folder}/empty.py) registers no handler; decorate a class with @job_handler"]),
        ("needs", "import not_there", ["module 'needs' cannot be imported: {folder}/needs.py:1: ", "'not_there'"]),
        ("fails", "\n1 / 0", ["{folder}/fails.py:2: ZeroDivisionError: division by zero; --verbose shows"]),
        ("wrong", "def f(:\n", ["module 'wrong' cannot be imported: {folder}/wrong.py:1: SyntaxError: "]),
        ("./chores.py", "", ["'./chores.py' is a file name; name the module, as in 'beskar worker chores'"]),
        ("sub/chores.py", None, ["name the module, as in 'beskar worker sub.chores'"]),
        ("../else/chores.py", None, ["as in 'beskar worker chores', started in {folder.parent}/else"]),
        ("chores:Square", "", ["'chores:Square' names 'Square' in a module; a worker runs all handlers of a module"]),
        ("bare", BARE, ["registers no handler; BareJobHandler lacks the decorator"]),
        ("private", PRIVATE, ["registers no handler; OwnJobHandler is in a registry of its own"]),
        ("broken", BROKEN, ["{folder}/broken.py:9: JOBGEN002: the job type of BlankJobHandler is empty", "name it"]),
    ],
)
def test_a_module_that_cannot_be_used_is_one_clear_line(
    tmp_path: Path, module: str, source: str | None, told: list[str]
) -> None:
    if source is not None:
        (tmp_path / f"{module.removesuffix('.py')}.py").write_text(source)
    ran = beskar("worker", module, folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.count("\n") == 1, ran.stderr
    assert ran.stderr.startswith("error: ")
    for text in told:
        assert text.format(folder=tmp_path) in ran.stderr


def test_a_handler_without_the_decorator_beside_others_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "mixed.py").write_text(BROKEN.replace('" "', '"some"') + BARE)
    url = f"mqtt://127.0.0.1:{free_port()}"
    ran = beskar("worker", "mixed", "--broker", url, "--connect-timeout", "0.1", folder=tmp_path)
    assert ran.returncode == 1
    assert "mixed.BareJobHandler is a handler without @job_handler, so no job comes to it" in ran.stderr
    assert "BlankJobHandler" not in ran.stderr


def test_verbose_shows_the_traceback_too(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("1 / 0")
    ran = beskar("worker", "fails", "--verbose", folder=tmp_path)
    assert ran.returncode == 1
    assert "Traceback (most recent call last)" in ran.stderr
    assert ran.stderr.splitlines()[-1].startswith("error: module 'fails' cannot be imported")
