"""Shows jobs as they go: moving bars on a terminal, one line per change of status where there is none (a CI log)."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from beskar_jobs import JobStatus


class Board:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._started = time.monotonic()
        self._rows: dict[str, TaskID] = {}
        self._shown: dict[str, tuple[JobStatus, str]] = {}
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[status]} {task.fields[worker]}"),
            console=console,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        self._console.print(f"{time.monotonic() - self._started:6.2f} s  {text}", highlight=False, markup=False)

    def show(self, name: str, status: JobStatus, percent: float, worker: str) -> None:
        if status is JobStatus.SUCCEEDED:
            percent = 100.0
        if not self._console.is_terminal:
            # That a new job is in its queue is no news, that it is there again is.
            news = name in self._shown or status is not JobStatus.ENQUEUED
            if news and self._shown.get(name) != (status, worker):
                self.say(f"{name:<18} {status:<10} {worker}")
            self._shown[name] = (status, worker)
            return
        if name not in self._rows:
            self._rows[name] = self._progress.add_task(name, total=100.0, status="", worker="")
        self._progress.update(self._rows[name], completed=percent, status=status, worker=worker)
