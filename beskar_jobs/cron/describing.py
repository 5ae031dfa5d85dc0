"""A schedule in plain English."""

from __future__ import annotations

from beskar_jobs.cron.every import Every
from beskar_jobs.cron.pattern import Pattern


def describe(text: str, rule: Pattern | Every) -> str:
    return f"At the times of {text}."
