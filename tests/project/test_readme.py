"""The README keeps its word: its five minutes are run here as they stand, only on a free port."""

from __future__ import annotations

import ast
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from beskar_jobs.testing.services import EmbeddedServer

README = Path(__file__).resolve().parents[2] / "README.md"
DOCUMENTS = [README, README.with_name("CONTRIBUTING.md"), *sorted((README.parent / "docs").glob("*.md"))]

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def blocks(language: str, document: Path = README) -> list[str]:
    return [text for found, text in BLOCK.findall(document.read_text(encoding="utf-8")) if found == language]


def write_python_blocks(folder: Path, port: int = 1883) -> None:
    """Each under the name in its first line."""
    for block in blocks("python"):
        name = block.splitlines()[0].removeprefix("# ")
        (folder / name).write_text(block.replace("1883", str(port)))


@contextmanager
def running(command: list[str], folder: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(15)
        process.kill()
        process.wait()


def wait_for_port(port: int, seconds: float, broker: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + seconds
    while True:
        assert broker.poll() is None, log.read_text()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


def test_the_five_minutes_run_as_written(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    write_python_blocks(tmp_path, port)
    commands = [
        shlex.split(line.removeprefix("$ ").replace("1883", str(port)))
        for block in blocks("console")
        for line in block.splitlines()
        if line.startswith("$ beskar ")
    ]
    assert [command[1] for command in commands] == ["broker", "scheduler", "worker"]
    beskar = str(Path(sys.executable).with_name("beskar"))
    logs = [tmp_path / f"{command[1]}.log" for command in commands]
    with ExitStack() as stack:
        started = [
            stack.enter_context(running([beskar, *command[1:]], tmp_path, log))
            for command, log in zip(commands, logs, strict=True)
        ]
        wait_for_port(port, 30, started[0], logs[0])
        client = subprocess.run(
            [sys.executable, "client.py"], cwd=tmp_path, capture_output=True, text=True, timeout=90, check=False
        )
    told = "\n".join([client.stderr, *(log.read_text() for log in logs)])
    assert client.returncode == 0, told
    shown = blocks("text")[0].splitlines()
    printed = client.stdout.splitlines()
    assert printed[-2:] == shown[-2:], told
    # Which updates are overtaken by the next, and whether the worker is there already, may differ from run to run.
    assert set(printed) <= {*shown, "  0 %  enqueued, waiting for: worker"}, told
    assert len({line for line in printed if line.endswith("running")}) > 1, told
    # A line about a broker that is not up yet may come before.
    ready = [line for line in logs[2].read_text().splitlines() if " is ready: " in line]
    assert [line.endswith(f"process {started[2].pid}") for line in ready] == [True], told


def test_the_worker_builds_the_handler_that_needs_something(tmp_path: Path, embedded_broker: EmbeddedServer) -> None:
    write_python_blocks(tmp_path)
    beskar = str(Path(sys.executable).with_name("beskar"))
    log = tmp_path / "worker.log"
    with running([beskar, "worker", "letters", "--broker", embedded_broker.url], tmp_path, log) as worker:
        end = time.monotonic() + 60
        while "is ready: 1 job type" not in log.read_text():
            assert worker.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)


def test_without_the_factory_the_worker_says_which_line_is_missing(
    tmp_path: Path, embedded_broker: EmbeddedServer
) -> None:
    write_python_blocks(tmp_path)
    module = tmp_path / "letters.py"
    kept, line = module.read_text().split("default_registry.register")
    module.write_text(kept)
    beskar = str(Path(sys.executable).with_name("beskar"))
    done = subprocess.run(
        [beskar, "worker", "letters", "--broker", embedded_broker.url],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "from beskar_jobs import default_registry" in done.stderr
    assert "default_registry.register" + line.partition("lambda")[0] in done.stderr


def test_the_tests_of_the_readme_pass_as_written(tmp_path: Path) -> None:
    write_python_blocks(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_digests.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_python_block_compiles(document: Path) -> None:
    for block in blocks("python", document):
        ast.parse(block)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_inside_the_repository_leads_somewhere(document: Path) -> None:
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), f"{document.name} links to {target}"
