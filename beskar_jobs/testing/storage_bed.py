"""What the claims of the storage suite are made of: their types, sample jobs, and one way to check."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import attrs

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
from beskar_jobs.ports.storage import Change, Commit, CommitOutcome, JobStorage

__all__ = [
    "START",
    "Claim",
    "DurableClaim",
    "StorageFactory",
    "at",
    "changed",
    "check_same",
    "full_job",
    "ids",
    "make_job",
    "put",
    "write",
]

Claim = Callable[[JobStorage], Awaitable[None]]
StorageFactory = Callable[[], JobStorage]
DurableClaim = Callable[[StorageFactory], Awaitable[None]]

START: Final = datetime(2026, 3, 1, 12, 0, 0, 123457, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def make_job(
    name: str,
    *,
    queue: str = "default",
    job_type: str = "suite.job",
    sequence: int = 1,
    priority: int = 0,
    status: JobStatus = JobStatus.ENQUEUED,
    due_at: datetime = START,
    waiting_for: WaitingFor | None = None,
    **others: Any,
) -> Job:
    """A job with what a claim is about; *others* are further fields of :class:`Job`."""
    spec = JobSpec(JobId(name), job_type, queue, b"{}", START, sequence=sequence, priority=priority)
    return Job(spec, status, due_at, START, waiting_for=waiting_for, **others)


def full_job(name: str = "full") -> Job:
    """A job in which every field, at every depth, differs from its default."""
    retry = Retry(
        7, delays=(0.1, 15.0, 60.25), jitter=0.3, retry_on=("app.Overload",), give_up_on=("app.Never", "app.Gone")
    )
    return Job(
        spec=JobSpec(
            id=JobId(name),
            job_type="suite.full",
            queue="médias",
            arguments=b'{"source":"\xc3\xa9.mov"}',
            created_at=at(-1.000001),
            sequence=41,
            priority=-3,
            run_at=at(3600.5),
            retry=retry,
            timeout=0.1,
            metadata={"tenant": "größe", "": "empty key", "quote": "'\"\\"},
            traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ),
        status=JobStatus.RUNNING,
        due_at=at(1),
        updated_at=at(2.000003),
        waiting_for=WaitingFor.RATE,
        version=12,
        fence=5,
        attempt=4,
        failures=3,
        crashes=2,
        worker=WorkerRef(WorkerId("worker-ü"), "0197c1f0a8b2"),
        policy=JobPolicy(retry, timeout=600.125, restart_on_crash=False, max_crashes=9),
        cancel_requested=True,
        started_at=at(3),
        finished_at=at(4),
        reason="because\nof a reason",
        result=b'{"size":1}',
        failure=JobFailure(
            FailureKind.TIMEOUT, "too slow", "app.Slow", ("app.Slow", "builtins.Exception"), "Trace\n  …"
        ),
    )


def changed(job: Job, status: JobStatus | None = None, **others: Any) -> Job:
    """The next version of *job*."""
    return attrs.evolve(job, status=status or job.status, version=job.version + 1, **others)


async def put(storage: JobStorage, *jobs: Job) -> None:
    """Insert jobs that must not be there yet."""
    outcome = await storage.commit(Commit(inserts=jobs))
    check_same(list(outcome.existing), [None] * len(jobs), "what an insert of new jobs says of existing ones")


async def write(storage: JobStorage, *jobs: Job) -> CommitOutcome:
    """Change jobs, each over the version before its own."""
    return await storage.commit(Commit(changes=[Change(job.version - 1, job) for job in jobs]))


def ids(jobs: Iterable[Job | None]) -> list[str | None]:
    return [None if job is None else str(job.id) for job in jobs]


def check_same(actual: Sequence[Any] | Any, expected: Sequence[Any] | Any, what: str) -> None:
    """Complain if the two differ; explicit, so that it holds without a test runner's help and under ``python -O``."""
    if actual != expected:
        raise AssertionError(f"{what}:\n  is        {actual!r}\n  should be {expected!r}")
