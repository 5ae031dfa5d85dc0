"""Daemon threads for synchronous handlers.

``concurrent.futures.ThreadPoolExecutor`` joins its threads when the interpreter ends, so that one handler that never
returns would keep a stopped worker alive for ever; daemon threads let go.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable


class DaemonThreads:
    """Runs calls, each in a thread of its own at a time; threads are kept for the next call."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._started = 0

    def submit(self, call: Callable[[], None]) -> None:
        """Run *call*, which must not raise, soon. Never waits for a free thread: the caller keeps the count."""
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
            else:
                self._started += 1
                threading.Thread(target=self._work, name=f"{self._name}-{self._started}", daemon=True).start()
        self._calls.put(call)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
            del call  # an idle thread keeps nothing of what it ran
            with self._lock:
                self._idle += 1

    def close(self) -> None:
        """Let idle threads end."""
        with self._lock:
            count = self._started
        for _ in range(count):
            self._calls.put(None)
