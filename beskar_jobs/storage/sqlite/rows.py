"""Jobs as rows of the database and back; what comes back equals what went in.

This runs once per job written, on the writer's thread, next to the event loop that needs the same interpreter: so it is
written out flat. Values that most jobs do not have are ``NULL``; policies, of which a system has few, are kept as text.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

import orjson

from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.model.job import (
    FailureKind,
    Job,
    JobFailure,
    JobId,
    JobPolicy,
    JobSpec,
    JobStatus,
    WaitingFor,
    WorkerId,
    WorkerRef,
)
from beskar_jobs.model.retry import Retry
from beskar_jobs.ports.storage import Change

INSERT_WIDTH: Final = 26
"""Parameters of one row of the query ``insert_jobs``."""

CHANGE_WIDTH: Final = 20
"""Parameters of one row of the query ``change_jobs``."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STATUSES: Final = {status.value: status for status in JobStatus}
_WAITS: Final[dict[str | None, WaitingFor | None]] = {None: None, **{wait.value: wait for wait in WaitingFor}}


def to_microseconds(moment: datetime) -> int:
    """Whole microseconds since 1970 in UTC.

    Raises:
        InvalidValue: *moment* has no time zone.
    """
    try:
        since = moment - _EPOCH
    except TypeError:
        raise InvalidValue(f"a time in a job has a time zone, as in datetime.now(UTC); {moment!r} has none") from None
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def from_microseconds(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value)


def insert_parameters(jobs: Iterable[Job]) -> list[Any]:
    """The parameters of ``insert_jobs``, row after row."""
    parameters: list[Any] = []
    for job in jobs:
        spec = job.spec
        created_at = to_microseconds(spec.created_at)
        due_at = created_at if job.due_at is spec.created_at else to_microseconds(job.due_at)
        parameters += (
            spec.id,
            spec.job_type,
            spec.queue,
            spec.arguments,
            _options_text(spec),
            created_at,
            spec.priority,
            spec.sequence,
        )
        parameters += _state(job, due_at)
    return parameters


def change_parameters(changes: Iterable[Change]) -> list[Any]:
    """The parameters of ``change_jobs``, row after row."""
    parameters: list[Any] = []
    for change in changes:
        job = change.job
        parameters += (job.spec.id, change.expected_version)
        parameters += _state(job, to_microseconds(job.due_at))
    return parameters


def _state(job: Job, due_at: int) -> tuple[Any, ...]:
    worker = job.worker
    policy = job.policy
    failure = job.failure
    started_at = job.started_at
    finished_at = job.finished_at
    return (
        job.status.value,
        job.waiting_for,
        due_at,
        due_at if job.updated_at is job.due_at else to_microseconds(job.updated_at),
        job.version,
        job.fence,
        job.attempt,
        job.failures,
        job.crashes,
        None if worker is None else worker.worker_id,
        None if worker is None else worker.incarnation,
        None if policy is None else _policy_text(policy),
        job.cancel_requested,
        None if started_at is None else to_microseconds(started_at),
        None if finished_at is None else to_microseconds(finished_at),
        job.reason,
        job.result,
        None if failure is None else _failure_text(failure),
    )


def read_job(row: list[Any]) -> Job:
    """The job in one row of the fragment ``job``."""
    (
        job_id, job_type, queue, arguments, options_text, created_at, priority, sequence,
        status, waiting_for, due_at, updated_at, version, fence, attempt, failures, crashes,
        worker_id, incarnation, policy, cancel_requested, started_at, finished_at, reason, result, failure,
    ) = row  # fmt: skip
    run_at: datetime | None = None
    retry: Retry | None = None
    timeout: float | None = None
    metadata: dict[str, str] = {}
    traceparent = ""
    if options_text is not None:
        options = orjson.loads(options_text)
        if (moment := options.get("run_at")) is not None:
            run_at = from_microseconds(moment)
        if (values := options.get("retry")) is not None:
            retry = _read_retry(values)
        timeout = options.get("timeout")
        metadata = options.get("metadata", metadata)
        traceparent = options.get("traceparent", traceparent)
    return Job(
        JobSpec(
            job_id,
            job_type,
            queue,
            bytes.fromhex(arguments),
            from_microseconds(created_at),
            sequence,
            priority,
            run_at,
            retry,
            timeout,
            metadata,
            traceparent,
        ),
        _STATUSES[status],
        from_microseconds(due_at),
        from_microseconds(updated_at),
        _WAITS[waiting_for],
        version,
        fence,
        attempt,
        failures,
        crashes,
        None if worker_id is None else WorkerRef(WorkerId(worker_id), incarnation),
        None if policy is None else _read_policy(policy),
        cancel_requested != 0,
        None if started_at is None else from_microseconds(started_at),
        None if finished_at is None else from_microseconds(finished_at),
        reason,
        None if result is None else bytes.fromhex(result),
        None if failure is None else _read_failure(failure),
    )


def read_jobs(text: str) -> list[Job]:
    """The jobs in the JSON text that a query gave back."""
    return [read_job(row) for row in orjson.loads(text)]


def ids_text(ids: Iterable[JobId]) -> str:
    """Ids as the parameter ``:ids``."""
    return _text(list(ids))


def _text(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError as error:
        raise InvalidValue(f"part of a job cannot be stored: {error}") from error


def _options_text(spec: JobSpec) -> str | None:
    options: dict[str, Any] = {}
    if spec.run_at is not None:
        options["run_at"] = to_microseconds(spec.run_at)
    if spec.retry is not None:
        options["retry"] = _retry_values(spec.retry)
    if spec.timeout is not None:
        options["timeout"] = spec.timeout
    if spec.metadata:
        options["metadata"] = dict(spec.metadata)
    if spec.traceparent:
        options["traceparent"] = spec.traceparent
    return _text(options) if options else None


def _retry_values(retry: Retry) -> list[Any]:
    return [retry.max_retries, retry.delays, retry.jitter, retry.retry_on, retry.give_up_on]


def _read_retry(values: list[Any]) -> Retry:
    return Retry(*values)


@lru_cache(maxsize=1024)
def _policy_text(policy: JobPolicy) -> str:
    return _text([_retry_values(policy.retry), policy.timeout, policy.restart_on_crash, policy.max_crashes])


@lru_cache(maxsize=1024)
def _read_policy(text: str) -> JobPolicy:
    retry, *others = orjson.loads(text)
    return JobPolicy(_read_retry(retry), *others)


def _failure_text(failure: JobFailure) -> str:
    return _text([failure.kind, failure.message, failure.error_type, failure.error_bases, failure.traceback])


def _read_failure(text: str) -> JobFailure:
    kind, message, error_type, error_bases, traceback = orjson.loads(text)
    return JobFailure(FailureKind(kind), message, error_type, tuple(error_bases), traceback)
