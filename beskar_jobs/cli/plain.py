"""Jobs, workers and queues as JSON: what ``--json`` writes. Field names are public; further ones may be added.

Times are ISO 8601 in UTC; what is not known is ``null``. Arguments and results stand as the JSON they are; large ones
are left out of lists (``arguments_omitted``, ``result_omitted``), and are told with the one job.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from beskar_jobs.model.details import JobDetails, QueueDetails
from beskar_jobs.model.job import JobFailure, JobStatus
from beskar_jobs.model.presence import WorkerHeartbeat
from beskar_jobs.model.updates import JobStatusUpdate

Json = dict[str, Any]


def as_line(value: Any) -> str:
    """*value* as one line of JSON."""
    return json.dumps(value, ensure_ascii=False)


def update_json(update: JobStatusUpdate) -> Json:
    return {
        "job_id": update.job_id,
        "job_type": update.job_type,
        "queue": update.queue,
        "status": update.status.value,
        "waiting_for": None if update.waiting_for is None else update.waiting_for.value,
        "attempt": update.attempt,
        "percent": update.percent,
        "message": update.message,
        "reason": update.reason,
        "worker_id": update.worker_id or None,
        "updated_at": _time(update.updated_at),
        "result": value_json(update.result),
        "result_omitted": update.result_omitted,
        "failure": _failure(update.failure),
    }


def job_json(job: JobDetails, explanation: str) -> Json:
    return {
        **update_json(job.update),
        "explanation": explanation,
        "arguments": None if job.arguments_omitted else value_json(job.arguments),
        "arguments_omitted": job.arguments_omitted,
        "priority": job.priority,
        "sequence": job.sequence,
        "failures": job.failures,
        "crashes": job.crashes,
        "cancel_requested": job.cancel_requested,
        "created_at": _time(job.created_at),
        "due_at": _time(job.due_at),
        "started_at": _time(job.started_at),
        "finished_at": _time(job.finished_at),
        "metadata": dict(job.metadata),
        "capable_workers": job.capable_workers,
    }


def worker_json(worker: WorkerHeartbeat) -> Json:
    return {
        "worker_id": worker.worker_id,
        "incarnation": worker.incarnation,
        "draining": worker.draining,
        "queues": list(worker.queues),
        "job_types": sorted(worker.job_types),
        "active": worker.active,
        "max_concurrency": worker.max_concurrency,
    }


def queue_json(queue: QueueDetails) -> Json:
    return {
        "queue": queue.queue,
        "workers": queue.workers,
        "jobs": {status.value: queue.counts.get(status, 0) for status in JobStatus},
    }


def value_json(data: bytes | None) -> Any:
    """A value as its serializer wrote it; one that is no JSON (of a serializer of the user's) as text."""
    if data is None:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode(errors="replace")


def _failure(failure: JobFailure | None) -> Json | None:
    if failure is None:
        return None
    return {
        "kind": failure.kind.value,
        "error_type": failure.error_type,
        "message": failure.message,
        "traceback": failure.traceback,
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
