"""Real servers for tests, started for the occasion on loopback and removed afterwards.

A :class:`MosquittoServer` is a real Mosquitto with a configuration of its own in a temporary folder. It can be bounced,
killed, frozen and thawed, which is how the faults of a network are brought about. A missing binary is an error that
says how to get it, never a reason to skip. :class:`EmbeddedServer` is this library's own broker, on its own thread.
"""

from __future__ import annotations

import asyncio
import getpass
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import attrs

__all__ = ["EmbeddedServer", "MosquittoServer", "ServiceUnavailable", "TlsFiles", "free_port"]

_PLACES: Final = ("/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto", "/opt/homebrew/sbin/mosquitto")
_START: Final = 10.0  # seconds until a server must answer, and until it must have ended


class ServiceUnavailable(Exception):
    """A server that a test needs is not installed, or does not start."""


@attrs.frozen
class TlsFiles:
    """PEM files of a server: its certificate and key; with *ca*, clients must show a certificate signed by it."""

    cert: Path
    key: Path
    ca: Path | None = None


def free_port() -> int:
    """A TCP port on loopback that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class MosquittoServer(AbstractContextManager["MosquittoServer"]):
    """A Mosquitto on a free loopback port; starts at once, and stops at the end of the ``with`` block.

    Args:
        tls: adds a TLS listener (``tls_url``).
        websocket: adds a WebSocket listener (``websocket_url``).
        unix: adds a Unix domain socket (``unix_url``).
        user: ``(name, password)``; without it everybody is let in.
        settings: further lines of ``mosquitto.conf``, before the listeners.

    The queue of messages for a slow subscriber is raised from Mosquitto's 1000, past which it drops silently, and
    ``TCP_NODELAY`` is on. Nothing is persisted: after :meth:`restart` retained messages are gone.

    Raises:
        ServiceUnavailable: not installed, or it does not start.
    """

    def __init__(
        self,
        *,
        tls: TlsFiles | None = None,
        websocket: bool = False,
        unix: bool = False,
        user: tuple[str, str] | None = None,
        settings: tuple[str, ...] = (),
    ) -> None:
        self._binary = _find_mosquitto()
        self._folder = Path(tempfile.mkdtemp(prefix="beskar-mosquitto-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._ports = [free_port() for _ in range(3)]
        self._listening = [self._ports[0]]
        self._socket = self._folder / "broker.sock"
        lines = [
            "max_queued_messages 1000000",
            "max_queued_bytes 0",
            "set_tcp_nodelay true",
            "persistence false",
            # Started by root it would change to a user of its own, who cannot write into the temporary folder.
            f"user {getpass.getuser()}",
            "log_type error",
            "log_type warning",
            *settings,
        ]
        if user is None:
            lines.append("allow_anonymous true")
        else:
            lines += ["allow_anonymous false", f"password_file {self._password_file(*user)}"]
        lines.append(f"listener {self._ports[0]} 127.0.0.1")
        if tls is not None:
            lines += [f"listener {self._ports[1]} 127.0.0.1", f"certfile {tls.cert}", f"keyfile {tls.key}"]
            if tls.ca is not None:
                lines += [f"cafile {tls.ca}", "require_certificate true"]
            self._listening.append(self._ports[1])
        if websocket:
            self._listening.append(self._ports[2])
            lines += [f"listener {self._ports[2]} 127.0.0.1", "protocol websockets"]
        if unix:
            lines.append(f"listener 0 {self._socket}")
        self._config = self._folder / "mosquitto.conf"
        self._config.write_text("\n".join(lines) + "\n")
        self.start()

    @property
    def url(self) -> str:
        """``mqtt://127.0.0.1:port``, without the account."""
        return f"mqtt://127.0.0.1:{self._ports[0]}"

    @property
    def tls_url(self) -> str:
        return f"mqtts://localhost:{self._ports[1]}"

    @property
    def websocket_url(self) -> str:
        return f"ws://127.0.0.1:{self._ports[2]}/mqtt"

    @property
    def unix_url(self) -> str:
        return f"mqtt+unix://{self._socket}"

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        return self._running().pid

    def start(self) -> None:
        """Start, unless it runs; return when it answers."""
        if self._process is not None:
            return
        log = self._folder / "mosquitto.log"
        with log.open("ab") as sink:
            process = subprocess.Popen([self._binary, "-c", self._config], stdout=sink, stderr=sink)
        self._process = process
        answers = _until(lambda: process.poll() is not None or all(map(_answers, self._listening)))
        if not answers or process.poll() is not None:
            self.kill()
            raise ServiceUnavailable(f"mosquitto does not start: {log.read_text(errors='replace').strip()}")

    def stop(self) -> None:
        """End it in order, and remove its files; harmless if it has ended."""
        self._end(signal.SIGTERM)
        shutil.rmtree(self._folder, ignore_errors=True)

    def kill(self) -> None:
        """End it without warning; :meth:`start` brings it back, on the same port and empty."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        self._end(signal.SIGTERM)
        self.start()

    def pause(self) -> None:
        """Freeze it: connections stay open and nobody answers."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._running().send_signal(signal.SIGCONT)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def __enter__(self) -> Self:
        return self

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGCONT)  # a frozen process does not heed SIGTERM
        process.send_signal(number)
        try:
            process.wait(_START)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_START)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise ServiceUnavailable("mosquitto is not running; start() it first")
        return self._process

    def _password_file(self, name: str, password: str) -> Path:
        tool = shutil.which("mosquitto_passwd")
        if tool is None:
            raise ServiceUnavailable("mosquitto_passwd is missing; it comes with the package 'mosquitto'")
        path = self._folder / "passwords"
        subprocess.run([tool, "-b", "-c", path, name, password], check=True, capture_output=True, timeout=_START)
        return path


class EmbeddedServer(AbstractContextManager["EmbeddedServer"]):
    """An :class:`~beskar_jobs.broker.EmbeddedBroker` on an event loop and a thread of its own; starts at once.

    So it serves tests that run an event loop each, or none, and goes on while one of theirs is blocked.
    """

    def __init__(self) -> None:
        from beskar_jobs.broker import EmbeddedBroker  # noqa: PLC0415  # its codec is an extra

        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="embedded-broker", daemon=True)
        self._thread.start()
        self._broker = EmbeddedBroker()
        self.start()

    @property
    def url(self) -> str:
        """``mqtt://127.0.0.1:port``; the port stays the same over :meth:`kill` and :meth:`start`."""
        return self._broker.url

    def start(self) -> None:
        """Listen, unless it does."""
        self._run(self._broker.start())

    def kill(self) -> None:
        """Close every connection and listen no more; :meth:`start` brings it back, empty."""
        self._run(self._broker.stop())

    def stop(self) -> None:
        """End it for good; harmless if it has ended."""
        if self._loop.is_closed():
            return
        self.kill()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_START)
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_START)


def _find_mosquitto() -> str:
    for candidate in (shutil.which("mosquitto"), *_PLACES):
        if candidate is not None and Path(candidate).exists():
            return candidate
    raise ServiceUnavailable(
        "mosquitto is not installed; get it with 'apt-get install mosquitto', 'brew install mosquitto' or the like"
    )


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def _until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + _START
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
