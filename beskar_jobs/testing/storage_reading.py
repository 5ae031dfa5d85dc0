"""Claims of the storage suite about what is read: who is ready, due or active, in what order, and how many."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from beskar_jobs.model.job import Job, JobId, JobStatus, WaitingFor, WorkerId, WorkerRef
from beskar_jobs.ports.storage import JobFilter, JobStorage, Lane
from beskar_jobs.testing.storage_bed import (
    Claim,
    at,
    changed,
    check_same,
    ids,
    make_job,
    put,
    write,
)

CLAIMS: Final[list[Claim]] = []


def claim(function: Claim) -> Claim:
    CLAIMS.append(function)
    return function


# -- get


@claim
async def get_answers_in_the_order_of_the_question(storage: JobStorage) -> None:
    a, b = make_job("a"), make_job("b", sequence=2)
    await put(storage, a, b)
    wanted = [b.id, JobId("nobody"), a.id, b.id]
    check_same(list(await storage.get(wanted)), [b, None, a, b], "the jobs asked for")
    check_same(list(await storage.get([])), [], "the answer to no question")


# -- ready and lanes


def _order(job: Job) -> tuple[int, datetime, int]:
    return job.order


@claim
async def ready_goes_by_priority_then_due_time_then_sequence(storage: JobStorage) -> None:
    jobs = [
        make_job("urgent-late", sequence=6, priority=5, due_at=at(9)),
        make_job("urgent-early", sequence=7, priority=5, due_at=at(8.000001)),
        make_job("early", sequence=5, due_at=at(-0.000001)),
        make_job("first", sequence=3),
        make_job("second", sequence=4),
        make_job("last", sequence=1, priority=-1, due_at=at(-99)),
    ]
    expected = ["urgent-early", "urgent-late", "early", "first", "second", "last"]
    await put(storage, *jobs)
    lane = Lane("default", "suite.job")
    check_same(ids(await storage.ready(lane, 100)), expected, "the order of the ready jobs")
    in_order: list[Job] = sorted(jobs, key=_order)
    check_same(ids(in_order), expected, "the order that Job.order makes")
    for limit in (0, 1, 4):
        check_same(ids(await storage.ready(lane, limit)), expected[:limit], f"the first {limit}")


@claim
async def ready_holds_to_its_lane_and_to_enqueued_jobs(storage: JobStorage) -> None:
    others = [make_job(f"{status}", status=status) for status in JobStatus if status is not JobStatus.ENQUEUED]
    mine = make_job("mine", queue="q", job_type="t", waiting_for=WaitingFor.RATE)
    strays = [make_job("queue", queue="q2", job_type="t"), make_job("type", queue="q", job_type="t2")]
    await put(storage, mine, *strays, *others)
    check_same(list(await storage.ready(Lane("q", "t"), 100)), [mine], "the ready jobs of the lane")
    check_same(list(await storage.ready(Lane("t", "q"), 100)), [], "the ready jobs of a lane without any")
    lanes = [(Lane("q", "t"), 1), (Lane("q", "t2"), 1), (Lane("q2", "t"), 1)]
    check_same(sorted(await storage.lanes(), key=str), lanes, "the lanes")


@claim
async def ready_and_lanes_follow_every_change(storage: JobStorage) -> None:
    jobs = [make_job(name, sequence=number) for number, name in enumerate("abc", start=1)]
    lane = Lane("default", "suite.job")
    await put(storage, *jobs)
    claimed = changed(jobs[0], JobStatus.DISPATCHED)
    await write(storage, claimed)
    check_same(ids(await storage.ready(lane, 9)), ["b", "c"], "the ready jobs after a claim")
    check_same(await storage.lanes(), [(lane, 2)], "the lanes after a claim")
    await write(storage, changed(claimed, JobStatus.ENQUEUED, due_at=at(5)), changed(jobs[1], JobStatus.CANCELLED))
    check_same(ids(await storage.ready(lane, 9)), ["c", "a"], "the ready jobs after a release and a cancel")
    await write(storage, changed(jobs[2], due_at=at(6)))
    check_same(ids(await storage.ready(lane, 9)), ["a", "c"], "the ready jobs after a new due time")
    await write(storage, changed(changed(jobs[2]), JobStatus.RUNNING), changed(changed(claimed), JobStatus.RUNNING))
    check_same(list(await storage.lanes()), [], "the lanes once nothing is enqueued")


# -- due and next_due


@claim
async def due_gives_what_the_clock_has_reached_earliest_first(storage: JobStorage) -> None:
    def waiting(name: str, seconds: float, sequence: int, wait: WaitingFor | None = WaitingFor.TIME) -> Job:
        return make_job(name, sequence=sequence, status=JobStatus.SCHEDULED, due_at=at(seconds), waiting_for=wait)

    await put(
        storage,
        waiting("retry", 1, 9, WaitingFor.RETRY),
        waiting("now", 2, 2),
        waiting("a moment later", 2.000001, 3),
        waiting("also now", 2, 1),
        waiting("parent", 0, 4, WaitingFor.PARENT),
        waiting("nothing", 0, 6, None),
        make_job("enqueued", sequence=5, due_at=at(0)),
    )
    check_same(ids(await storage.due(at(2), 9)), ["retry", "also now", "now"], "the due jobs")
    check_same(ids(await storage.due(at(2), 2)), ["retry", "also now"], "the first two due jobs")
    check_same(list(await storage.due(at(0.5), 9)), [], "the due jobs before their time")


@claim
async def next_due_is_the_earliest_time_waited_for(storage: JobStorage) -> None:
    check_same(await storage.next_due(), None, "the next due time of an empty storage")
    first = make_job("a", status=JobStatus.SCHEDULED, due_at=at(1.000001), waiting_for=WaitingFor.RETRY)
    later = make_job("b", sequence=2, status=JobStatus.SCHEDULED, due_at=at(2), waiting_for=WaitingFor.TIME)
    child = make_job("c", sequence=3, status=JobStatus.SCHEDULED, due_at=at(0), waiting_for=WaitingFor.PARENT)
    await put(storage, later, first, child, make_job("d", sequence=4, due_at=at(-1)))
    check_same(await storage.next_due(), at(1.000001), "the next due time")
    check_same(await storage.next_due(at(1)), at(1.000001), "the next due time just before one")
    check_same(await storage.next_due(at(1.000001)), at(2), "the next due time after one")
    check_same(await storage.next_due(at(2)), None, "the next due time after the last one")
    await write(storage, changed(first, JobStatus.ENQUEUED, waiting_for=None))
    check_same(await storage.next_due(), at(2), "the next due time after the first was enqueued")
    check_same(await storage.next_due(at(1)), at(2), "the next due time after a moment, after the first was enqueued")


# -- active, find, counts, last_sequence


@claim
async def active_gives_all_dispatched_and_running_jobs(storage: JobStorage) -> None:
    worker = WorkerRef(WorkerId("w"), "1")
    jobs = [make_job(f"{status}", sequence=n, status=status, worker=worker) for n, status in enumerate(JobStatus)]
    await put(storage, *jobs)
    expected = [job for job in jobs if job.status.is_active]
    check_same(sorted(await storage.active(), key=lambda job: job.spec.sequence), expected, "the active jobs")


def _mixture() -> list[Job]:
    """Jobs of all statuses, two queues and two types, in order of enqueue."""
    statuses = list(JobStatus)
    return [
        make_job(
            f"job-{number:02}",
            queue=f"queue-{number % 2}",
            job_type=f"type-{number // 2 % 2}",
            sequence=number,
            status=statuses[number % len(statuses)],
        )
        for number in range(1, 57)
    ]


@claim
async def find_gives_matching_jobs_latest_first(storage: JobStorage) -> None:
    jobs = _mixture()
    await put(storage, *jobs)
    choices: list[tuple[JobStatus, ...]] = [(), *((status,) for status in JobStatus)]
    choices += [(JobStatus.RUNNING, JobStatus.SUCCEEDED), (JobStatus.ENQUEUED, JobStatus.ENQUEUED)]
    for statuses in choices:
        for queue in (None, "queue-1", "queue-9"):
            for job_type in (None, "type-0"):
                wanted = JobFilter(statuses, queue, job_type)
                expected = [
                    job
                    for job in reversed(jobs)
                    if (not statuses or job.status in statuses)
                    and queue in (None, job.queue)
                    and job_type in (None, job.job_type)
                ]
                check_same(ids(await storage.find(wanted, limit=99)), ids(expected), f"what {wanted} finds")
                check_same(ids(await storage.find(wanted, limit=3)), ids(expected[:3]), f"the latest three of {wanted}")


@claim
async def find_pages_without_gap_or_repetition(storage: JobStorage) -> None:
    jobs = _mixture()
    await put(storage, *jobs)
    for wanted in (JobFilter(), JobFilter(queue="queue-0"), JobFilter((JobStatus.RUNNING, JobStatus.CANCELLED))):
        whole = ids(await storage.find(wanted, limit=99))
        paged: list[str | None] = []
        before: int | None = None
        while page := await storage.find(wanted, limit=5, before_sequence=before):
            paged += ids(page)
            before = page[-1].spec.sequence
        check_same(paged, whole, f"the pages of {wanted}")
    check_same(list(await storage.find(JobFilter(), limit=0)), [], "a page of none")


@claim
async def counts_are_by_queue_and_status(storage: JobStorage) -> None:
    check_same(list(await storage.counts()), [], "the counts of an empty storage")
    jobs = _mixture()
    await put(storage, *jobs)
    await write(storage, *(changed(job, JobStatus.SUCCEEDED) for job in jobs if job.status is JobStatus.RUNNING))
    expected: dict[tuple[str, JobStatus], int] = {}
    for job in jobs:
        key = (job.queue, JobStatus.SUCCEEDED if job.status is JobStatus.RUNNING else job.status)
        expected[key] = expected.get(key, 0) + 1
    counts: list[Any] = sorted(await storage.counts())
    check_same(counts, [(*key, count) for key, count in sorted(expected.items())], "the counts")


@claim
async def last_sequence_is_the_highest_stored(storage: JobStorage) -> None:
    check_same(await storage.last_sequence(), 0, "the last sequence of an empty storage")
    await put(storage, make_job("a", sequence=7), make_job("b", sequence=3))
    check_same(await storage.last_sequence(), 7, "the last sequence")
