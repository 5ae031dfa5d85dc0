"""Long use and abuse of the core: hostile bytes by the thousand, and an hour of coming and going in simulated time.

The numbers are small here; ``benchmarks/broker_soak.py`` runs the same with large ones.
"""

from __future__ import annotations

import gc
import logging
import tracemalloc

import pytest

from beskar_jobs.broker.sessions import BrokerLimits
from tests.broker.core_bed import CoreBed
from tests.broker.soak import Attack, churn


def test_hostile_bytes_by_the_thousand_never_fail_the_broker(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    bed = CoreBed()
    bystander = bed.connect("bystander", "quiet")
    attack = Attack(seed=1)
    for number in range(3000):
        attack.strike(bed)
        if number % 100 == 0:
            bed.connect("p").publish("quiet", b"still here")
            assert bystander.payloads() == [b"still here"]
    assert caplog.records == []


def test_churn_leaves_nothing_behind() -> None:
    bed = CoreBed(BrokerLimits(shared_stall_timeout=30))
    growth = churn(bed, minutes=1, warm_up=1)
    assert growth < 100_000
    bed.advance(3600)
    statistics = bed.core.statistics()
    assert (statistics.clients, statistics.sessions, statistics.subscriptions, statistics.queued_messages) == (0,) * 4
    assert statistics.retained_messages == 0
    assert bed.core.next_deadline() is None


def test_connections_that_have_gone_are_not_remembered_until_their_keep_alive_would_have_lapsed() -> None:
    bed = CoreBed()
    staying = bed.connect("staying", keep_alive=65_535)
    tracemalloc.start()
    try:
        before = 0
        for number in range(1500):
            bed.connect(f"c{number % 10}", keep_alive=65_535).drop()
            bed.advance(0.001)
            if number == 500:
                gc.collect()
                before = tracemalloc.get_traced_memory()[0]
        gc.collect()
        growth = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert growth < 100_000  # some 2 KB each would be 2 MB
    bed.advance(65_535 * 1.5 - 10)
    assert bed.core.statistics().clients == 1
    bed.advance(20)
    assert staying.disconnected() == 0x8D
