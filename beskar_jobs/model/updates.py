"""What the engine tells the world about a job: the payload of the retained ``status/{jobId}`` topic."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import attrs

from beskar_jobs.model.job import JobFailure, JobId, JobStatus, WaitingFor

PROGRESS_BITS: Final = 20
"""A version leaves room for about a million progress reports; further ones share the last number and are dropped."""


def update_sequence(version: int, progress: int) -> int:
    """The one number that orders all updates of a job: version first, progress reports within a version after."""
    return (version << PROGRESS_BITS) | min(progress, (1 << PROGRESS_BITS) - 1)


@attrs.frozen
class JobStatusUpdate:
    """One state of a job, as watched from outside.

    Attributes:
        sequence: grows with each update of a job; an update with a lower one is stale.
        percent: 0 to 100, as the handler last reported in this attempt.
        result: the result as the serializer wrote it; ``None`` if there is none, or if ``result_omitted``.
        result_omitted: the result is too large for a status message; ask the scheduler for it.
    """

    job_id: JobId
    job_type: str
    queue: str
    status: JobStatus
    sequence: int
    attempt: int
    updated_at: datetime
    waiting_for: WaitingFor | None = None
    percent: float | None = None
    message: str = ""
    reason: str = ""
    worker_id: str = ""
    result: bytes | None = None
    result_omitted: bool = False
    failure: JobFailure | None = None

    @property
    def progress_percent(self) -> float | None:
        """The same as :attr:`percent`."""
        return self.percent
