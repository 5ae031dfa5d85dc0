"""A small project on the disk, and the command as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TYPES = """\
import attrs


@attrs.frozen
class MailArgs:
    to: str
    cc: str = ""


@attrs.frozen
class MailResult:
    id: str
"""

HANDLERS = """\
from beskar_jobs import JobContext, JobHandlerWithResult, job_handler

from app.types import MailArgs, MailResult


@job_handler("mail.send", queue="mail")
class MailJobHandler(JobHandlerWithResult[MailArgs, MailResult]):
    async def execute(self, context: JobContext[MailArgs]) -> MailResult:
        return MailResult(context.arguments.to)
"""

REPOSITORY = Path(__file__).resolve().parents[2]


def make_project(root: Path, *, handlers: str = HANDLERS, types: str = TYPES) -> Path:
    """A project with one handler in *root*."""
    (root / "app").mkdir(parents=True)
    (root / "pyproject.toml").write_text('[tool.beskar.codegen]\nsource = ["app"]\n')
    (root / "app" / "__init__.py").write_text("")
    (root / "app" / "types.py").write_text(types)
    (root / "app" / "handlers.py").write_text(handlers)
    return root


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command with *arguments*, in the folder *root*."""
    code = f"import sys; sys.path.insert(0, {str(REPOSITORY)!r}); from beskar_codegen.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def tree(root: Path) -> dict[str, bytes]:
    """All files below *root* but the cache, by path."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".beskar_cache" not in path.parts and "__pycache__" not in path.parts
    }
