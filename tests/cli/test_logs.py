"""Lines of the log, as people and machines read them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from beskar_jobs.cli.logs import set_up_logs
from beskar_jobs.cli.options import Logs


@pytest.fixture(autouse=True)
def root_logger_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def log_of_a_job(*, json_logs: bool, capsys: pytest.CaptureFixture[str]) -> str:
    set_up_logs(Logs(log_level="info", json_logs=json_logs))
    extra = {"job_id": "j1", "job_type": "a.b", "attempt": 2, "paths": {"never", "plain JSON"}}
    logging.getLogger("beskar_jobs.job.a.b").info("half of it", extra=extra)
    return capsys.readouterr().err


def test_json_lines_carry_what_the_record_carries(capsys: pytest.CaptureFixture[str]) -> None:
    line = json.loads(log_of_a_job(json_logs=True, capsys=capsys))
    assert {"job_id": "j1", "job_type": "a.b", "attempt": 2, "message": "half of it"}.items() <= line.items()
    assert set(line) == {"time", "level", "logger", "message", "job_id", "job_type", "attempt", "paths"}


def test_lines_for_people_tell_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert log_of_a_job(json_logs=False, capsys=capsys).endswith("beskar_jobs.job.a.b: half of it (job j1)\n")
