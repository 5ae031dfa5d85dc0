"""Cron expressions and intervals: when something happens next.

Pure: no clock, no dice; the caller brings the time. A field is a bit mask and the next match is found by bit jumps
(``pattern``); what the change of the clocks does to it stands in ``zones``, fixed intervals in ``every``, the syntax
and its bounds in ``parsing``, and what is left to croniter in ``extended``.
"""

from __future__ import annotations

from beskar_jobs.cron.schedule import CronSchedule
from beskar_jobs.model.errors import InvalidCron

__all__ = ["CronSchedule", "InvalidCron"]
