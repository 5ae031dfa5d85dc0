"""``beskar recurring`` against a scheduler, as a program runs it."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

from beskar_jobs import EmbeddedBroker, JobScheduler
from tests.cli.conftest import System
from tests.cli.program import beskar


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
        code, _, errors = await run(tmp_path, "add", "night", "app.report", "{}", "--cron", "0 3 * * *")
        assert code == 0, errors
        code, output, _ = await run(tmp_path, "list", "--json")
        (entry,) = json.loads(output)
        assert (code, entry["name"], entry["schedule"], entry["paused"]) == (0, "night", "0 3 * * *", False)
        code, output, errors = await run(tmp_path, "add", "bad", "app.report", "{}", "--cron", "99 * * * *")
        assert (code, output) == (1, "")
        assert "minute field '99'" in errors


def test_without_queue_its_jobs_go_where_the_handler_declares(system: System) -> None:
    ran = beskar("recurring", "add", "squares", "math.square", '{"n": 2}', "--every", "1d", "--json", env=system.env)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout)["queue"] == "math"
    named = ["recurring", "add", "squares", "math.square", '{"n": 2}', "--every", "1d", "--queue", "other", "--json"]
    assert json.loads(beskar(*named, env=system.env).stdout)["queue"] == "other"


def test_without_a_worker_that_knows_the_type_a_hint_names_the_queue(system: System) -> None:
    ran = beskar("recurring", "add", "unknown", "nobody.knows", "null", "--every", "1d", "--json", env=system.env)
    assert (ran.returncode, json.loads(ran.stdout)["queue"]) == (0, "default")
    assert ran.stderr == (
        "hint: no worker that is online knows job type 'nobody.knows'; its jobs go to queue 'default' "
        "(--queue names another)\n"
    )


def test_the_arguments_are_demanded_as_enqueue_does() -> None:
    for command in (["recurring", "add", "night", "app.report", "--every", "1d"], ["enqueue", "app.report"]):
        ran = beskar(*command)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert "Missing argument 'JSON'" in ran.stderr


def test_when_it_runs_is_said_once_and_the_error_names_the_options() -> None:
    for options in ([], ["--cron", "0 3 * * *", "--every", "1d"]):
        ran = beskar("recurring", "add", "night", "app.report", "{}", *options)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert "'--cron' / '--every': give one of them, and not both" in ran.stderr
        assert "timedelta" not in ran.stderr


def test_the_list_is_a_table_with_times_to_the_second(system: System) -> None:
    added = ["recurring", "add", "tabled", "math.square", '{"n": 2}', "--cron", "0 3 * * *", "--paused"]
    assert beskar(*added, env=system.env).returncode == 0
    assert beskar("recurring", "trigger", "tabled", env=system.env).returncode == 0
    ran = beskar("recurring", "list", env=system.env)
    assert (ran.returncode, ran.stderr) == (0, "")
    heads, *rows = ran.stdout.splitlines()
    assert heads.split() == ["name", "schedule", "type", "queue", "next", "last"]
    (row,) = [row for row in rows if row.startswith("tabled ")]
    cells = re.split(r" {2,}", row.strip())
    assert cells[:5] == ["tabled", "0 3 * * * UTC", "math.square", "math", "paused"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d triggered", cells[5])


def test_the_list_of_jobs_names_the_entry_that_a_job_comes_from(system: System) -> None:
    added = ["recurring", "add", "origin", "nobody.knows", "null", "--cron", "0 3 * * *", "--queue", "of-origin"]
    assert beskar(*added, env=system.env).returncode == 0
    job_id = beskar("recurring", "trigger", "origin", env=system.env).stdout.strip()
    other = beskar("enqueue", "nobody.knows", "null", "--queue", "of-origin", env=system.env).stdout.strip()
    heads, *rows = beskar("jobs", "--queue", "of-origin", env=system.env).stdout.splitlines()
    assert heads.split()[-1] == "recurring"
    assert {row.split()[0]: row.split()[-1] == "origin" for row in rows} == {job_id: True, other: False}
    # Where no job of the list comes from one, there is no such column.
    beskar("enqueue", "nobody.knows", "null", "--queue", "plain", env=system.env)
    assert "recurring" not in beskar("jobs", "--queue", "plain", env=system.env).stdout
