"""Logs of the long-running commands: to standard error, for people (a terminal), for files, or as JSON lines.

The handler is put on the root logger before a user's modules are imported: what they log is seen too, and their own
``logging.basicConfig()`` finds a handler and leaves it be. What a record carries besides its message (``extra=``; a
job's own logger gives ``job_id``, ``job_type`` and ``attempt``) becomes members of the JSON object; for people the job
stands behind the message.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final

import typer

from beskar_jobs.cli.options import Logs

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


_OF_EVERY_RECORD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


def set_up_logs(logs: Logs) -> None:
    """Log as *logs* says."""
    level = LEVELS.get(logs.log_level.lower())
    if level is None:
        raise typer.BadParameter(f"{logs.log_level!r} is not one of {', '.join(LEVELS)}", param_hint="'--log-level'")
    logging.basicConfig(level=level, handlers=[_handler(as_json=logs.json_logs)], force=True)


def _handler(*, as_json: bool) -> logging.Handler:
    if not as_json and sys.stderr.isatty():
        from rich.console import Console  # noqa: PLC0415  # slow to load, and files do without it
        from rich.highlighter import NullHighlighter  # noqa: PLC0415
        from rich.logging import RichHandler  # noqa: PLC0415

        console = Console(stderr=True)
        rich = RichHandler(console=console, show_path=False, highlighter=NullHighlighter(), log_time_format="%X")
        rich.setFormatter(_TextFormatter("%(message)s"))
        return rich
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        _JsonFormatter() if as_json else _TextFormatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    )
    return handler


class _TextFormatter(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's own name
        text = super().formatMessage(record)
        job_id = getattr(record, "job_id", None)
        return text if job_id is None else f"{text} (job {job_id})"


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            **{name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD},
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)
