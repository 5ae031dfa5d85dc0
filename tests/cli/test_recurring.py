"""``beskar recurring`` against a scheduler, as a program runs it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from beskar_jobs import EmbeddedBroker, JobScheduler


async def run(folder: Path, *arguments: str) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "beskar_jobs.cli", "recurring", *arguments),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        output, errors = await process.communicate()
    return process.returncode, output.decode(), errors.decode()


async def test_a_recurring_job_is_added_listed_and_refused_where_it_can_never_run(tmp_path: Path) -> None:
    async with EmbeddedBroker() as broker, JobScheduler(broker):
        # Settings of the project count for commands of a group too.
        (tmp_path / "pyproject.toml").write_text(f'[tool.beskar]\nbroker = "{broker.url}"\n')
        code, _, errors = await run(tmp_path, "add", "night", "app.report", "--cron", "0 3 * * *")
        assert (code, errors) == (0, "")
        code, output, _ = await run(tmp_path, "list", "--json")
        (entry,) = json.loads(output)
        assert (code, entry["name"], entry["schedule"], entry["paused"]) == (0, "night", "0 3 * * *", False)
        code, output, errors = await run(tmp_path, "add", "bad", "app.report", "--cron", "99 * * * *")
        assert (code, output) == (1, "")
        assert "minute field '99'" in errors
