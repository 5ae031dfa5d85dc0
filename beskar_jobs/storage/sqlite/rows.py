"""Jobs as rows of the database and back; what comes back equals what went in.

This runs once per job written, on the writer's thread, next to the event loop that needs the same interpreter: so it is
written out flat. Values that most jobs do not have are ``NULL``; policies, of which a system has few, are kept as text.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import msgspec

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
    WorkerRef,
)
from beskar_jobs.model.retry import Retry
from beskar_jobs.ports.storage import Change
from beskar_jobs.storage.times import from_microseconds, to_microseconds

INSERT_WIDTH: Final = 16
"""Parameters of one row of the query ``insert_jobs``."""

CHANGE_WIDTH: Final = 10
"""Parameters of one row of the query ``change_jobs``."""

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode
_NOTHING: Final[dict[str, Any]] = {}
_STATUSES: Final = {status.value: status for status in JobStatus}
_WAITS: Final[dict[str | None, WaitingFor | None]] = {None: None, **{wait.value: wait for wait in WaitingFor}}


def insert_parameters(jobs: Iterable[Job]) -> list[Any]:
    """The parameters of ``insert_jobs``, row after row."""
    packer = _Packer()
    parameters: list[Any] = []
    for job in jobs:
        spec = job.spec
        parameters += (
            spec.id,
            spec.job_type,
            spec.queue,
            spec.arguments,
            _options_text(spec),
            packer.moment(spec.created_at),
            spec.priority,
            spec.sequence,
        )
        parameters += packer.state(job)
    return parameters


def change_parameters(changes: Iterable[Change]) -> list[Any]:
    """The parameters of ``change_jobs``, row after row."""
    packer = _Packer()
    parameters: list[Any] = []
    for change in changes:
        parameters += (change.job.spec.id, change.expected_version)
        parameters += packer.state(change.job)
    return parameters


class _Packer:
    """Packs the jobs of one commit. They share times and policies, so each such object is converted once.

    Objects are known by identity, which lasts as long as the commit that holds them.
    """

    __slots__ = ("_moments", "_policies")

    def __init__(self) -> None:
        self._moments: dict[int, int] = {}
        self._policies: dict[int, str] = {}

    def moment(self, moment: datetime) -> int:
        value = self._moments.get(id(moment))
        if value is None:
            value = self._moments[id(moment)] = to_microseconds(moment)
        return value

    def state(self, job: Job) -> tuple[Any, ...]:
        policy = job.policy
        return (
            job.status.value,
            job.waiting_for,
            self.moment(job.due_at),
            self.moment(job.updated_at),
            job.version,
            self._state_text(job),
            None if policy is None else self._policy_text(policy),
            job.result,
        )

    def _state_text(self, job: Job) -> str | None:
        state: dict[str, Any] = {}
        if job.fence:
            state["fence"] = job.fence
        if job.attempt:
            state["attempt"] = job.attempt
        if job.failures:
            state["failures"] = job.failures
        if job.crashes:
            state["crashes"] = job.crashes
        if (worker := job.worker) is not None:
            state["worker"] = (worker.worker_id, worker.incarnation)
        if job.cancel_requested:
            state["cancel_requested"] = True
        if (moment := job.started_at) is not None:
            state["started_at"] = self.moment(moment)
        if (moment := job.finished_at) is not None:
            state["finished_at"] = self.moment(moment)
        if job.reason:
            state["reason"] = job.reason
        if (failure := job.failure) is not None:
            state["failure"] = {
                "kind": failure.kind,
                "message": failure.message,
                "error_type": failure.error_type,
                "error_bases": failure.error_bases,
                "traceback": failure.traceback,
            }
        return _text(state) if state else None

    def _policy_text(self, policy: JobPolicy) -> str:
        text = self._policies.get(id(policy))
        if text is None:
            values = [_retry_values(policy.retry), policy.timeout, policy.restart_on_crash, policy.max_crashes]
            text = self._policies[id(policy)] = _text(values)
        return text


def read_job(row: list[Any]) -> Job:
    """The job in one row of the fragment ``job``."""
    (
        job_id, job_type, queue, arguments, options_text, created_at, priority, sequence,
        status, waiting_for, due_at, updated_at, version, state_text, policy, result,
    ) = row  # fmt: skip
    options = _NOTHING if options_text is None else _decode(options_text)
    state = _NOTHING if state_text is None else _decode(state_text)
    retry = options.get("retry")
    worker = state.get("worker")
    failure = state.get("failure")
    return Job(
        spec=JobSpec(
            id=job_id,
            job_type=job_type,
            queue=queue,
            arguments=bytes.fromhex(arguments),
            created_at=from_microseconds(created_at),
            sequence=sequence,
            priority=priority,
            run_at=_moment(options.get("run_at")),
            retry=None if retry is None else Retry(*retry),
            timeout=options.get("timeout"),
            metadata=options.get("metadata") or {},
            traceparent=options.get("traceparent", ""),
        ),
        status=_STATUSES[status],
        due_at=from_microseconds(due_at),
        updated_at=from_microseconds(updated_at),
        waiting_for=_WAITS[waiting_for],
        version=version,
        fence=state.get("fence", 0),
        attempt=state.get("attempt", 0),
        failures=state.get("failures", 0),
        crashes=state.get("crashes", 0),
        worker=None if worker is None else WorkerRef(*worker),
        policy=None if policy is None else _read_policy(policy),
        cancel_requested=state.get("cancel_requested", False),
        started_at=_moment(state.get("started_at")),
        finished_at=_moment(state.get("finished_at")),
        reason=state.get("reason", ""),
        result=None if result is None else bytes.fromhex(result),
        failure=None if failure is None else _read_failure(failure),
    )


def read_jobs(text: str) -> list[Job]:
    """The jobs in the JSON text that a query gave back."""
    return [read_job(row) for row in _decode(text)]


def texts(values: Iterable[str]) -> str:
    """Texts as a parameter that a query takes apart."""
    return _text(list(values))


def ids_text(ids: Iterable[JobId]) -> str:
    """Ids as the parameter ``:ids``."""
    return _text(list(ids))


def _text(value: Any) -> str:
    try:
        return _encode(value).decode()
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


@lru_cache(maxsize=1024)
def _read_policy(text: str) -> JobPolicy:
    retry, *others = _decode(text)
    return JobPolicy(Retry(*retry), *others)


def _read_failure(values: dict[str, Any]) -> JobFailure:
    return JobFailure(
        kind=FailureKind(values["kind"]),
        message=values["message"],
        error_type=values["error_type"],
        error_bases=tuple(values["error_bases"]),
        traceback=values["traceback"],
    )


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_microseconds(value)
