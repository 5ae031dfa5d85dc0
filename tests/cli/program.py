"""The command as a user runs it: a real process, its output read as it comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

BESKAR = str(Path(sys.executable).with_name("beskar"))
PATIENCE = 40.0
"""Seconds for what takes one, on a machine that is busy with other things."""


def environment(**settings: str) -> dict[str, str]:
    """This process's environment with exactly *settings* of ours (``broker=…`` is ``BESKAR_BROKER``)."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("BESKAR_")}
    return {**clean, **{f"BESKAR_{name.upper()}": value for name, value in settings.items()}}


def beskar(
    *arguments: str, folder: Path | None = None, env: Mapping[str, str] | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run ``beskar`` to its end."""
    return subprocess.run(
        [BESKAR, *arguments],
        cwd=folder,
        env=environment() if env is None else env,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


class Program(AbstractContextManager["Program"]):
    """``beskar`` running; its lines can be waited for. It is killed at the end of the ``with`` block."""

    def __init__(self, *arguments: str, folder: Path | None = None, env: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [BESKAR, *arguments],
            cwd=folder,
            env=environment() if env is None else env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._news = threading.Condition()
        self.lines: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._readers = [threading.Thread(target=self._read, args=[name], daemon=True) for name in self.lines]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stderr(self) -> str:
        return "\n".join(self.lines["stderr"])

    def wait_for(self, text: str, stream: str = "stderr", times: int = 1) -> str:
        """The line with *text*, as soon as *times* of them are there; the last of them."""
        deadline = time.monotonic() + PATIENCE
        with self._news:
            while True:
                found = [line for line in self.lines[stream] if text in line]
                if len(found) >= times:
                    return found[times - 1]
                left = deadline - time.monotonic()
                ended = self._process.poll() is not None and not any(reader.is_alive() for reader in self._readers)
                assert left > 0, f"no {text!r} (x{times}) on {stream}; there is {self.lines}"
                assert not ended, f"ended ({self._process.returncode}) without {text!r} (x{times}); said {self.lines}"
                self._news.wait(min(left, 1.0))

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self) -> int:
        """Its exit code, once it has ended by itself."""
        code = self._process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return code

    def stop(self) -> int:
        """Ask it to stop; its exit code."""
        self.signal(signal.SIGTERM)
        return self.end()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self.end()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()

    def _read(self, name: str) -> None:
        stream = self._process.stdout if name == "stdout" else self._process.stderr
        assert stream is not None
        for line in stream:
            with self._news:
                self.lines[name].append(line.rstrip("\n"))
                self._news.notify_all()
