"""The thread of a worker's engine, and the event loop on it.

The loop ends when it is asked to, or dies: user code of the same process may close the loop's file descriptors, and
``SystemExit`` in a callback leaves the loop. A worker without its engine does nothing and says nothing, so a death is
told at once: to the owner, and to everybody who waits for work on the loop, who would wait for ever.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from beskar_jobs.model.errors import BeskarError

logger: Final = logging.getLogger("beskar_jobs.worker")

T = TypeVar("T")


class EngineThread:
    """Starts with the first call.

    Args:
        name: of the thread.
        on_death: called on the thread when its loop has died, with the reason.

    Attributes:
        loop: the event loop; of its methods other threads use ``call_soon_threadsafe`` only.
        died: the reason, once the loop has died.
    """

    def __init__(self, name: str, on_death: Callable[[BeskarError], object]) -> None:
        self.loop = asyncio.new_event_loop()
        self.died: BeskarError | None = None
        self._on_death = on_death
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._calls: set[concurrent.futures.Future[Any]] = set()

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run *work* on the thread, and wait for it here.

        Raises:
            BeskarError: the loop has died.
        """
        return await asyncio.wrap_future(self.submit(work))

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run *work* on the thread; the future fails if the loop has died, or dies meanwhile."""
        if self.died is not None:
            work.close()
            raise self.died
        if not self._thread.is_alive():
            self._thread.start()
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        self._calls.add(future)
        future.add_done_callback(self._calls.discard)
        if self.died is not None:  # between the first look and now
            self._fail_calls(self.died)
        return future

    def end(self) -> None:
        """End the thread."""
        if self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # it has just died, and its loop is closed
                self.loop.call_soon_threadsafe(self.loop.stop)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        except BaseException as error:  # nobody above could see even SystemExit: it would end this thread silently
            self._die(error)
        finally:
            with contextlib.suppress(OSError):  # its file descriptors may be what is gone
                self.loop.close()

    def _die(self, error: BaseException) -> None:
        name = self._thread.name
        logger.error("the event loop of %s died", name, exc_info=error)
        problem = BeskarError(
            f"the event loop of {name} died of {type(error).__name__}: {error}; this worker can do nothing more. "
            "Start it again; if that was a bad file descriptor, a handler closes files that are not its own"
        )
        problem.__cause__ = error
        self.died = problem
        self._fail_calls(problem)
        self._on_death(problem)
        # What was closed just now is only closed by a turn of the loop, if it still turns.
        with contextlib.suppress(BaseException):
            self.loop.call_soon(self.loop.stop)
            self.loop.run_forever()

    def _fail_calls(self, problem: BeskarError) -> None:
        for call in tuple(self._calls):
            with contextlib.suppress(concurrent.futures.InvalidStateError):
                call.set_exception(problem)
