"""Starts and stops the processes of a small cluster: what you would type into four terminals, as one object.

Nothing stays behind: whatever happens in the ``with`` block, every process is ended, by force if a polite request does
not do within a few seconds. Output goes to one log file per process.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

STOP_SECONDS = 10.0
HOST = "127.0.0.1"


class ClusterError(Exception):
    """A process of the cluster did not start, or ended by itself; the message holds the end of its log."""


class Cluster:
    """An embedded broker, one scheduler with SQLite, and named workers.

    Args:
        root: folder for the database and the logs.
        handlers: module with the handlers, as the workers import it.
    """

    def __init__(self, root: Path, handlers: str) -> None:
        self._root = root
        self._handlers = handlers
        self._port = _free_port()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.url = f"mqtt://{HOST}:{self._port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def start(self, workers: Sequence[str], *, concurrency: int) -> None:
        """Start everything; returns once the broker listens. The others connect when they are ready, in any order.

        Raises:
            ClusterError: the broker does not listen within 20 seconds.
        """
        self._spawn("broker", "broker", "--host", HOST, "--port", str(self._port))
        self._wait_for_port(20.0)
        database = f"sqlite:///{self._root / 'jobs.db'}"
        self._spawn("scheduler", "scheduler", "--broker", self.url, "--storage", database)
        for name in workers:
            options = ["--broker", self.url, "--worker-id", name, "--concurrency", str(concurrency)]
            self._spawn(name, "worker", self._handlers, *options)

    def kill(self, name: str) -> None:
        """End the process as a crash of the machine would: no handler runs, no farewell is sent (SIGKILL)."""
        self._processes.pop(name).kill()

    def check(self) -> None:
        """
        Raises:
            ClusterError: a process that should run has ended.
        """
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise ClusterError(f"{name} ended with exit status {process.returncode}\n{self.log_end(name)}")

    def log_end(self, name: str, lines: int = 20) -> str:
        log = self._log(name)
        text = log.read_text(errors="replace") if log.exists() else ""
        return "\n".join([f"--- end of {log} ---", *text.splitlines()[-lines:]])

    def stop(self) -> None:
        """Workers first, the broker last, so that each can say goodbye."""
        for process in reversed(self._processes.values()):
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS)
        for process in self._processes.values():
            process.kill()
            process.wait()
        self._processes.clear()

    def _log(self, name: str) -> Path:
        return self._root / f"{name}.log"

    def _spawn(self, name: str, *arguments: str) -> None:
        # The command that installation put beside the interpreter, whatever PATH says.
        beskar = Path(sys.executable).with_name("beskar")
        with self._log(name).open("wb") as log:
            self._processes[name] = subprocess.Popen(
                [beskar, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )

    def _wait_for_port(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while True:
            self.check()
            with contextlib.suppress(OSError), socket.create_connection((HOST, self._port), timeout=1.0):
                return
            if time.monotonic() > end:
                raise ClusterError(f"the broker does not listen after {seconds:g} s\n{self.log_end('broker')}")
            time.sleep(0.02)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
