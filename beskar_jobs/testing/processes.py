"""Processes of a test: started, waited for, killed, frozen and thawed.

A fault test is worth most where the part that dies is a process of its own: only then the kernel closes its sockets,
and nothing of it is left to tidy up. A :class:`PartProcess` runs a Python program that prints one line when it is
ready.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from beskar_jobs.testing.services import ServiceUnavailable

__all__ = ["PartProcess"]

_START: Final = 30.0
_END: Final = 10.0


class PartProcess:
    """A Python program as a child process; ends, at the latest, with the ``async with`` block.

    Args:
        arguments: what follows ``python``: a script or ``-m module``, and its arguments.
        log: where its standard error goes; it is shown when the program does not start.
        env: variables of its environment, in addition to those of this process.
        cwd: its working directory.
    """

    def __init__(
        self, arguments: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        self._arguments = arguments
        self._log = log
        self._env = {**os.environ, **(env or {})}
        self._cwd = cwd
        self._process: asyncio.subprocess.Process | None = None
        self.first_line = ""

    @property
    def pid(self) -> int:
        """Process id of the running program."""
        return self._running().pid

    async def start(self) -> None:
        """Start it, and wait until it has printed its first line, kept as ``first_line``.

        Raises:
            ServiceUnavailable: it ended, or said nothing in time; with what it wrote to standard error.
        """
        with self._log.open("ab") as sink:
            process = self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *self._arguments,
                stdout=asyncio.subprocess.PIPE,
                stderr=sink,
                env=self._env,
                cwd=self._cwd,
            )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(_START):
                line = await process.stdout.readline()
        except TimeoutError:
            line = b""
        if not line:
            await self.kill()
            raise ServiceUnavailable(f"{self._arguments} does not start: {self._log.read_text(errors='replace')}")
        self.first_line = line.decode().strip()

    async def kill(self) -> None:
        """SIGKILL, and wait for its end; harmless if it has ended."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """SIGTERM, and wait for its end; SIGKILL after some seconds."""
        await self._end(signal.SIGTERM)

    def pause(self) -> None:
        """Freeze it: its sockets stay open, and it does nothing."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._running().send_signal(signal.SIGCONT)

    async def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                # Not by the process's own send_signal, which may take the exit status away from the loop's watcher.
                os.kill(process.pid, number)
                if number != signal.SIGKILL:
                    os.kill(process.pid, signal.SIGCONT)  # a frozen process heeds nothing else
        try:
            async with asyncio.timeout(_END):
                await process.communicate()
        except TimeoutError:
            process.kill()
            await process.communicate()

    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise ServiceUnavailable(f"{self._arguments} is not running; start() it first")
        return self._process

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.kill()
