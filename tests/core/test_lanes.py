"""Lanes against a model: a sorted list of everything that is ready."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import attrs
import pytest

from beskar_jobs.core import lanes as lanes_module
from beskar_jobs.core.lanes import LaneHead, Lanes
from beskar_jobs.model.job import Job, JobId, JobSpec, JobStatus
from beskar_jobs.ports.storage import Lane

T0 = datetime(2026, 3, 1, tzinfo=UTC)
LIMIT = 10


def job(sequence: int, *, priority: int = 0, due: int = 0, queue: str = "q", job_type: str = "t") -> Job:
    spec = JobSpec(JobId(f"j{sequence}"), job_type, queue, b"{}", T0, sequence=sequence, priority=priority)
    return Job(spec, JobStatus.ENQUEUED, due_at=T0 + timedelta(seconds=due), updated_at=T0)


def ids(jobs: list[Job]) -> list[str]:
    return [str(item.id) for item in jobs]


@pytest.fixture
def small_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes_module, "HEAD_LIMIT", LIMIT)


class StoredLane:
    """A lane head with the storage behind it, and the whole truth as a dict."""

    def __init__(self, *, complete: bool) -> None:
        self.head = LaneHead(complete=complete)
        self.ready: dict[JobId, Job] = {}
        self.reading: list[Job] | None = None

    def ordered(self) -> list[Job]:
        return sorted(self.ready.values(), key=lambda item: item.order)

    def push(self, item: Job) -> None:
        self.ready[item.id] = item
        self.head.push(item)

    def discard(self, job_id: JobId) -> None:
        self.ready.pop(job_id, None)
        self.head.discard(job_id)

    def begin_reading(self) -> None:
        if self.reading is None and self.head.wants_refill():
            self.reading = self.ordered()[:LIMIT]

    def end_reading(self) -> None:
        if self.reading is not None:
            # What was discarded since it was read is judged stale by its version; the model leaves it out.
            found, self.reading = self.reading, None
            self.head.refill(found, limit=LIMIT)
            for item in found:
                if self.ready.get(item.id) != item:
                    self.head.discard(item.id)
                    if item.id in self.ready:
                        self.head.push(self.ready[item.id])

    def pop(self) -> None:
        """The head knows the very first job, or that it must read."""
        self.begin_reading()
        if self.reading is not None:
            return
        taken = self.head.pop()
        expected = self.ordered()
        if taken is None:
            assert not expected, f"{expected[0].id} is ready, and the head does not know"
        else:
            assert taken == expected[0]
            del self.ready[taken.id]


@pytest.mark.usefixtures("small_heads")
@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_jobs_come_in_exact_order_whatever_is_in_memory(seed: int, complete: bool) -> None:
    rng = random.Random(seed)
    lane = StoredLane(complete=complete)
    sequence = 0
    if not complete:
        for sequence in range(1, 35):
            lane.ready[JobId(f"j{sequence}")] = job(sequence, priority=rng.randint(0, 2), due=rng.randint(0, 9))
    pushes = rng.choice([0.3, 0.5, 0.7])
    for _ in range(600):
        action = rng.random()
        if action < pushes:
            sequence += 1
            lane.push(job(sequence, priority=rng.randint(0, 2), due=rng.randint(0, 9)))
        elif action < 0.9:
            lane.pop()
        elif action < 0.95 and lane.ready:
            lane.discard(rng.choice(list(lane.ready)))
        else:
            lane.begin_reading()
        if rng.random() < 0.3:
            lane.end_reading()
        assert len(lane.head._jobs) <= LIMIT + 1
    while lane.ready:
        lane.end_reading()
        lane.pop()
    lane.end_reading()
    lane.pop()
    lane.end_reading()
    assert lane.head.is_empty


@pytest.mark.usefixtures("small_heads")
def test_memory_is_bounded_however_many_wait() -> None:
    head = LaneHead(complete=True)
    for sequence in range(1000):
        head.push(job(sequence))
    assert len(head._jobs) <= LIMIT
    assert len(head._heap) <= LIMIT
    assert not head.is_empty


@pytest.mark.usefixtures("small_heads")
def test_memory_is_bounded_however_many_are_cancelled() -> None:
    head = LaneHead(complete=True)
    head.push(job(0))
    for sequence in range(1, 1000):
        head.push(job(sequence))
        head.discard(JobId(f"j{sequence}"))
    assert len(head._heap) <= 2 * LIMIT
    assert [head.pop(), head.pop()] == [job(0), None]


def test_a_job_that_arrives_while_a_refill_is_read_is_not_lost() -> None:
    """Storage was read before the job was written, or after: it may be in the answer or not."""
    head = LaneHead(complete=False)
    assert head.wants_refill()
    assert not head.wants_refill(), "one reading at a time"
    unseen, seen = job(1), job(2)
    head.push(unseen)
    head.push(seen)
    head.refill([seen], limit=LIMIT)
    assert [head.pop(), head.pop(), head.pop()] == [unseen, seen, None]
    assert head.is_empty


def test_of_a_job_read_and_arrived_the_later_state_counts() -> None:
    """It was claimed and given back while storage was read."""
    head = LaneHead(complete=False)
    assert head.wants_refill()
    read = job(1)
    arrived = attrs.evolve(read, version=3, due_at=T0 + timedelta(seconds=5))
    head.push(arrived)
    head.refill([read, job(2)], limit=LIMIT)
    assert head.pop() == job(2)
    assert head.pop() == arrived
    assert head.pop() is None


def test_what_arrived_beyond_the_horizon_stays_in_storage() -> None:
    head = LaneHead(complete=False)
    assert head.wants_refill()
    head.push(job(50))
    head.refill([job(1), job(2), job(3)], limit=3)
    assert [head.pop(), head.pop(), head.pop()] == [job(1), job(2), None]
    assert head.wants_refill()
    head.refill([job(3), job(50)], limit=3)
    assert [head.pop(), head.pop()] == [job(3), job(50)]


def test_a_job_discarded_while_a_refill_is_read_does_not_arrive() -> None:
    head = LaneHead(complete=False)
    assert head.wants_refill()
    head.push(job(1))
    head.discard(JobId("j1"))
    head.refill([], limit=LIMIT)
    assert head.is_empty


def test_a_failed_reading_keeps_the_order() -> None:
    """What came during it is known to storage alone, so nothing later may go before it is read."""
    head = LaneHead(complete=False)
    assert head.wants_refill()
    head.refill([job(10), job(20)], limit=2)
    assert head.pop() == job(10)
    assert head.wants_refill()
    head.push(job(5))
    head.abandon_refill()
    head.push(job(6))
    assert head.pop() is None
    assert head.wants_refill()
    head.refill([job(5), job(6), job(20)], limit=LIMIT)
    assert head.pop() == job(5)


def test_a_job_pushed_again_comes_once() -> None:
    head = LaneHead(complete=True)
    head.push(job(1))
    head.push(job(1))
    assert [head.pop(), head.pop()] == [job(1), None]


# -- lanes -------------------------------------------------------------------------------------------------------------


def test_queues_are_named_in_alphabetical_order_and_forgotten_when_empty() -> None:
    lanes = Lanes()
    for sequence, queue in enumerate(["b", "a", "c"]):
        lanes.push(job(sequence, queue=queue))
    assert lanes.queues() == ["a", "b", "c"]
    lanes.head(Lane("b", "t")).pop()
    assert list(lanes.in_queue("b")) == []
    assert lanes.queues() == ["a", "c"]


def test_a_lane_that_waits_for_storage_is_not_forgotten() -> None:
    lanes = Lanes()
    lanes.add_stored(Lane("q", "t"))
    ((lane, head),) = lanes.in_queue("q")
    assert head.wants_refill()
    assert [found for found, _ in lanes.in_queue("q")] == [lane]
    head.refill([], limit=LIMIT)
    assert list(lanes.in_queue("q")) == []


def test_a_discarded_job_is_gone_and_an_unknown_one_no_matter() -> None:
    lanes = Lanes()
    lanes.push(job(1))
    lanes.discard(job(1))
    lanes.discard(job(2, queue="other"))
    assert list(lanes.in_queue("q")) == []
