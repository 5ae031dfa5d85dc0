"""The examples of the pages on recurring jobs, and on time in tests, run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import attrs
import pytest

from beskar_jobs import HandlerRegistry, JobContext, JobHandler, job_handler
from beskar_jobs.handlers import decorator
from beskar_jobs.testing import cluster

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page: str, mark: str) -> str:
    """The Python of the page's section that *mark* is in."""
    found = re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    chosen = [block for block in found if mark in block]
    assert chosen, f"{page} has no example with {mark!r}"
    return "\n".join(chosen)


async def test_the_page_on_recurring_jobs_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = HandlerRegistry()
    monkeypatch.setattr(decorator, "default_registry", registry)
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(blocks("recurring.md", "recurring"), "recurring.md", "exec", dont_inherit=True), names)
    async with cluster(handlers=registry) as client:
        await names["set_up"](client)
        entry = await client.get_recurring("report.nightly")
        assert entry.definition.time_zone == "Europe/Berlin"


@attrs.frozen
class ReportArgs:
    pass


@job_handler("report", registry=HandlerRegistry())
class ReportJobHandler(JobHandler[ReportArgs]):
    def __init__(self, smtp: FakeSmtp) -> None:
        self._smtp = smtp

    async def execute(self, context: JobContext[ReportArgs]) -> None:
        self._smtp.sent.append("report")


@attrs.define
class FakeSmtp:
    sent: list[str] = attrs.field(factory=list)


async def test_the_example_that_lets_time_pass_runs() -> None:
    names: dict[str, Any] = {
        "__name__": "page",
        "ReportJobHandler": ReportJobHandler,
        "ReportArgs": ReportArgs,
        "fake_smtp": FakeSmtp(),
    }
    exec("import asyncio", names)
    exec(compile(blocks("testing.md", "ManualClock"), "testing.md", "exec", dont_inherit=True), names)
    await names["test_the_report_is_sent_every_night"]()
