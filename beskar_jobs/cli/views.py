"""What people see: tables, a job in full, a job's progress.

Texts that come from handlers (messages, errors) are shown without their control characters, which could move the
cursor or worse, and never read as markup.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from beskar_jobs.cli.plain import as_line, value_json
from beskar_jobs.model.details import JobDetails, QueueDetails
from beskar_jobs.model.job import JobStatus
from beskar_jobs.model.presence import WorkerHeartbeat
from beskar_jobs.model.recurring import RecurringDefinition, RecurringJob
from beskar_jobs.model.updates import JobStatusUpdate

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_COLOURS: Final = {
    JobStatus.SUCCEEDED: "green",
    JobStatus.DEAD_LETTERED: "red",
    JobStatus.CANCELLED: "yellow",
    JobStatus.RUNNING: "cyan",
}
_SHORT: Final = {JobStatus.DEAD_LETTERED: "dead"}
"""Heads of columns, so that a table of all statuses is at most 80 columns wide."""
WIDE: Final = 1000
"""Columns where there is no terminal to fold lines for."""


def printable(text: str) -> str:
    """*text* with its control characters shown as what they are; lines stay lines."""
    return _CONTROL.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def output() -> Console:
    """Standard output: folded to a terminal, whole lines for a file or a pipe."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)


def show_jobs(jobs: Sequence[JobDetails]) -> None:
    """A line each; the column of recurring entries is there only if one of *jobs* comes from such an entry."""
    origins = [_origin(job) for job in jobs]
    rows = [
        [
            Text(job.job_id),
            Text(printable(job.job_type)),
            Text(printable(job.queue)),
            _status(job.update),
            Text(str(job.update.attempt)),
            Text(_clock(job.created_at)),
            Text(_clock(job.finished_at)),
            *([Text(printable(origin))] if any(origins) else []),
        ]
        for job, origin in zip(jobs, origins, strict=True)
    ]
    heads = ("id", "type", "queue", "status", "attempt", "enqueued", "finished")
    _table((*heads, "recurring") if any(origins) else heads, rows, "no jobs match")


def _origin(job: JobDetails) -> str:
    """The recurring entry that made *job*: the scheduler notes its name along with the instant."""
    return job.metadata.get("recurring", "") if "instant" in job.metadata else ""


def show_workers(workers: Sequence[WorkerHeartbeat]) -> None:
    rows = [
        [
            Text(printable(worker.worker_id)),
            Text(f"{worker.active}/{worker.max_concurrency}"),
            Text(printable(", ".join(worker.queues)) or "all"),
            Text(printable(", ".join(sorted(worker.job_types))) or "all"),
            Text("stopping" if worker.draining else "online"),
        ]
        for worker in workers
    ]
    _table(("worker", "busy", "queues", "job types", "state"), rows, "no worker is online; start one: beskar worker")


def show_queues(queues: Sequence[QueueDetails]) -> None:
    statuses = list(JobStatus)
    rows = [
        [
            Text(printable(queue.queue)),
            Text(str(queue.workers)),
            *(Text(str(queue.counts.get(status, 0))) for status in statuses),
        ]
        for queue in queues
    ]
    heads = ("queue", "workers", *(_SHORT.get(status, status.value) for status in statuses))
    _table(heads, rows, "no queue has jobs", fold_first=True)


def show_recurring(entries: Sequence[RecurringJob]) -> None:
    rows = [
        [
            Text(printable(entry.name)),
            Text(printable(_schedule(entry.definition))),
            Text(printable(entry.definition.job_type)),
            Text(printable(entry.definition.queue)),
            Text(printable(entry.problem), style="red") if entry.problem else Text(_next(entry)),
            Text("never" if entry.last is None else f"{_clock(entry.last.instant)} {entry.last.outcome.value}"),
        ]
        for entry in entries
    ]
    nothing = "no recurring job is there; add one: beskar recurring add"
    _table(("name", "schedule", "type", "queue", "next", "last"), rows, nothing)


def _schedule(definition: RecurringDefinition) -> str:
    """The schedule, with the zone that counts for it: an interval has none."""
    interval = definition.schedule.startswith("@every")
    return definition.schedule if interval else f"{definition.schedule} {definition.time_zone}"


def _next(entry: RecurringJob) -> str:
    return "paused" if entry.paused else _clock(entry.next_at) or "never"


def show_job(job: JobDetails, explanation: str) -> None:
    """All that is known of *job*, the sentence that answers most questions first."""
    console = output()
    console.print(Text(printable(explanation), style=_COLOURS.get(job.status, "")), soft_wrap=True)
    console.print()
    failure = job.update.failure
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    for name, value in (
        ("id", job.job_id),
        ("type", job.job_type),
        ("queue", job.queue),
        ("status", _state(job.update)),
        ("priority", str(job.priority)),
        ("attempts", f"{job.update.attempt} ({job.failures} failed, {job.crashes} crashed)"),
        ("worker", job.update.worker_id),
        ("enqueued", _clock(job.created_at)),
        ("due", _clock(job.due_at)),
        ("started", _clock(job.started_at)),
        ("finished", _clock(job.finished_at)),
        ("metadata", ", ".join(f"{key}={value}" for key, value in job.metadata.items())),
        ("arguments", as_line(value_json(job.arguments))),
        ("result", as_line(value_json(job.update.result)) if job.update.result is not None else ""),
        ("error", "" if failure is None else failure.summary),
    ):
        if value:
            facts.add_row(name, Text(printable(value)))
    console.print(facts)
    if failure is not None and failure.traceback:
        console.print()
        console.print(Text(printable(failure.traceback.rstrip())), soft_wrap=True)


class StatusView:
    """A job's states as they come, on standard error: a bar on a terminal, else a line for each change."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._told = ""
        self._remark = ""
        if self._console.is_terminal:
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[note]}"),
            )
            self._bar = Progress(*columns, TimeElapsedColumn(), console=self._console)

    def __enter__(self) -> StatusView:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, update: JobStatusUpdate) -> None:
        note = printable(update.message or update.reason).replace("\n", " ")
        if self._bar is None:
            percent = "" if update.percent is None else f"{update.percent:g} %"
            line = "  ".join(part for part in (_state(update), percent, note) if part)
            if line != self._told:
                self._told = line
                print(line, file=sys.stderr, flush=True)  # noqa: T201  # for people and log files
            return
        total = None if update.percent is None and not update.status.is_terminal else 100.0
        done = 100.0 if update.status is JobStatus.SUCCEEDED else update.percent or 0.0
        description = f"{printable(update.job_type)} {_state(update)}".replace("[", r"\[")
        note = note.replace("[", r"\[")
        if self._task is None:
            self._task = self._bar.add_task(description, note=note)
        self._bar.update(self._task, description=description, total=total, completed=done, note=note)

    def say(self, text: str) -> None:
        """Put a remark above the bar, or on a line of its own; the same one twice in a row is told once."""
        if text != self._remark:
            self._remark = text
            if self._bar is None:
                print(printable(text), file=sys.stderr, flush=True)  # noqa: T201
            else:
                self._console.print(Text(printable(text)), soft_wrap=True)


def _table(heads: Iterable[str], rows: Sequence[Sequence[Text]], nothing: str, *, fold_first: bool = False) -> None:
    """Show *rows*; a narrow terminal folds cells, but no heads: all but the first, or *fold_first*, that alone."""
    if not rows:
        print(nothing, file=sys.stderr)  # noqa: T201  # a remark, not output
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0 if fold_first else 1))
    for position, head in enumerate(heads):
        table.add_column(head, min_width=len(head), no_wrap=(position == 0) is not fold_first, overflow="fold")
    for row in rows:
        table.add_row(*row)
    output().print(table)


def _state(update: JobStatusUpdate) -> str:
    waits = f" (waits for {update.waiting_for.value})" if update.waiting_for is not None else ""
    return update.status.value + waits


def _status(update: JobStatusUpdate) -> Text:
    return Text(_state(update), style=_COLOURS.get(update.status, ""))


def _clock(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
