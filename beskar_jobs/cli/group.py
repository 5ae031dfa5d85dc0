"""Several worker processes under one command.

Each is a fresh Python process that imports the modules itself: nothing of the parent, neither threads nor connections,
is inherited. Its standard input is a pipe from the parent, and the pipe's end tells it to stop; so workers also stop
when the parent is killed, and a signal sent to the whole group (Ctrl-C, or a service manager) reaches each of them
once and not twice.

A process that dies (by a signal, or with a code other than 1 and 2) is started again: at once, and then after pauses
that double up to :data:`LONGEST_PAUSE`. One that ends with an error of its own (1) or wrong use (2) would only do so
again: it ends the group, whose exit code is 1.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Final

from beskar_jobs.cli.stopping import STOP_MARGIN, StopSignals
from beskar_jobs.model.errors import BeskarError

logger: Final = logging.getLogger("beskar_jobs.cli")

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 30.0
STEADY_AFTER: Final = 60.0
"""Seconds after which a process counts as running well, and its pauses start anew."""
KILL_MARGIN: Final = 5.0
"""Seconds beyond its own bound that a process has to end before it is killed."""


class WorkerGroup:
    """*count* workers named *name*-1 and on.

    Args:
        arguments: of ``beskar worker``, for each of them.
        environment: set for each of them.
        stop_grace: seconds that running jobs have when the group stops.
    """

    def __init__(
        self, name: str, count: int, arguments: Sequence[str], environment: Mapping[str, str], *, stop_grace: float
    ) -> None:
        self._names = [f"{name}-{number}" for number in range(1, count + 1)]
        self._arguments = list(arguments)
        self._environment = {**os.environ, **environment, "BESKAR_PROCESSES": "1"}
        self._stop_timeout = stop_grace + STOP_MARGIN + KILL_MARGIN
        self._running: set[asyncio.subprocess.Process] = set()

    async def run(self) -> None:
        """Run until a signal asks to stop.

        Raises:
            BeskarError: a worker ended with an error that a new start would not mend.
        """
        signals = StopSignals(self._stop_timeout + KILL_MARGIN, at_once=self._kill_all)
        signals.install()
        workers = [asyncio.create_task(self._keep(name, signals.asked)) for name in self._names]
        logger.info("worker group of %d processes started, %s to %s", len(workers), self._names[0], self._names[-1])
        try:
            await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            signals.asked.set()
            ends = await asyncio.gather(*workers, return_exceptions=True)
            signals.stopped = True
        for end in ends:
            if isinstance(end, BaseException):
                raise end

    async def _keep(self, name: str, asked: asyncio.Event) -> None:
        """Keep the worker *name* running until *asked* is set."""
        pause = 0.0
        while not asked.is_set():
            started = time.monotonic()
            code = await self._run_once(name, asked)
            if asked.is_set():
                return
            if code in (1, 2):
                raise BeskarError(f"worker {name} ended with an error (above); the other processes are stopped")
            if time.monotonic() - started > STEADY_AFTER:
                pause = 0.0
            ended = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            logger.warning("worker %s %s; it is started again in %g s", name, ended, pause)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asked.wait(), pause)
            pause = min(max(FIRST_PAUSE, 2 * pause), LONGEST_PAUSE)

    async def _run_once(self, name: str, asked: asyncio.Event) -> int:
        """Run a process to its end, and return its exit code."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "beskar_jobs.cli", "worker", "--in-group", "--worker-id", name, *self._arguments),
            stdin=asyncio.subprocess.PIPE,
            env=self._environment,
        )
        self._running.add(process)
        ending = asyncio.create_task(process.wait())
        stopping = asyncio.create_task(asked.wait())
        try:
            await asyncio.wait({ending, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not ending.done():
                assert process.stdin is not None
                process.stdin.close()
                await asyncio.wait({ending}, timeout=self._stop_timeout)
        finally:
            stopping.cancel()
            if process.returncode is None:
                logger.warning("worker %s did not end in time and is killed", name)
                process.kill()
        code = await ending
        self._running.discard(process)
        return code

    def _kill_all(self) -> None:
        for process in self._running:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
