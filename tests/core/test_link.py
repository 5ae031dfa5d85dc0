"""A broker that stands still makes everybody look silent; only an echo tells that from workers that are gone."""

from __future__ import annotations

import pytest

from beskar_jobs.core.scheduling.link import GIVE_UP, SILENCE, LinkWatch
from beskar_jobs.model.job import JobStatus
from beskar_jobs.wire.messages import Attempt
from tests.core.harness import Bench, beat, item


@pytest.fixture
def bench() -> Bench:
    return Bench()


def running(bench: Bench) -> None:
    """One job runs on worker w1, and the scheduler has a connection."""
    bench.session.on_connected(bench.now)
    bench.beat(beat())
    bench.enqueue(item("j1"))
    bench.settle()
    (claim,) = bench.claims()
    bench.accept(Attempt(claim.job_id, claim.fence))
    bench.settle()
    assert bench.status("j1") is JobStatus.RUNNING


def test_a_silent_worker_on_a_living_line_is_lost_at_its_deadline(bench: Bench) -> None:
    running(bench)
    bench.run(5.5)
    assert bench.job("j1").crashes == 0
    bench.run(1.0)
    assert bench.job("j1").crashes == 1
    assert bench.echoes_wanted >= 1


def test_no_echo_is_asked_for_while_workers_are_heard(bench: Bench) -> None:
    running(bench)
    bench.run(20, beats=lambda: bench.beat(beat(held=[("j1", 1)])))
    assert bench.echoes_wanted == 0


def test_while_the_broker_stands_still_nobody_is_lost(bench: Bench) -> None:
    running(bench)
    bench.line_lives = False
    bench.run(12)
    assert bench.job("j1").crashes == 0
    assert bench.session.next_deadline(bench.now) is not None
    bench.session.on_echo(bench.now)
    bench.line_lives = True
    bench.run(5.5)
    assert bench.job("j1").crashes == 0
    bench.run(1.5)
    assert bench.job("j1").crashes == 1


def test_a_will_of_a_broker_that_stood_still_is_not_believed_at_once(bench: Bench) -> None:
    running(bench)
    bench.line_lives = False
    bench.run(8)
    bench.beat(beat(online=False))
    bench.settle()
    assert bench.job("j1").crashes == 0
    bench.session.on_echo(bench.now)
    bench.line_lives = True
    bench.beat(beat(connection=2, held=[("j1", 1)]))
    bench.settle()
    bench.run(10, beats=lambda: bench.beat(beat(connection=2, held=[("j1", 1)])))
    assert (bench.status("j1"), bench.job("j1").crashes) == (JobStatus.RUNNING, 0)


def test_a_worker_that_does_not_come_back_after_such_a_will_is_lost(bench: Bench) -> None:
    running(bench)
    bench.line_lives = False
    bench.run(8)
    bench.beat(beat(online=False))
    bench.session.on_echo(bench.now)
    bench.line_lives = True
    bench.run(7)
    assert bench.job("j1").crashes == 1


def test_a_will_that_follows_a_reconnect_is_not_believed_at_once(bench: Bench) -> None:
    running(bench)
    bench.session.on_disconnected()
    bench.sleep(8)
    bench.session.on_connected(bench.now)
    bench.beat(beat(online=False))
    bench.settle()
    bench.sleep(1)
    bench.beat(beat(connection=2, held=[("j1", 1)]))
    bench.run(8, beats=lambda: bench.beat(beat(connection=2, held=[("j1", 1)])))
    assert (bench.status("j1"), bench.job("j1").crashes) == (JobStatus.RUNNING, 0)


def test_a_will_on_a_living_line_is_believed_at_once(bench: Bench) -> None:
    running(bench)
    bench.beat(beat(online=False))
    bench.settle()
    assert bench.job("j1").crashes == 1


def test_an_echo_that_is_never_allowed_to_come_back_does_not_hide_silence_for_ever() -> None:
    link = LinkWatch()
    link.connected(0.0)
    assert link.wants_echo(SILENCE)
    assert link.is_suspect(SILENCE + 1)
    assert not link.wants_echo(SILENCE + GIVE_UP)
    assert not link.is_suspect(SILENCE + GIVE_UP)
