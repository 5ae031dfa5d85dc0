"""The commands that run until they are stopped."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

from beskar_jobs.testing.services import EmbeddedServer, MosquittoServer, free_port
from tests.cli.program import Program, beskar, environment

HOOKED = """
import signal
import sys
from chores import *

def hook(number, frame):
    print("the hook of", signal.Signals(number).name, flush=True)
    sys.exit(9)

signal.signal(signal.SIGTERM, hook)
"""


@pytest.fixture
def env(embedded_broker: EmbeddedServer, topic_prefix: str) -> dict[str, str]:
    return environment(broker=embedded_broker.url, prefix=topic_prefix)


def test_the_broker_says_first_where_it_listens(tmp_path: Path) -> None:
    path = tmp_path / "broker.sock"
    with Program("broker", "--unix", str(path)) as broker:
        assert broker.wait_for("mqtt", "stdout") == f"mqtt+unix://{path}"
        assert broker.stop() == 0
    assert not path.exists()


def test_a_port_that_is_taken_is_an_error_that_says_what_to_do(embedded_broker: EmbeddedServer) -> None:
    port = embedded_broker.url.rpartition(":")[2]
    ran = beskar("broker", "--port", port)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"error: the broker cannot listen on 127.0.0.1:{port}: " in ran.stderr
    assert "choose another with --port (0: a free one) or --host" in ran.stderr


@pytest.mark.parametrize(
    "command", [["scheduler"], ["worker", "chores"], ["jobs"], ["worker", "chores", "--processes=2"]]
)
def test_an_unreachable_broker_is_an_error_in_bounded_time(handlers: Path, command: list[str]) -> None:
    url = f"mqtt://me:s3cret@127.0.0.1:{free_port()}"
    ran = beskar(*command, "--connect-timeout", "0.5", folder=handlers, env=environment(broker=url))
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert "mqtt://me:***@127.0.0.1" in ran.stderr
    assert "s3cret" not in ran.stderr
    assert ran.stderr.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in ran.stderr


def test_a_broker_that_does_not_answer_is_told_long_before_the_time_out() -> None:
    url = f"mqtt://me:s3cret@127.0.0.1:{free_port()}"
    with Program("jobs", "--connect-timeout", "600", env=environment(broker=url)) as jobs:
        line = jobs.wait_for("connecting to")
        assert line.startswith(f"connecting to {url.replace('s3cret', '***')} (for up to 600 s): ")
        jobs.signal(signal.SIGINT)
        assert jobs.end() == 130


def test_a_storage_that_is_none_is_an_error(env: dict[str, str]) -> None:
    ran = beskar("scheduler", "--storage", "mysql://me:s3cret@host/db", env=env)
    assert ran.returncode == 1
    assert "error: no storage has the URL scheme 'mysql'; use memory://" in ran.stderr
    assert "s3cret" not in ran.stderr


def test_jobs_outlive_the_scheduler_that_stored_them(
    tmp_path: Path, mosquitto: MosquittoServer, topic_prefix: str
) -> None:
    env = environment(broker=mosquitto.url, prefix=topic_prefix, storage=f"sqlite:///{tmp_path}/jobs.db")
    for _ in range(2):
        with Program("scheduler", "--scheduler-id", "s", env=env) as scheduler:
            ready = scheduler.wait_for("is ready")
            assert f"scheduler s is ready: broker {mosquitto.url}, prefix {topic_prefix!r}" in ready
            assert f", storage sqlite:///{tmp_path}/jobs.db, process {scheduler.pid}" in ready
            assert beskar("enqueue", "a.b", "1", "--job-id", "same", env=env).stdout == "same\n"
            assert scheduler.stop() == 0
            assert "kept in memory" not in scheduler.stderr


def test_the_hook_of_a_users_module_is_called_and_the_worker_still_stops_in_order(
    tmp_path: Path, handlers: Path, env: dict[str, str]
) -> None:
    (tmp_path / "chores.py").write_text((handlers / "chores.py").read_text())
    (tmp_path / "hooked.py").write_text(HOOKED)
    with Program("worker", "hooked", folder=tmp_path, env=env) as worker:
        worker.wait_for("is ready")
        assert worker.stop() == 0
    assert worker.lines["stdout"] == ["the hook of SIGTERM"]
    assert "SIGTERM: stopping" in worker.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_signal_ends_at_once(handlers: Path, env: dict[str, str], number: signal.Signals) -> None:
    with (
        Program("scheduler", env=env) as scheduler,
        Program("worker", "chores", "--stop-grace", "600", folder=handlers, env=env) as worker,
    ):
        scheduler.wait_for("is ready")
        worker.wait_for("is ready")
        beskar("enqueue", "time.sleep", '{"n": 600}', "--queue", "slow", env=env)
        worker.wait_for("sleeping", "stdout")
        worker.signal(number)
        worker.wait_for("stopping")
        worker.signal(number)
        assert worker.end() == -number


def test_a_handler_that_blocks_does_not_keep_the_worker_from_ending(handlers: Path, env: dict[str, str]) -> None:
    blocks = ["worker", "chores", "--worker-id", "blocks", "--queues", "blocks", "--stop-grace", "0"]
    leaves = ["worker", "chores", "--worker-id", "leaves", "--queues", "leaves", "--stop-grace", "0"]
    with (
        Program("scheduler", env=env) as scheduler,
        Program(*blocks, folder=handlers, env=env) as blocking,
        Program(*leaves, folder=handlers, env=env) as leaving,
    ):
        for program in (scheduler, blocking, leaving):
            program.wait_for("is ready")
        beskar("enqueue", "time.block", '{"n": 600}', "--queue", "blocks", "--job-id", "blocks", env=env)
        beskar("enqueue", "time.leave", '{"n": 600}', "--queue", "leaves", "--job-id", "leaves", env=env)
        blocking.wait_for("blocking", "stdout")
        leaving.wait_for("leaving", "stdout")
        for program in (blocking, leaving):  # at once: each takes the whole time that a worker has for its end
            program.signal(signal.SIGTERM)
        assert blocking.end() == 1
        assert leaving.end() == 0
        assert "a handler blocks the event loop" in blocking.stderr
        assert "a handler blocks the event loop" not in leaving.stderr
        for job_id in ("blocks", "leaves"):
            shown = json.loads(beskar("job", job_id, "--json", env=env).stdout)
            assert (shown["status"], shown["failures"]) == ("enqueued", 0)


def test_a_job_that_does_not_end_within_the_grace_is_released_and_not_counted(
    handlers: Path, env: dict[str, str]
) -> None:
    with (
        Program("scheduler", env=env) as scheduler,
        Program("worker", "chores", "--stop-grace", "0", folder=handlers, env=env) as worker,
    ):
        scheduler.wait_for("is ready")
        worker.wait_for("is ready")
        beskar("enqueue", "time.sleep", '{"n": 600}', "--queue", "slow", "--job-id", "long", env=env)
        worker.wait_for("sleeping", "stdout")
        assert worker.stop() == 0
        shown = json.loads(beskar("job", "long", "--json", env=env).stdout)
        assert (shown["status"], shown["attempt"], shown["failures"]) == ("enqueued", 0, 0)


def test_a_worker_that_is_replaced_ends_with_1_and_says_by_whom(handlers: Path, env: dict[str, str]) -> None:
    with Program("worker", "chores", "--worker-id", "w", folder=handlers, env=env) as older:
        older.wait_for("is ready")
        with Program("worker", "chores", "--worker-id", "w", folder=handlers, env=env) as newer:
            assert older.end() == 1
            assert older.lines["stderr"][-1].startswith("error: another process runs as worker 'w'")
            assert older.stderr.count("another process runs as worker") == 1
            newer.wait_for("is ready")
            assert newer.stop() == 0


def test_a_worker_whose_handler_closes_all_files_ends_with_1_and_says_of_what(
    handlers: Path, env: dict[str, str]
) -> None:
    with (
        Program("scheduler", env=env) as scheduler,
        Program("worker", "chores", folder=handlers, env=env) as worker,
    ):
        scheduler.wait_for("is ready")
        worker.wait_for("is ready")
        beskar("enqueue", "files.close", '{"n": 1}', "--queue", "slow", env=env)
        assert worker.end() == 1
        assert "Bad file descriptor" in worker.stderr


def test_account_and_prefix_reach_every_process_of_a_group_and_no_command_line(
    handlers: Path, topic_prefix: str
) -> None:
    with MosquittoServer(user=("me", "s3cret")) as server:
        options = ["--broker", server.url, "--username", "me", "--prefix", topic_prefix]
        env = environment(password="s3cret")
        with (
            Program("scheduler", *options, env=env) as scheduler,
            Program("worker", "chores", "--processes", "2", *options, folder=handlers, env=env) as group,
        ):
            scheduler.wait_for("is ready")
            group.wait_for("is ready", times=2)
            ran = beskar("enqueue", "math.square", '{"n": 4}', "--queue", "math", "--wait", *options, env=env)
            assert ran.stdout == '{"square": 16}\n'
            children = Path(f"/proc/{group.pid}/task/{group.pid}/children").read_text().split()
            assert len(children) == 2
            assert not any("s3cret" in Path(f"/proc/{child}/cmdline").read_text() for child in children)
            assert group.stop() == 0
            refused = beskar("workers", *options, "--connect-timeout", "1", env=environment(password="wr0ng"))
            assert refused.returncode == 1
            assert refused.stderr.count("\n") == 1, refused.stderr
            assert "wr0ng" not in refused.stderr


def test_a_process_of_a_group_that_dies_is_started_again_and_all_stop_together(
    handlers: Path, env: dict[str, str]
) -> None:
    with (
        Program("scheduler", env=env) as scheduler,
        Program("worker", "chores", "--processes", "2", "--worker-id", "g", folder=handlers, env=env) as group,
    ):
        scheduler.wait_for("is ready")
        group.wait_for("is ready", times=2)
        workers = {worker["worker_id"] for worker in json.loads(beskar("workers", "--json", env=env).stdout)}
        assert workers == {"g-1", "g-2"}
        os.kill(child_of(group.pid, "g-1"), signal.SIGKILL)
        assert "g-1 was killed by signal 9; it is started again in 0 s" in group.wait_for("started again")
        group.wait_for("worker g-1 is ready", times=2)
        assert group.stop() == 0
        assert json.loads(beskar("workers", "--json", env=env).stdout) == []


def test_workers_of_a_group_stop_when_its_parent_is_killed(handlers: Path, env: dict[str, str]) -> None:
    with Program("worker", "chores", "--processes", "2", folder=handlers, env=env) as group:
        group.wait_for("is ready", times=2)
        group.signal(signal.SIGKILL)
        assert group.end() == -signal.SIGKILL  # its output is read to the end: nobody holds it open any more


def test_a_group_whose_modules_fail_ends_with_1(tmp_path: Path, env: dict[str, str]) -> None:
    ran = beskar("worker", "nowhere", "--processes", "2", folder=tmp_path, env=env)
    assert ran.returncode == 1
    assert "error: there is no module 'nowhere'" in ran.stderr
    assert "ended with an error (above)" in ran.stderr.splitlines()[-1]


def test_logs_can_be_json(env: dict[str, str]) -> None:
    with Program("scheduler", "--json-logs", "--log-level", "warning", env=env) as scheduler:
        line = json.loads(scheduler.wait_for("kept in memory"))
        assert (line["level"], line["logger"]) == ("warning", "beskar_jobs.cli")
    ran = beskar("scheduler", "--log-level", "loud", env=env)
    assert (ran.returncode, ran.stdout) == (2, "")


def test_help_loads_neither_the_library_nor_asyncio() -> None:
    ran = beskar("--help", env={**environment(), "PYTHONPROFILEIMPORTTIME": "1"})
    assert ran.returncode == 0
    loaded = set(re.findall(r"\| +(\S+)$", ran.stderr, re.MULTILINE))
    assert "beskar_jobs.cli.app" in loaded
    assert not {"asyncio", "msgspec", "paho", "mqtt5", "beskar_jobs.client", "rich"} & loaded


def child_of(pid: int, worker_id: str) -> int:
    """The process of *worker_id* among the children of *pid*."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if worker_id in Path(f"/proc/{child}/cmdline").read_text().split("\0"):
            return int(child)
    raise AssertionError(f"{pid} has no child that is worker {worker_id}")
