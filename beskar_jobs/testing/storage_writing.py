"""Claims of the storage suite about what is written: jobs come back equal, and a commit is one transaction."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

import attrs

from beskar_jobs.model.errors import StorageError
from beskar_jobs.model.job import Job, JobId, JobStatus, WaitingFor
from beskar_jobs.ports.storage import Change, Commit, JobFilter, JobStorage, Lane
from beskar_jobs.testing.storage_bed import (
    START,
    Claim,
    changed,
    check_same,
    full_job,
    ids,
    make_job,
    put,
    write,
)

CLAIMS: Final[list[Claim]] = []


def claim(function: Claim) -> Claim:
    CLAIMS.append(function)
    return function


# -- jobs come back equal


@claim
async def a_plain_job_comes_back_equal(storage: JobStorage) -> None:
    job = make_job("a")
    await put(storage, job)
    check_same(list(await storage.get([job.id])), [job], "a job as inserted")


@claim
async def a_job_with_every_field_comes_back_equal(storage: JobStorage) -> None:
    job = full_job()
    await put(storage, job)
    check_same(list(await storage.get([job.id])), [job], "a job with every field, as inserted")


@claim
async def every_field_but_the_spec_can_change_and_change_back(storage: JobStorage) -> None:
    full = full_job()
    plain = Job(full.spec, JobStatus.ENQUEUED, START, START)
    await put(storage, plain)
    for job in (attrs.evolve(full, version=2), attrs.evolve(plain, version=3)):
        outcome = await write(storage, job)
        check_same(list(outcome.applied), [True], "a change over the expected version")
        check_same(list(await storage.get([job.id])), [job], "a job as changed")


@claim
async def a_change_never_writes_the_spec(storage: JobStorage) -> None:
    job = make_job("a", priority=1)
    await put(storage, job)
    await write(storage, changed(attrs.evolve(job, spec=attrs.evolve(job.spec, priority=9, arguments=b"[]"))))
    check_same(list(await storage.get([job.id])), [changed(job)], "the job after a change with another spec")


@claim
async def every_status_and_every_wait_comes_back(storage: JobStorage) -> None:
    jobs = [
        make_job(f"{status}-{wait}", status=status, waiting_for=wait)
        for status in JobStatus
        for wait in (None, *WaitingFor)
    ]
    await put(storage, *jobs)
    check_same(list(await storage.get([job.id for job in jobs])), jobs, "jobs of every status and wait")


@claim
async def bytes_come_back_as_they_are(storage: JobStorage) -> None:
    payloads = [b"", b"\x00\xff\x80 no text", b'{"a": "\\u0000"}', bytes(range(256)) * 4096]
    jobs = [
        attrs.evolve(job, spec=attrs.evolve(job.spec, arguments=payload), result=payload)
        for number, payload in enumerate(payloads)
        for job in [make_job(f"job-{number}", status=JobStatus.SUCCEEDED)]
    ]
    await put(storage, *jobs)
    check_same(list(await storage.get([job.id for job in jobs])), jobs, "arguments and results")


@claim
async def text_comes_back_as_it_is(storage: JobStorage) -> None:
    texts = [
        "\x00 in the middle\x00",
        "'; DROP TABLE jobs; --",
        "\N{SNOWMAN}\U0001f680",
        " \r\n\t",
        '{"not": "json',
        "{}%s?",
    ]
    jobs = [make_job(f"job-{number}", queue=text, job_type=text, reason=text) for number, text in enumerate(texts)]
    jobs = [attrs.evolve(job, spec=attrs.evolve(job.spec, metadata={job.reason: job.reason})) for job in jobs]
    await put(storage, *jobs)
    check_same(list(await storage.get([job.id for job in jobs])), jobs, "texts")
    for job in jobs:
        check_same(list(await storage.ready(Lane(job.queue, job.job_type), 9)), [job], "the lane of a strange name")


@claim
async def times_keep_their_microseconds(storage: JobStorage) -> None:
    elsewhere = timezone(timedelta(hours=5, minutes=45))
    moments = [
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2026, 3, 29, 1, 30, 0, 1, tzinfo=UTC),
        datetime(2026, 3, 29, 1, 30, 0, 1, tzinfo=elsewhere),
    ]
    jobs = [make_job(f"job-{n}", due_at=moment, started_at=moment) for n, moment in enumerate(moments)]
    await put(storage, *jobs)
    check_same(list(await storage.get([job.id for job in jobs])), jobs, "times")
    for stored in await storage.get([job.id for job in jobs]):
        check_same(stored and stored.due_at.utcoffset() is not None, True, "whether a time has its zone")


@claim
async def large_numbers_come_back(storage: JobStorage) -> None:
    job = make_job("a", sequence=2**62, priority=-1_000_000, version=2**40, fence=2**40, attempt=2**31)
    await put(storage, job)
    check_same(list(await storage.get([job.id])), [job], "large numbers")
    check_same(await storage.last_sequence(), 2**62, "the last sequence")


# -- commit


@claim
async def an_insert_of_a_known_id_answers_with_the_stored_job(storage: JobStorage) -> None:
    job = make_job("a")
    await put(storage, job)
    stored = changed(job, JobStatus.RUNNING)
    await write(storage, stored)
    other, new = make_job("a", queue="another", sequence=9), make_job("b", sequence=2)
    outcome = await storage.commit(Commit(inserts=[other, new]))
    check_same(list(outcome.existing), [stored, None], "the answer to an insert of a known id and of a new one")
    check_same(list(await storage.get([job.id, new.id])), [stored, new], "the jobs after it")


@claim
async def an_id_twice_in_one_commit_is_inserted_once(storage: JobStorage) -> None:
    first, second = make_job("a", queue="first"), make_job("a", queue="second")
    outcome = await storage.commit(Commit(inserts=[first, second]))
    check_same(list(outcome.existing), [None, first], "the answer to two inserts of one id")
    check_same(list(await storage.get([first.id])), [first], "the job after it")


@claim
async def a_change_over_another_version_is_refused_alone(storage: JobStorage) -> None:
    jobs = [make_job(name, sequence=n) for n, name in enumerate("abc", start=1)]
    await put(storage, *jobs)
    await write(storage, changed(jobs[1], reason="was here first"))
    outcome = await write(storage, *(changed(job, JobStatus.RUNNING) for job in jobs))
    check_same(list(outcome.applied), [True, False, True], "what was applied")
    expected = [
        changed(jobs[0], JobStatus.RUNNING),
        changed(jobs[1], reason="was here first"),
        changed(jobs[2], JobStatus.RUNNING),
    ]
    check_same(list(await storage.get([job.id for job in jobs])), expected, "the jobs after it")


@claim
async def a_change_of_an_unknown_job_is_refused(storage: JobStorage) -> None:
    outcome = await write(storage, changed(make_job("nobody")))
    check_same(list(outcome.applied), [False], "what was applied")
    check_same(list(await storage.get([JobId("nobody")])), [None], "the job after it")


@claim
async def inserts_come_before_changes_and_changes_in_order(storage: JobStorage) -> None:
    job = make_job("a")
    claimed, running = changed(job, JobStatus.DISPATCHED), changed(changed(job), JobStatus.RUNNING)
    late = changed(job, JobStatus.CANCELLED)
    outcome = await storage.commit(
        Commit(inserts=[job], changes=[Change(1, claimed), Change(1, late), Change(2, running), Change(2, late)])
    )
    check_same(list(outcome.existing), [None], "whether the job was there")
    check_same(list(outcome.applied), [True, False, True, False], "which changes of one job in one commit were applied")
    check_same(list(await storage.get([job.id])), [running], "the job after it")
    check_same(ids(await storage.active()), ["a"], "the active jobs after it")


@claim
async def a_commit_may_be_given_again(storage: JobStorage) -> None:
    old, new = make_job("old"), make_job("new", sequence=2)
    await put(storage, old)
    commit = Commit(inserts=[new], changes=[Change(1, changed(old, JobStatus.RUNNING))])
    await storage.commit(commit)
    outcome = await storage.commit(commit)
    check_same((list(outcome.existing), list(outcome.applied)), ([new], [False]), "the second answer")
    check_same(ids(await storage.find(JobFilter(), limit=9)), ["new", "old"], "the jobs after it")


@claim
async def a_commit_that_raises_writes_nothing(storage: JobStorage) -> None:
    old = make_job("old")
    await put(storage, old)
    unfit = make_job("unfit", due_at=datetime(2026, 1, 1))  # without a zone it has no place in an order
    commits = [
        Commit(inserts=[make_job("new"), unfit], changes=[Change(1, changed(old))]),
        Commit(inserts=[make_job("new")], changes=[Change(1, changed(old)), Change(1, unfit)]),
    ]
    for commit in commits:
        try:
            await storage.commit(commit)
        except Exception as error:
            check_same(
                isinstance(error, ValueError), True, f"whether {error!r} is the ValueError that says what is unfit"
            )
        else:
            raise AssertionError("a job whose time has no zone was stored")
        check_same(list(await storage.get([old.id, JobId("new"), unfit.id])), [old, None, None], "the jobs after it")
        check_same(await storage.counts(), [("default", JobStatus.ENQUEUED, 1)], "the counts after it")


@claim
async def an_empty_commit_is_nothing(storage: JobStorage) -> None:
    outcome = await storage.commit(Commit())
    check_same((list(outcome.existing), list(outcome.applied)), ([], []), "the answer to an empty commit")


@claim
async def of_many_concurrent_changes_of_one_version_one_wins(storage: JobStorage) -> None:
    job = make_job("a")
    await put(storage, job)
    rivals = [changed(job, reason=f"rival {number}") for number in range(30)]
    outcomes = await asyncio.gather(*(write(storage, rival) for rival in rivals))
    winners = [rival for rival, outcome in zip(rivals, outcomes, strict=True) if outcome.applied[0]]
    check_same(len(winners), 1, "how many of the rivals won")
    check_same(list(await storage.get([job.id])), winners, "the job after it")


@claim
async def five_thousand_jobs_go_through_one_commit(storage: JobStorage) -> None:
    jobs = [make_job(f"job-{number:05}", sequence=number) for number in range(1, 5001)]
    await put(storage, *jobs)
    outcome = await write(storage, *(changed(job, JobStatus.RUNNING) for job in jobs[:-1]))
    check_same(all(outcome.applied), True, "whether all changes were applied")
    check_same(await storage.lanes(), [(Lane("default", "suite.job"), 1)], "the lanes after it")
    check_same(ids(await storage.ready(Lane("default", "suite.job"), 10)), ["job-05000"], "the ready jobs after it")
    check_same(len(await storage.active()), 4999, "how many are active after it")
    expected = [changed(job, JobStatus.RUNNING) for job in jobs[:-1]] + jobs[-1:]
    check_same(list(await storage.get([job.id for job in jobs])) == expected, True, "whether all came back equal")


# -- open and close


@claim
async def a_storage_that_is_not_open_says_so(storage: JobStorage) -> None:
    await storage.close()
    await storage.close()
    for attempt in (
        storage.commit(Commit(inserts=[make_job("a")])),
        storage.get([JobId("a")]),
        storage.last_sequence(),
    ):
        try:
            await attempt
        except StorageError:
            continue
        raise AssertionError("a closed storage answered")
    await storage.open()
    await storage.open()
    check_same(list(await storage.get([JobId("a")])), [None], "a job that was given to a closed storage")


@claim
async def close_and_open_keep_the_jobs(storage: JobStorage) -> None:
    jobs = [full_job(), make_job("b")]
    await put(storage, *jobs)
    await storage.close()
    await storage.open()
    check_same(list(await storage.get([job.id for job in jobs])), jobs, "the jobs after close and open")
    check_same(ids(await storage.ready(Lane("default", "suite.job"), 9)), ["b"], "the ready jobs after close and open")
