"""The clock that tests move."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from beskar_jobs import InvalidValue
from beskar_jobs.ports.clock import Clock
from beskar_jobs.testing.clock import ManualClock

T0 = datetime(2026, 3, 29, 1, 59, tzinfo=UTC)


async def test_both_readings_move_together_and_only_when_told() -> None:
    clock: Clock = ManualClock(T0)
    before = clock.now()
    assert before.wall == T0
    assert clock.now() == before
    assert isinstance(clock, ManualClock)
    clock.advance(90)
    after = clock.now()
    assert (after.wall - before.wall, after.monotonic - before.monotonic) == (timedelta(seconds=90), 90)


async def test_timers_ring_once_in_the_order_of_their_times_and_read_the_new_time() -> None:
    clock, rang = ManualClock(), list[tuple[str, float]]()
    began = clock.now().monotonic
    for name, delay in (("late", 3), ("early", 1), ("second of two", 1), ("never", 10)):
        clock.call_later(delay, partial(lambda name: rang.append((name, clock.now().monotonic - began)), name))
    assert clock.until_next_timer == 1
    clock.advance(0.5)
    assert rang == []
    clock.advance(4.5)
    assert rang == [("early", 5), ("second of two", 5), ("late", 5)]
    clock.advance(1)
    assert len(rang) == 3
    assert clock.until_next_timer == 4


async def test_a_cancelled_timer_does_not_ring_not_even_if_another_cancels_it_in_the_same_moment() -> None:
    clock, rang = ManualClock(), list[str]()
    second = clock.call_later(2, lambda: rang.append("second"))
    clock.call_later(1, second.cancel)
    clock.advance(5)
    second.cancel()
    assert rang == []
    assert clock.until_next_timer is None


async def test_a_timer_without_delay_rings_on_the_next_turn_of_the_loop() -> None:
    clock, rang = ManualClock(), asyncio.Event()
    clock.call_later(0, rang.set)
    assert not rang.is_set()
    await asyncio.wait_for(rang.wait(), 5)


async def test_the_wall_clock_is_stepped_without_time_passing() -> None:
    clock, rang = ManualClock(T0), list[int]()
    clock.call_later(1, lambda: rang.append(1))
    clock.step_wall(-3600)
    assert clock.now().wall == T0 - timedelta(hours=1)
    clock.step_wall(7200)
    assert rang == []
    assert clock.until_next_timer == 1


async def test_a_timer_rings_on_the_loop_it_was_set_on() -> None:
    clock, rang_in, ready, rang = ManualClock(), list[int](), threading.Event(), threading.Event()

    async def other_loop() -> None:
        done = asyncio.Event()

        def ring() -> None:
            rang_in.append(threading.get_ident())
            done.set()

        clock.call_later(1, ring)
        ready.set()
        await asyncio.wait_for(done.wait(), 10)
        rang.set()

    thread = threading.Thread(target=lambda: asyncio.run(other_loop()))
    thread.start()
    assert await asyncio.to_thread(ready.wait, 10)
    clock.advance(1)
    assert await asyncio.to_thread(rang.wait, 10)
    await asyncio.to_thread(thread.join, 10)
    assert rang_in == [thread.ident]


async def test_time_neither_goes_back_nor_starts_without_a_zone() -> None:
    with pytest.raises(InvalidValue, match="-1"):
        ManualClock().advance(-1)
    with pytest.raises(InvalidValue, match="time zone"):
        ManualClock(datetime(2026, 1, 1))
