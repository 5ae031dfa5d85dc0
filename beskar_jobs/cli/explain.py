"""Why a job is where it is, in one sentence. Pure: the job and the time in, text out."""

from __future__ import annotations

from datetime import datetime, timedelta

from beskar_jobs.model.details import JobDetails
from beskar_jobs.model.job import JobStatus, WaitingFor


def explain(job: JobDetails, now: datetime) -> str:
    """What *job* does or waits for at *now*, and where somebody has to act, what to do."""
    match job.status:
        case JobStatus.SCHEDULED:
            return _scheduled(job, now)
        case JobStatus.ENQUEUED:
            return _enqueued(job)
        case JobStatus.DISPATCHED:
            return f"It is being given to worker {job.update.worker_id}, which has not answered yet."
        case JobStatus.RUNNING:
            return _running(job, now)
        case JobStatus.SUCCEEDED:
            return f"It succeeded {_ago(job.finished_at, now)}{_in_attempt(job)}."
        case JobStatus.DEAD_LETTERED:
            return f"It is dead-lettered since {_time(job.finished_at)}, after {_spent(job)}: {_why(job)}"
        case JobStatus.CANCELLED:
            reason = f": {job.update.reason}" if job.update.reason else ""
            return f"It was cancelled {_ago(job.finished_at, now)}{reason}."


def _scheduled(job: JobDetails, now: datetime) -> str:
    due = f"{_time(job.due_at)} ({_until(job.due_at, now)})"
    match job.waiting_for:
        case WaitingFor.PARENT:
            return "It waits for the jobs that it continues to end."
        case WaitingFor.RETRY:
            return f"Attempt {job.update.attempt} failed; it is tried again at {due}: {_why(job)}"
        case _:
            return f"It waits for its time, {due}."


def _enqueued(job: JobDetails) -> str:
    again = f" (after {_spent(job)})" if job.failures or job.crashes else ""
    if job.waiting_for is WaitingFor.WORKER or not job.capable_workers:
        return (
            f"It waits for a worker{again}: none is online that serves queue {job.queue!r} and knows job type "
            f"{job.job_type!r}; start one with 'beskar worker MODULE', or see 'beskar workers'."
        )
    if job.waiting_for is WaitingFor.RATE:
        return f"It waits for its rate limit{again}."
    many = job.capable_workers > 1
    workers = f"the {job.capable_workers} workers that can run it" if many else "the one worker that can run it"
    if job.waiting_for is WaitingFor.SLOT:
        return f"It waits for a free slot{again}: {workers} {'are' if many else 'is'} busy."
    return f"It waits for its turn{again}; {workers} {'are' if many else 'is'} online."


def _running(job: JobDetails, now: datetime) -> str:
    update = job.update
    since = f" since {_time(job.started_at)} ({_length(now - job.started_at)})" if job.started_at else ""
    text = f"It is running on worker {update.worker_id}{since}{_in_attempt(job)}"
    if update.percent is not None:
        text += f", at {update.percent:g} %" + (f" ({update.message})" if update.message else "")
    if job.cancel_requested:
        text += "; it has been asked to stop"
    return text + "."


def _in_attempt(job: JobDetails) -> str:
    return f", in attempt {job.update.attempt}" if job.update.attempt > 1 else ""


def _spent(job: JobDetails) -> str:
    spent = []
    if job.failures or not job.crashes:
        spent.append(f"{job.failures} failed {'attempt' if job.failures == 1 else 'attempts'}")
    if job.crashes:
        spent.append(f"{job.crashes} lost {'worker' if job.crashes == 1 else 'workers'}")
    return " and ".join(spent)


def _why(job: JobDetails) -> str:
    failure = job.update.failure
    text = (failure.summary if failure is not None else job.update.reason) or "no reason is known"
    return text.strip().partition("\n")[0]


def _time(moment: datetime | None) -> str:
    return "an unknown time" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def _until(moment: datetime, now: datetime) -> str:
    return f"in {_length(moment - now)}" if moment > now else "due now"


def _ago(moment: datetime | None, now: datetime) -> str:
    return "at an unknown time" if moment is None else f"at {_time(moment)} ({_length(now - moment)} ago)"


def _length(span: timedelta) -> str:
    """*span* to two units, which is as exact as people read it."""
    seconds = max(0, int(span.total_seconds()))
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    for position, (name, size) in enumerate(units):
        if seconds >= size or name == "s":
            text = f"{seconds // size} {name}"
            rest = units[position + 1 : position + 2]
            if rest and (part := seconds % size // rest[0][1]):
                text += f" {part} {rest[0][0]}"
            return text
    raise AssertionError("the last unit takes all")
