"""Whatever sequence of commits a storage is given, it answers as a plain dictionary of jobs would.

The commits are what the engine commits: new jobs, and steps made by the constructors of the transition table; some are
given twice, some over a version that is no longer current.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime, timedelta
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import attrs
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from beskar_jobs.core import transitions
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
from beskar_jobs.ports.storage import Change, Commit, CommitOutcome, JobFilter, JobStorage, Lane
from beskar_jobs.storage import create_storage

START = datetime.fromisoformat("2026-03-01T12:00:00+00:00")
QUEUES = ("critical", "default")
TYPES = ("mail.send", "video.encode")
RETRIES = (None, Retry(2, delays=(0.5, 30)), Retry(1, jitter=0.2, give_up_on=("app.Never",)))

names = st.sampled_from([JobId(f"job-{number}") for number in range(12)])
texts = st.text(st.characters(codec="utf-8"), max_size=8)
moments = st.integers(-3, 3).map(lambda steps: START + timedelta(microseconds=steps * 500_001))
policies = st.builds(
    JobPolicy, retry=st.sampled_from([retry for retry in RETRIES if retry]), timeout=st.sampled_from([None, 0.1, 60])
)
failures = st.builds(
    JobFailure, kind=st.sampled_from(FailureKind), message=texts, error_type=texts, error_bases=st.tuples(texts)
)


@st.composite
def specs(draw: st.DrawFn, sequence: int) -> JobSpec:
    return JobSpec(
        draw(names),
        draw(st.sampled_from(TYPES)),
        draw(st.sampled_from(QUEUES)),
        draw(st.binary(max_size=20)),
        draw(moments),
        sequence=sequence,
        priority=draw(st.integers(-2, 2)),
        run_at=draw(st.none() | moments),
        retry=draw(st.sampled_from(RETRIES)),
        timeout=draw(st.none() | st.floats(0.001, 1e6)),
        metadata=draw(st.dictionaries(texts, texts, max_size=2)),
        traceparent=draw(st.sampled_from(["", "00-4bf92f35-01"])),
    )


@st.composite
def steps(draw: st.DrawFn, job: Job) -> Job:
    """What becomes of *job* by one step of the transition table."""
    now, fence = draw(moments), job.fence
    worker = WorkerRef(WorkerId(draw(st.sampled_from(["w1", "w2"]))), "1")

    def cancel() -> transitions.Transition:
        return transitions.cancel(job, draw(texts), now)

    def request_cancel() -> transitions.Transition:
        return transitions.request_cancel(job, draw(texts), now)

    def succeed() -> transitions.Transition:
        return transitions.succeed(job, fence, draw(st.binary(max_size=9)), now)

    def lose() -> transitions.Transition:
        return transitions.lose(job, draw(texts), now)

    def requeue() -> transitions.Transition:
        return transitions.requeue(job, now)

    choices: dict[JobStatus, list[Callable[[], transitions.Transition]]] = {
        JobStatus.SCHEDULED: [lambda: transitions.due(job, now), lambda: transitions.parents_done(job, now), cancel],
        JobStatus.ENQUEUED: [lambda: transitions.claim(job, worker, draw(policies), now), cancel],
        JobStatus.DISPATCHED: [
            lambda: transitions.accept(job, fence, now),
            lambda: transitions.not_held(job, fence, draw(texts), now),
            succeed,
            lose,
            request_cancel,
        ],
        JobStatus.RUNNING: [
            lambda: transitions.fail(job, fence, draw(failures), now, 0.5),
            lambda: transitions.release(job, fence, now),
            succeed,
            lose,
            request_cancel,
        ],
        JobStatus.DEAD_LETTERED: [requeue],
        JobStatus.CANCELLED: [requeue],
    }
    if job.status not in choices:
        return attrs.evolve(job, version=job.version + 1)
    return draw(st.sampled_from(choices[job.status]))().job


class StorageMachine(RuleBasedStateMachine):
    """Drives a storage and a dictionary with the same commits, and compares every answer."""

    url: ClassVar[str]
    """Of the storage, with the folder of its files as ``{folder}``."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.jobs: dict[JobId, Job] = {}
        self.sequence = 0
        self.storage: JobStorage = create_storage(self.url.format(folder=self.folder.name))
        self.run(self.storage.open())

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(coroutine)

    def teardown(self) -> None:
        self.run(self.storage.close())
        self.loop.close()
        self.folder.cleanup()

    @rule(data=st.data(), inserts=st.integers(0, 4), changes=st.integers(0, 5))
    def commit(self, data: st.DataObject, inserts: int, changes: int) -> None:
        new = []
        for _ in range(inserts):
            self.sequence += 1
            new.append(transitions.new_job(data.draw(specs(self.sequence)), data.draw(moments)))
        expected_existing: list[Job | None] = []
        for job in new:
            expected_existing.append(self.jobs.get(job.id))
            self.jobs.setdefault(job.id, job)
        proposed: list[Change] = []
        expected_applied = []
        for _ in range(changes if self.jobs else 0):
            job = self.jobs[data.draw(st.sampled_from(sorted(self.jobs)))]
            after = data.draw(steps(job))
            over = job.version - data.draw(st.sampled_from([0, 0, 0, 0, 1, -1]))
            proposed.append(Change(over, after))
            expected_applied.append(over == job.version)
            if over == job.version:
                self.jobs[job.id] = after
        commit = Commit(new, proposed)
        outcome: CommitOutcome = self.run(self.storage.commit(commit))
        assert list(outcome.existing) == expected_existing
        assert list(outcome.applied) == expected_applied
        if data.draw(st.booleans(), label="given again"):
            again: CommitOutcome = self.run(self.storage.commit(Commit(new)))
            assert list(again.existing) == [self.jobs[job.id] for job in new]

    @rule()
    def reopen(self) -> None:
        self.run(self.storage.close())
        self.run(self.storage.open())

    @invariant()
    def jobs_are_the_same(self) -> None:
        wanted = [*self.jobs, JobId("nobody")]
        assert list(self.run(self.storage.get(wanted))) == [self.jobs.get(job_id) for job_id in wanted]
        assert self.run(self.storage.last_sequence()) == max(
            (job.spec.sequence for job in self.jobs.values()), default=0
        )

    @invariant()
    def lanes_are_the_same(self) -> None:
        ready = self.having(JobStatus.ENQUEUED)
        sizes = Counter(Lane(job.queue, job.job_type) for job in ready)
        assert dict(self.run(self.storage.lanes())) == dict(sizes)
        for lane in (Lane(queue, job_type) for queue in QUEUES for job_type in TYPES):
            expected = sorted(
                (job for job in ready if (job.queue, job.job_type) == (lane.queue, lane.job_type)),
                key=lambda job: job.order,
            )
            assert list(self.run(self.storage.ready(lane, 99))) == expected
            assert list(self.run(self.storage.ready(lane, 2))) == expected[:2]

    @invariant()
    def times_are_the_same(self) -> None:
        waiting = [
            job for job in self.having(JobStatus.SCHEDULED) if job.waiting_for in (WaitingFor.TIME, WaitingFor.RETRY)
        ]
        waiting.sort(key=lambda job: (job.due_at, job.spec.sequence))
        assert self.run(self.storage.next_due()) == (waiting[0].due_at if waiting else None)
        for now in (START, START + timedelta(seconds=1)):
            assert list(self.run(self.storage.due(now, 3))) == [job for job in waiting if job.due_at <= now][:3]
            later = [job.due_at for job in waiting if job.due_at > now]
            assert self.run(self.storage.next_due(now)) == (later[0] if later else None)

    @invariant()
    def views_are_the_same(self) -> None:
        active = self.having(JobStatus.DISPATCHED, JobStatus.RUNNING)
        assert {job.id: job for job in self.run(self.storage.active())} == {job.id: job for job in active}
        counts = Counter((job.queue, job.status) for job in self.jobs.values())
        assert sorted(self.run(self.storage.counts())) == sorted((*key, count) for key, count in counts.items())
        for statuses in ((), (JobStatus.SUCCEEDED, JobStatus.ENQUEUED), (JobStatus.SCHEDULED,)):
            expected = sorted(self.having(*(statuses or JobStatus)), key=lambda job: -job.spec.sequence)
            assert list(self.run(self.storage.find(JobFilter(statuses), limit=4))) == expected[:4]

    def having(self, *statuses: JobStatus) -> Sequence[Job]:
        return [job for job in self.jobs.values() if job.status in statuses]


class MemoryMachine(StorageMachine):
    url = "memory://"


class SqliteMachine(StorageMachine):
    url = "sqlite:///{folder}/jobs.db"


TestMemoryAnswersAsADictionary = MemoryMachine.TestCase
TestMemoryAnswersAsADictionary.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)
TestSqliteAnswersAsADictionary = SqliteMachine.TestCase
TestSqliteAnswersAsADictionary.settings = settings(
    max_examples=20, stateful_step_count=15, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
