"""Jobs as they are shown outside, and back: between the model and the items of messages."""

from __future__ import annotations

from typing import Final

import msgspec

from beskar_jobs.model.details import JobDetails
from beskar_jobs.model.job import Job, JobId, JobStatus, WaitingFor
from beskar_jobs.model.updates import JobStatusUpdate, update_sequence
from beskar_jobs.wire.messages import INLINE_RESULT_BYTES, NULL, REPLY_BYTES, JobView, StatusItem


class Progress(msgspec.Struct):
    """What the handler last reported in the current attempt; *count* numbers the reports."""

    percent: float | None = None
    message: str = ""
    count: int = 0

    def add(self, percent: float | None, message: str) -> None:
        """Take in one more report."""
        self.percent = percent
        self.message = message
        self.count += 1


NO_PROGRESS = Progress()
_OVERHEAD: Final = 600
"""Bytes of a job in a reply beside its texts, generously."""


def status_item(job: Job, progress: Progress = NO_PROGRESS, waiting_for: WaitingFor | None = None) -> StatusItem:
    """*job* as its watchers see it; *waiting_for* wins over what is stored with the job."""
    spec = job.spec
    result, omitted = NULL, False
    if job.result is not None:
        omitted = len(job.result) > INLINE_RESULT_BYTES
        result = NULL if omitted else msgspec.Raw(job.result)
    return StatusItem(
        spec.id,
        spec.job_type,
        spec.queue,
        job.status,
        update_sequence(job.version, progress.count),
        job.attempt,
        job.updated_at,
        waiting_for or job.waiting_for,
        progress.percent,
        progress.message,
        job.reason,
        "" if job.worker is None else job.worker.worker_id,
        result,
        omitted,
        job.failure,
    )


def job_view(
    job: Job, progress: Progress = NO_PROGRESS, waiting_for: WaitingFor | None = None, capable_workers: int = 0
) -> JobView:
    """*job* in full, as answered to a query."""
    spec = job.spec
    return JobView(
        id=spec.id,
        job_type=spec.job_type,
        queue=spec.queue,
        status=job.status,
        sequence=update_sequence(job.version, progress.count),
        attempt=job.attempt,
        updated_at=job.updated_at,
        created_at=spec.created_at,
        due_at=job.due_at,
        order=spec.sequence,
        arguments=msgspec.Raw(spec.arguments),
        waiting_for=waiting_for or job.waiting_for,
        percent=progress.percent,
        message=progress.message,
        reason=job.reason,
        worker_id="" if job.worker is None else job.worker.worker_id,
        result=NULL if job.result is None else msgspec.Raw(job.result),
        failure=job.failure,
        priority=spec.priority,
        failures=job.failures,
        crashes=job.crashes,
        cancel_requested=job.cancel_requested,
        started_at=job.started_at,
        finished_at=job.finished_at,
        metadata=dict(spec.metadata),
        capable_workers=capable_workers,
    )


class ReplyBudget:
    """Keeps a reply with several jobs to a size that every broker takes, whatever the jobs carry."""

    def __init__(self) -> None:
        self._left = REPLY_BYTES

    def fit(self, view: JobView) -> JobView:
        """*view*, without arguments or result where they are large or there is no room left; marked so."""
        self._left -= _OVERHEAD + len(view.message) + len(view.reason)
        self._left -= sum(len(key) + len(value) for key, value in view.metadata.items())
        if view.failure is not None:
            self._left -= len(view.failure.message) + len(view.failure.traceback)
        if not self._takes(view.arguments):
            view = msgspec.structs.replace(view, arguments=NULL, arguments_omitted=True)
        if not self._takes(view.result):
            view = msgspec.structs.replace(view, result=NULL, result_omitted=True)
        return view

    def _takes(self, value: msgspec.Raw) -> bool:
        size = len(bytes(value))
        if size > INLINE_RESULT_BYTES or size > max(self._left, len(bytes(NULL))):
            return False
        self._left -= size
        return True


def status_update(item: StatusItem | JobView) -> JobStatusUpdate:
    """What a client hands to its user."""
    has_result = item.status is JobStatus.SUCCEEDED and not item.result_omitted
    return JobStatusUpdate(
        job_id=JobId(item.id),
        job_type=item.job_type,
        queue=item.queue,
        status=item.status,
        sequence=item.sequence,
        attempt=item.attempt,
        updated_at=item.updated_at,
        waiting_for=item.waiting_for,
        percent=item.percent,
        message=item.message,
        reason=item.reason,
        worker_id=item.worker_id,
        # A view into the whole message would keep all of it in memory.
        result=bytes(item.result) if has_result else None,
        result_omitted=item.result_omitted,
        failure=item.failure,
    )


def job_details(view: JobView) -> JobDetails:
    """What a client that asked for the job hands to its user."""
    return JobDetails(
        update=status_update(view),
        sequence=view.order,
        arguments=b"" if view.arguments_omitted else bytes(view.arguments),
        priority=view.priority,
        failures=view.failures,
        crashes=view.crashes,
        cancel_requested=view.cancel_requested,
        created_at=view.created_at,
        due_at=view.due_at,
        started_at=view.started_at,
        finished_at=view.finished_at,
        metadata=view.metadata,
        capable_workers=view.capable_workers,
        arguments_omitted=view.arguments_omitted,
    )
