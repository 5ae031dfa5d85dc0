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

README = Path(__file__).resolve().parents[2] / "README.md"
DOCUMENTS = [README, README.with_name("CONTRIBUTING.md"), *sorted((README.parent / "docs").glob("*.md"))]

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def blocks(language: str, document: Path = README) -> list[str]:
    return [text for found, text in BLOCK.findall(document.read_text(encoding="utf-8")) if found == language]


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
    for block in blocks("python"):
        name = block.splitlines()[0].removeprefix("# ")
        (tmp_path / name).write_text(block.replace("1883", str(port)))
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
    *updates, last = client.stdout.splitlines()
    assert last == blocks("text")[0].strip(), told
    assert updates[-1].startswith("succeeded"), told


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_python_block_compiles(document: Path) -> None:
    for block in blocks("python", document):
        ast.parse(block)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_inside_the_repository_leads_somewhere(document: Path) -> None:
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), f"{document.name} links to {target}"
