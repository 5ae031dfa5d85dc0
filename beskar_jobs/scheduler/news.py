"""What happened to workers and failing jobs, as lines of the log.

A job that runs through says nothing here: there may be thousands a second, and the worker that runs one tells of it.
The level is asked once for all that is told together.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from beskar_jobs.core.scheduling import Notable, WorkerCame, WorkerGone
from beskar_jobs.model.job import FailureKind, Job, JobStatus


def tell(news: Sequence[Notable], logger: logging.Logger) -> None:
    """Log *news*: what needs attention (a lost worker, a dead-lettered job) as a warning, the rest as information."""
    if not logger.isEnabledFor(logging.WARNING):
        return
    informs = logger.isEnabledFor(logging.INFO)
    for item in news:
        match item:
            case WorkerCame(heartbeat=beat) if informs:
                queues = f"queues {', '.join(beat.queues)}" if beat.queues else "all queues"
                slots = f"{beat.max_concurrency} slot{'s' * (beat.max_concurrency != 1)}"
                types = f"{len(beat.job_types)} job type{'s' * (len(beat.job_types) != 1)}"
                logger.info("worker %s came: %s, %s, %s", beat.worker_id, slots, queues, types)
            case WorkerGone(in_order=True) if informs:
                logger.info("worker %s left", item.worker.worker_id)
            case WorkerGone(in_order=False):
                logger.warning("worker %s is lost (%s); %s", item.worker.worker_id, item.reason, _jobs_of(item))
            case Job(status=JobStatus.DEAD_LETTERED):
                logger.warning("job %s (%s) is dead-lettered: %s", item.id, item.job_type, _why(item))
            case Job() if informs:
                seconds = (item.due_at - item.updated_at).total_seconds()
                at = item.due_at.astimezone().strftime("%H:%M:%S")
                logger.info(
                    "job %s (%s): attempt %d failed, %s at %s (in %.1f s): %s",
                    *(item.id, item.job_type, item.attempt, item.reason, at, seconds, _error(item)),
                )
            case _:
                pass


def _jobs_of(gone: WorkerGone) -> str:
    if not gone.jobs:
        return "it had no job"
    if gone.restarted == gone.jobs:
        return f"{gone.jobs} {'job goes' if gone.jobs == 1 else 'jobs go'} back to the queue"
    return f"of its {gone.jobs} jobs {gone.restarted} go back to the queue"


def _why(job: Job) -> str:
    if job.failure is None or job.failure.kind is FailureKind.CRASH:
        return job.reason
    return f"{job.reason}, after {job.attempt} {'attempt' if job.attempt == 1 else 'attempts'}: {_error(job)}"


def _error(job: Job) -> str:
    """The first line of what went wrong; the worker's log and ``beskar job`` have all of it."""
    return "" if job.failure is None else job.failure.summary.strip().partition("\n")[0]
