"""Which options are in force for a job: per enqueue, over what the handler declares, over the default.

A rung of the retry policy wins whole, never field by field.
"""

from __future__ import annotations

from beskar_jobs.model.job import JobPolicy, JobSpec
from beskar_jobs.model.presence import HandlerPolicy
from beskar_jobs.model.retry import NO_RETRY, Retry


def resolve_policy(spec: JobSpec, declared: HandlerPolicy | None, default_retry: Retry = NO_RETRY) -> JobPolicy:
    """The policy to store with the job at its first claim; *declared* is what the claiming worker's handler says."""
    handler = declared or HandlerPolicy()
    return JobPolicy(
        retry=spec.retry or handler.retry or default_retry,
        timeout=spec.timeout if spec.timeout is not None else handler.timeout,
        restart_on_crash=handler.restart_on_crash,
        max_crashes=handler.max_crashes,
    )
