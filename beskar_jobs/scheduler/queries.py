"""Answers to queries: what storage has, with what only the scheduler knows (progress, workers, what is waited for)."""

from __future__ import annotations

from collections import defaultdict

from beskar_jobs.core.scheduling import SchedulerSession
from beskar_jobs.model.job import JobId, JobStatus
from beskar_jobs.ports.storage import JobFilter, JobStorage
from beskar_jobs.wire.messages import QueryCommand, QueryReply, QueueView


async def answer(query: QueryCommand, session: SchedulerSession, storage: JobStorage) -> QueryReply:
    """The reply to *query*.

    Raises:
        StorageError: storage is away.
    """
    match query.what:
        case "jobs":
            return await _jobs(query, session, storage)
        case "find":
            wanted = JobFilter(query.statuses, query.queue, query.job_type)
            found = await storage.find(wanted, limit=query.limit, before_sequence=query.before_sequence)
            return QueryReply(jobs=[session.view(job) for job in found])
        case "workers":
            return QueryReply(workers=session.workers())
        case "queues":
            counts: defaultdict[str, dict[JobStatus, int]] = defaultdict(dict)
            for queue, status, count in await storage.counts():
                counts[queue][status] = count
            return QueryReply(
                queues=[QueueView(queue, counts[queue], session.workers_serving(queue)) for queue in sorted(counts)]
            )


async def _jobs(query: QueryCommand, session: SchedulerSession, storage: JobStorage) -> QueryReply:
    ids = [JobId(job_id) for job_id in query.ids]
    if query.watcher:
        # Before the reading: a change in between is then told twice rather than never.
        for job_id in ids:
            session.outbox.watch(job_id, query.watcher)
    jobs = await storage.get(ids)
    for job_id, job in zip(ids, jobs, strict=True):
        if job is None or job.status.is_terminal:
            session.outbox.unwatch(job_id, query.watcher)
    return QueryReply(jobs=[None if job is None else session.view(job) for job in jobs])
