"""A job in full, as a client gets it when it asks for one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import attrs

from beskar_jobs.model.job import JobId, JobStatus, WaitingFor
from beskar_jobs.model.updates import JobStatusUpdate


@attrs.frozen
class JobDetails:
    """How a job stands, and all that is known of it.

    Attributes:
        update: its state, as its watchers see it.
        sequence: its place in the order of enqueue; pages ``find``.
        arguments: as the serializer wrote them (JSON); empty if ``arguments_omitted``.
        failures, crashes: how much of its two budgets is used.
        capable_workers: workers that are online, serve its queue and know its type.
        arguments_omitted: the arguments are too large for an answer with several jobs; ``get`` the job to have them.
            For a result it is ``update.result_omitted``.
    """

    update: JobStatusUpdate
    sequence: int
    arguments: bytes
    priority: int
    failures: int
    crashes: int
    cancel_requested: bool
    created_at: datetime
    due_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    metadata: Mapping[str, str]
    capable_workers: int
    arguments_omitted: bool = False

    @property
    def job_id(self) -> JobId:
        return self.update.job_id

    @property
    def job_type(self) -> str:
        return self.update.job_type

    @property
    def queue(self) -> str:
        return self.update.queue

    @property
    def status(self) -> JobStatus:
        return self.update.status

    @property
    def waiting_for(self) -> WaitingFor | None:
        return self.update.waiting_for


@attrs.frozen
class QueueDetails:
    """How a queue stands: jobs per status, and how many workers serve it."""

    queue: str
    counts: Mapping[JobStatus, int]
    workers: int
