"""Which worker is there, and which of them is offered the next job."""

from __future__ import annotations

from collections import Counter

import pytest

from beskar_jobs.core.workers import MISSED_HEARTBEATS, Workers
from beskar_jobs.model.job import JobId, WorkerId, WorkerRef
from beskar_jobs.model.presence import HandlerPolicy
from beskar_jobs.ports.storage import Lane
from tests.core.harness import beat

LANE = Lane("q", "t")


def ref(worker: str = "w1", incarnation: str = "i1") -> WorkerRef:
    return WorkerRef(WorkerId(worker), incarnation)


@pytest.fixture
def workers() -> Workers:
    return Workers()


def give(workers: Workers, count: int, lane: Lane = LANE) -> Counter[str]:
    """Give *count* jobs out; how many each worker got."""
    given: Counter[str] = Counter()
    for index in range(count):
        entry = workers.choose(workers.candidates(lane))
        if entry is not None:
            entry.held.add(JobId(f"j{len(given)}-{index}"))
            given[entry.ref.worker_id] += 1
    return given


# -- choice ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep_candidates", [True, False])
def test_a_burst_spreads_evenly_over_equal_workers(workers: Workers, keep_candidates: bool) -> None:
    for name in ("w1", "w2", "w3", "w4"):
        workers.on_heartbeat(beat(name, slots=10), 0.0)
    if keep_candidates:
        candidates = workers.candidates(LANE)
        for index in range(20):
            entry = workers.choose(candidates)
            assert entry is not None
            entry.held.add(JobId(f"j{index}"))
    else:
        give(workers, 20)
    assert [len(entry.held) for entry in workers.online()] == [5, 5, 5, 5]


def test_the_least_loaded_goes_first_by_its_share_of_slots(workers: Workers) -> None:
    workers.on_heartbeat(beat("small", slots=2), 0.0)
    workers.on_heartbeat(beat("large", slots=8), 0.0)
    assert give(workers, 5) == {"large": 4, "small": 1}


def test_single_jobs_go_to_idle_workers_in_turn(workers: Workers) -> None:
    for name in ("w1", "w2", "w3"):
        workers.on_heartbeat(beat(name), 0.0)
    given: Counter[str] = Counter()
    for _ in range(30):
        entry = workers.choose(workers.candidates(LANE))
        assert entry is not None
        given[entry.ref.worker_id] += 1  # and ended at once
    assert given == {"w1": 10, "w2": 10, "w3": 10}


def test_nobody_gets_more_than_its_slots(workers: Workers) -> None:
    workers.on_heartbeat(beat("w1", slots=2), 0.0)
    workers.on_heartbeat(beat("w2", slots=3), 0.0)
    assert give(workers, 50) == {"w1": 2, "w2": 3}
    assert workers.total_free_slots() == 0
    assert workers.choose(workers.candidates(LANE)) is None
    assert workers.choose([]) is None


@pytest.mark.parametrize(
    ("heartbeat", "takes"),
    [
        (beat(), True),
        (beat(queues=("q", "x")), True),
        (beat(queues=("x",)), False),
        (beat(types={"t": HandlerPolicy()}), True),
        (beat(types={"x": HandlerPolicy()}), False),
        (beat(draining=True), False),
    ],
)
def test_only_the_capable_are_candidates(workers: Workers, heartbeat: object, takes: bool) -> None:
    workers.on_heartbeat(heartbeat, 0.0)  # type: ignore[arg-type]  # parametrize loses the type
    assert bool(workers.candidates(LANE)) is takes
    assert workers.capable(LANE) == takes


def test_a_worker_without_slots_is_capable_but_no_candidate(workers: Workers) -> None:
    workers.on_heartbeat(beat(slots=0), 0.0)
    assert workers.candidates(LANE) == []
    assert workers.capable(LANE) == 1


def test_a_worker_that_said_full_is_asked_again_after_its_heartbeat(workers: Workers) -> None:
    workers.on_heartbeat(beat(), 0.0)
    workers.online()[0].full_until_heartbeat = True
    assert workers.candidates(LANE) == []
    workers.on_heartbeat(beat(), 1.0)
    assert len(workers.candidates(LANE)) == 1


def test_a_refused_lane_is_offered_again_only_when_the_worker_knows_other_types(workers: Workers) -> None:
    workers.on_heartbeat(beat(), 0.0)
    workers.online()[0].refused.add(LANE)
    workers.on_heartbeat(beat(), 1.0)
    assert workers.candidates(LANE) == []
    workers.on_heartbeat(beat(types={"t": HandlerPolicy()}), 2.0)
    assert len(workers.candidates(LANE)) == 1


# -- presence ----------------------------------------------------------------------------------------------------------


def test_the_first_heartbeat_arrives_and_the_next_is_no_change(workers: Workers) -> None:
    change = workers.on_heartbeat(beat(), 0.0)
    assert change.arrived is not None
    assert change.arrived.ref == ref()
    assert workers.on_heartbeat(beat(), 1.0).arrived is None


def test_a_new_connection_arrives_again_with_what_it_holds(workers: Workers) -> None:
    workers.on_heartbeat(beat(), 0.0)
    workers.online()[0].held.add(JobId("j1"))
    change = workers.on_heartbeat(beat(connection=2), 1.0)
    assert change.lost is None
    assert change.arrived is not None
    assert change.arrived.held == {"j1"}


@pytest.mark.parametrize(("incarnation", "connection"), [("i0", 9), ("i1", 1), ("i2", 2)])
def test_the_will_of_another_process_or_connection_is_ignored(
    workers: Workers, incarnation: str, connection: int
) -> None:
    workers.on_heartbeat(beat(connection=2), 0.0)
    change = workers.on_heartbeat(beat("w1", incarnation, connection=connection, online=False), 1.0)
    assert (change.lost, change.arrived) == (None, None)
    assert workers.find(ref()) is not None


def test_its_own_will_loses_a_worker(workers: Workers) -> None:
    workers.on_heartbeat(beat(connection=2), 0.0)
    assert workers.on_heartbeat(beat(connection=2, online=False), 1.0).lost == ref()
    assert workers.online() == []


def test_a_newer_process_replaces_the_older_and_loses_it(workers: Workers) -> None:
    workers.on_heartbeat(beat(), 0.0)
    change = workers.on_heartbeat(beat("w1", "i2"), 1.0)
    assert change.lost == ref()
    assert change.arrived is not None
    assert change.arrived.ref == ref("w1", "i2")
    assert change.arrived.held == set()
    assert workers.find(ref()) is None


@pytest.mark.parametrize("late", [beat("w1", "i1"), beat("w1", "i2", connection=1)])
def test_a_heartbeat_of_an_older_process_or_connection_is_ignored(workers: Workers, late: object) -> None:
    workers.on_heartbeat(beat("w1", "i2", connection=2), 0.0)
    change = workers.on_heartbeat(late, 5.0)  # type: ignore[arg-type]  # parametrize loses the type
    assert (change.lost, change.arrived) == (None, None)
    (entry,) = workers.online()
    assert (entry.heartbeat.incarnation, entry.heartbeat.connection) == ("i2", 2)
    assert workers.expire(MISSED_HEARTBEATS * 2.0) == [ref("w1", "i2")], "it does not speak for its successor"


def test_an_unknown_workers_good_bye_names_it_lost(workers: Workers) -> None:
    assert workers.on_heartbeat(beat(online=False), 0.0).lost == ref()
    assert workers.online() == []


def test_a_worker_expires_after_three_of_its_own_intervals(workers: Workers) -> None:
    workers.on_heartbeat(beat("fast", interval=1.0), 10.0)
    workers.on_heartbeat(beat("slow", interval=5.0), 10.0)
    assert workers.next_deadline() == 13.0
    assert workers.expire(12.9) == []
    assert workers.expire(13.0) == [ref("fast")]
    assert workers.expire(24.9) == []
    assert workers.expire(25.0) == [ref("slow")]
    assert workers.next_deadline() is None


@pytest.mark.parametrize("interval", [-1.0, 0.0, 1e300])
def test_a_senseless_interval_is_bounded(workers: Workers, interval: float) -> None:
    workers.on_heartbeat(beat(interval=interval), 0.0)
    deadline = workers.next_deadline()
    assert deadline is not None
    assert 0.0 < deadline <= 180.0


def test_a_word_renews_and_a_dead_process_word_does_not(workers: Workers) -> None:
    workers.on_heartbeat(beat(), 0.0)
    assert workers.heard_from(ref("w1", "i0"), 5.0) is None
    assert workers.next_deadline() == 6.0
    assert workers.heard_from(ref(), 5.0) is not None
    assert workers.next_deadline() == 11.0
    workers.renew_all(100.0)
    assert workers.expire(105.0) == []


def test_a_granted_grace_is_not_cut_short_by_a_heartbeat(workers: Workers) -> None:
    workers.on_heartbeat(beat(interval=0.1), 0.0)
    workers.renew_all(100.0, at_least=6.0)
    workers.on_heartbeat(beat(interval=0.1), 100.0)  # one that the broker has kept, of before the outage
    assert workers.expire(105.9) == []
    assert workers.expire(106.0) == [ref()]
