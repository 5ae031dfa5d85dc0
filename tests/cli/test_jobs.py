"""The commands of a client, against a system that was started from the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import Any

import pytest

from beskar_jobs.model.job import JobStatus
from tests.cli.conftest import System
from tests.cli.program import BESKAR, PATIENCE, Program, beskar


def run(system: System, *arguments: str, code: int = 0, stdin: str = "") -> str:
    ran = beskar(*arguments, env=system.env, stdin=stdin)
    assert ran.returncode == code, (ran.stdout, ran.stderr)
    return ran.stdout


def read(system: System, *arguments: str) -> Any:
    return json.loads(run(system, *arguments, "--json"))


def test_enqueue_prints_the_id_and_nothing_else(system: System) -> None:
    assert run(system, "enqueue", "math.square", '{"n": 3}', "--queue", "math", "--job-id", "three") == "three\n"
    assert run(system, "watch", "three") == '{"square": 9}\n'
    assert run(system, "enqueue", "math.square", '{"n": 3}', "--queue", "math", "--job-id", "three") == "three\n"


def test_without_queue_a_job_goes_where_its_handler_declares(system: System) -> None:
    ran = beskar("enqueue", "math.square", '{"n": 4}', "--job-id", "declared", env=system.env)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "declared\n", "")
    assert read(system, "job", "declared")["queue"] == "math"


def test_without_queue_and_without_a_worker_that_knows_the_type_it_is_default_and_a_hint_says_so(
    system: System,
) -> None:
    ran = beskar("enqueue", "nobody.knows.it", "null", "--job-id", "hinted", env=system.env)
    assert (ran.returncode, ran.stdout) == (0, "hinted\n")
    assert ran.stderr == (
        "hint: no worker that is online knows job type 'nobody.knows.it'; the job goes to queue 'default' "
        "(--queue names another)\n"
    )
    assert read(system, "job", "hinted")["queue"] == "default"
    with Program("watch", "hinted", env=system.env) as watch:
        watch.wait_for("It waits for a worker: none is online that serves queue 'default'")
        run(system, "cancel", "hinted")
        assert watch.end() == 1


def test_an_unknown_status_is_told_the_known_ones(system: System) -> None:
    ran = beskar("jobs", "--status", "nope", env=system.env)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert all(status.value in ran.stderr for status in JobStatus), ran.stderr


def test_enqueue_that_waits_prints_the_result(system: System) -> None:
    assert run(system, "enqueue", "math.square", "-", "--queue=math", "--wait", stdin='{"n": 5}') == '{"square": 25}\n'


def test_what_enqueue_was_told_is_what_job_shows(system: System) -> None:
    options = ["--priority", "7", "--delay", "2h", "--metadata", "who=me", "--metadata", "eq=a=b", "--json"]
    job_id = json.loads(run(system, "enqueue", "math.square", '{"n": 1}', "--queue", "math", *options))["job_id"]
    shown = read(system, "job", job_id)
    assert shown["status"] == "scheduled"
    assert shown["waiting_for"] == "time"
    assert shown["priority"] == 7
    assert shown["metadata"] == {"who": "me", "eq": "a=b"}
    assert shown["arguments"] == {"n": 1}
    assert shown["explanation"].startswith("It waits for its time, ")
    assert "(in 1 h 59 min)" in shown["explanation"]
    assert "It waits for its time, " in run(system, "job", job_id)
    assert read(system, "cancel", job_id) == {"job_id": job_id, "outcome": "cancelled"}
    assert "had ended already" in run(system, "cancel", job_id)


def test_a_failed_job_ends_watch_with_1_and_tells_why_without_control_characters(system: System) -> None:
    ran = beskar("enqueue", "math.fail", '{"n": 1}', "--queue", "math", "--job-id", "bad", "--wait", env=system.env)
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert "\x1b" not in ran.stderr
    assert "error: job bad is dead_lettered: ValueError: no \\x1b[31m number" in ran.stderr
    ran = beskar("watch", "bad", "--json", env=system.env)
    assert ran.returncode == 1
    assert json.loads(ran.stdout.splitlines()[-1])["failure"]["error_type"] == "builtins.ValueError"
    shown = run(system, "job", "bad")
    assert "Traceback" in shown
    assert "\x1b" not in shown


def test_watch_writes_a_line_of_json_for_each_state_and_the_result_last(system: System) -> None:
    run(system, "enqueue", "time.sleep", '{"n": 60}', "--queue", "slow", "--job-id", "sleeper")
    with Program("watch", "sleeper", "--json", env=system.env) as watch:
        watch.wait_for('"running"', "stdout")
        assert "It is running on worker w" in read(system, "job", "sleeper")["explanation"]
        assert read(system, "cancel", "sleeper", "--reason", "enough") == {"job_id": "sleeper", "outcome": "requested"}
        assert watch.end() == 1
    states = [json.loads(line) for line in watch.lines["stdout"]]
    assert [state["job_id"] for state in states] == ["sleeper"] * len(states)
    assert states[-1]["status"] == "cancelled"
    assert watch.lines["stderr"] == []


def test_waiting_has_a_bound_and_the_job_goes_on(system: System) -> None:
    run(system, "enqueue", "math.square", '{"n": 1}', "--delay", "1d", "--job-id", "tomorrow")
    ran = beskar(
        *("enqueue", "math.square", '{"n": 1}', "--delay", "1d", "--job-id", "then", "--wait", "--timeout", "500ms"),
        env=system.env,
    )
    assert ran.returncode == 1
    assert "'beskar watch then' follows it" in ran.stderr.splitlines()[-1]
    assert read(system, "job", "then")["status"] == "scheduled"


def test_a_job_that_nobody_can_run_says_so(system: System) -> None:
    run(system, "enqueue", "nobody.knows", "null", "--job-id", "orphan")
    shown = run(system, "job", "orphan")
    assert shown.startswith("It waits for a worker: none is online that serves queue 'default' and knows job type")
    found = read(system, "jobs", "--type", "nobody.knows", "--status", "enqueued", "--queue", "default")
    assert [job["job_id"] for job in found] == ["orphan"]
    assert read(system, "jobs", "--type", "nobody.knows", "--status", "running") == []
    assert "orphan" in run(system, "jobs", "--limit", "5")


def test_workers_and_queues_are_listed(system: System) -> None:
    run(system, "enqueue", "math.square", '{"n": 2}', "--queue", "math", "--wait")
    (worker,) = read(system, "workers")
    assert worker["worker_id"] == "w"
    assert worker["job_types"] == [
        "files.close",
        "math.fail",
        "math.square",
        "time.block",
        "time.leave",
        "time.sleep",
    ]
    math = {queue["queue"]: queue for queue in read(system, "queues")}["math"]
    assert math["workers"] == 1
    assert math["jobs"]["succeeded"] >= 1
    assert "math.square" in run(system, "workers")
    assert "math" in run(system, "queues")


def test_interrupting_watch_ends_it_quietly_and_the_job_goes_on(system: System) -> None:
    run(system, "enqueue", "math.square", '{"n": 1}', "--delay", "1d", "--job-id", "patient")
    with Program("watch", "patient", env=system.env) as watch:
        watch.wait_for("scheduled (waits for time)")
        watch.signal(signal.SIGINT)
        assert watch.end() == 130
    assert watch.lines["stdout"] == []
    assert "".join(watch.lines["stderr"][1:]).strip() == ""
    assert read(system, "job", "patient")["status"] == "scheduled"


@pytest.mark.parametrize("command", ["job", "watch", "cancel"])
def test_an_unknown_job_is_an_error_in_one_line(system: System, command: str) -> None:
    ran = beskar(command, "never-was", env=system.env)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "error: no job has the id 'never-was'; it was never enqueued, or its retention is over\n"


def test_arguments_that_are_no_json_are_an_error_in_one_line(system: System) -> None:
    ran = beskar("enqueue", "math.square", "{n: 1}", env=system.env)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("error: the arguments of 'math.square' are no valid JSON: ")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--delay", "soon"], "is no length of time"),
        (["--run-at", "2030-01-01T00:00:00"], "has no time zone"),
        (["--run-at", "tomorrow"], "is no time"),
        (["--metadata", "novalue"], "key=value"),
        (["--timeout", "5"], "--wait"),
        (["--delay", "1", "--run-at", "2030-01-01T00:00:00Z"], "not both"),
    ],
)
def test_wrong_use_is_exit_code_2(options: list[str], told: str) -> None:
    ran = beskar("enqueue", "math.square", "{}", *options)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert told in " ".join(ran.stderr.split())


def test_a_reader_that_has_gone_away_is_no_traceback(system: System) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ran = subprocess.run(
            [BESKAR, "queues", "--json"],
            env=system.env,
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
        )
    finally:
        os.close(writing)
    assert (ran.returncode, ran.stderr) == (1, b"")
