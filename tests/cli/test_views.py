"""Tables on a narrow terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from beskar_jobs.cli import views
from beskar_jobs.model.details import QueueDetails
from beskar_jobs.model.job import JobStatus


def test_the_heads_of_the_queue_table_are_whole_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(views, "output", lambda: Console(file=file, width=80, highlight=False))
    name = "reports-of-the-finance-department-nightly"
    views.show_queues([QueueDetails(name, dict.fromkeys(JobStatus, 123_456), workers=12)])
    heads, *rows = file.getvalue().splitlines()
    assert heads.split() == [
        *("queue", "workers", "scheduled", "enqueued", "dispatched", "running", "succeeded", "dead", "cancelled")
    ]
    assert max(len(line.rstrip()) for line in [heads, *rows]) <= 80
    assert "".join(row.split()[0] for row in rows) == name
