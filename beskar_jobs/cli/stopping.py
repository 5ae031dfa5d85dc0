"""Signals: the first SIGTERM or SIGINT stops in order, the second ends the process at once.

A handler of the same signal that a user's module has installed is called as well, before anything stops; if it raises
``SystemExit``, it wants what we are about to do, and the stop goes on in order. So that a handler that is installed
later, while handlers are built, does not take our place, :meth:`StopSignals.install` is called again after the start.

Stopping in order has a bound, also where a handler blocks the event loop, or a thread that it left behind does not end:
a watching thread then ends the process. Its presence goes with it, so that its jobs start again elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, Final, Protocol, TypeVar

logger: Final = logging.getLogger("beskar_jobs.cli")
T = TypeVar("T")

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
BLOCKED_AFTER: Final = 2.0
"""Seconds until a signal that the event loop has not heard of is told to be stuck."""
STOP_MARGIN: Final = 10.0
"""Seconds for all of a stop but the time that running jobs are given."""


class Service(Protocol):
    async def start(self) -> None: ...

    async def stop(self) -> None: ...


class StopSignals:
    """Made on the event loop of the main thread; :attr:`asked` is set when the process is to stop.

    Args:
        stop_within: seconds after the first signal in which the process has to end.
        at_once: called before the process is ended out of order.
    """

    def __init__(self, stop_within: float, at_once: Callable[[], None] = lambda: None) -> None:
        self.asked = asyncio.Event()
        self.stopped = False
        self._stop_within = stop_within
        self._at_once = at_once
        self._loop = asyncio.get_running_loop()
        self._signals = 0
        self._signalled = threading.Event()
        self._heard = threading.Event()
        self._hooks: dict[int, Callable[[int, FrameType | None], Any]] = {}
        threading.Thread(target=self._watch, name="beskar-stop", daemon=True).start()

    def install(self) -> None:
        """Take the signals; whoever had them before is called along."""
        for number in SIGNALS:
            before = signal.getsignal(number)
            if before == self._on_signal:
                continue
            if callable(before) and before is not signal.default_int_handler:
                self._hooks[number] = before
            signal.signal(number, self._on_signal)

    def stop_when_parent_ends(self) -> None:
        """Standard input is a pipe from the parent: its end, on purpose or not, asks for the stop."""
        threading.Thread(target=self._read_to_the_end, name="beskar-parent", daemon=True).start()

    def _read_to_the_end(self) -> None:
        while os.read(0, 4096):
            pass
        self._signalled.set()
        try:
            self._loop.call_soon_threadsafe(self._ask, "the group stops, or is gone: stopping")
        except RuntimeError:
            logger.debug("the parent ended after the event loop")

    def _watch(self) -> None:
        self._signalled.wait()
        if not self._heard.wait(BLOCKED_AFTER):
            _say("cannot stop yet: a handler blocks the event loop (it does slow work without await)")
        time.sleep(self._stop_within)
        if not self.stopped:
            _say(f"has not stopped within {self._stop_within:g} s and is ended; unfinished jobs start again elsewhere")
        self._at_once()
        os._exit(0 if self.stopped else 1)

    def _ask(self, why: str) -> None:
        self._heard.set()
        if not self.asked.is_set():
            logger.info("%s", why)
            self.asked.set()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
        name = signal.Signals(number).name
        if self._signals > 1:
            _say(f"{name} again: ending at once")
            self._at_once()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        self._signalled.set()
        self._loop.call_soon_threadsafe(self._ask, f"{name}: stopping; the same once more ends at once")
        hook = self._hooks.get(number)
        if hook is not None:
            try:
                hook(number, frame)
            except (SystemExit, KeyboardInterrupt):
                logger.debug("the program's own handler of %s wants to exit", name)
            except Exception:
                logger.exception("the program's own handler of %s failed", name)


def _say(text: str) -> None:
    """Write to standard error past everything that may be locked, or blocked, at this moment."""
    os.write(2, f"beskar: {text}\n".encode())


def run_serving(work: Coroutine[Any, Any, T]) -> T:
    """Run *work* on an event loop; as :func:`asyncio.run`, which would take SIGINT for itself."""
    with asyncio.Runner() as runner:
        return runner.get_loop().run_until_complete(work)


async def serve(
    service: Service,
    *,
    ready: Callable[[], None] | None = None,
    wait: Callable[[], Coroutine[Any, Any, None]] | None = None,
    until_parent_ends: bool = False,
    stop_grace: float = 0.0,
) -> None:
    """Run *service* until a signal asks it to stop, or *wait* ends.

    Args:
        ready: called when the service has started.
        wait: ends (with an error) when the service must stop by itself.
        until_parent_ends: standard input is a pipe from the parent; its end asks to stop, too.
        stop_grace: seconds that the service gives to what it runs, before it stops.

    Raises:
        BeskarError: the service could not start, or had to stop.
    """
    signals = StopSignals(stop_grace + STOP_MARGIN)
    signals.install()
    if until_parent_ends:
        signals.stop_when_parent_ends()
    asked = asyncio.create_task(signals.asked.wait())
    starting = asyncio.create_task(service.start())
    try:
        await asyncio.wait({asked, starting}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            await asyncio.wait({starting})
            return
        await starting
        signals.install()
        if ready is not None:
            ready()
        try:
            if wait is None:
                await asked
            else:
                ended = asyncio.create_task(wait())
                await asyncio.wait({asked, ended}, return_when=asyncio.FIRST_COMPLETED)
                if ended.done():
                    await ended
                ended.cancel()
        finally:
            await service.stop()
    finally:
        signals.stopped = True
        asked.cancel()
