"""Answers to queries: what storage has, with what only the scheduler knows (progress, workers, what is waited for).

An answer with one job has it in full. One with several has a budget of bytes: large arguments and results are left out
of it, and marked so. Storage is read in parts, so that a long answer never has all of them in memory.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from beskar_jobs.core.scheduling import SchedulerSession
from beskar_jobs.model.job import JobId, JobStatus
from beskar_jobs.ports.storage import JobFilter, JobStorage
from beskar_jobs.wire.messages import JobView, QueryCommand, QueryReply, QueueView
from beskar_jobs.wire.views import ReplyBudget

JOBS_PER_READ: Final = 100


async def answer(query: QueryCommand, session: SchedulerSession, storage: JobStorage) -> QueryReply:
    """The reply to *query*.

    Raises:
        StorageError: storage is away.
    """
    match query.what:
        case "jobs":
            return await _jobs(query, session, storage)
        case "find":
            return await _find(query, session, storage)
        case "workers":
            return QueryReply(workers=session.workers())
        case "queues":
            counts: defaultdict[str, dict[JobStatus, int]] = defaultdict(dict)
            for queue, status, count in await storage.counts():
                counts[queue][status] = count
            return QueryReply(
                queues=[QueueView(queue, counts[queue], session.workers_serving(queue)) for queue in sorted(counts)]
            )


async def _find(query: QueryCommand, session: SchedulerSession, storage: JobStorage) -> QueryReply:
    wanted = JobFilter(query.statuses, query.queue, query.job_type)
    views: list[JobView] = []
    budget, before = ReplyBudget(), query.before_sequence
    while (limit := min(JOBS_PER_READ, query.limit - len(views))) > 0:
        found = await storage.find(wanted, limit=limit, before_sequence=before)
        if len(found) == 1 and not views:
            return QueryReply(jobs=[session.view(found[0])])
        views += [budget.fit(session.view(job)) for job in found]
        if len(found) < limit:
            break
        before = found[-1].spec.sequence
    return QueryReply(jobs=list(views))


async def _jobs(query: QueryCommand, session: SchedulerSession, storage: JobStorage) -> QueryReply:
    ids = [JobId(job_id) for job_id in query.ids]
    if query.watcher:
        # Before the reading: a change in between is then told twice rather than never.
        for job_id in ids:
            session.outbox.watch(job_id, query.watcher)
    views: list[JobView | None] = []
    budget = ReplyBudget()
    for start in range(0, len(ids), JOBS_PER_READ):
        part = ids[start : start + JOBS_PER_READ]
        for job_id, job in zip(part, await storage.get(part), strict=True):
            if job is None or job.status.is_terminal:
                session.outbox.unwatch(job_id, query.watcher)
            view = None if job is None else session.view(job)
            views.append(view if view is None or len(ids) == 1 else budget.fit(view))
    return QueryReply(jobs=views)
