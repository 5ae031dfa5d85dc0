"""The embedded broker holds every claim of the public broker suite; what Mosquitto does otherwise is listed here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from beskar_jobs.broker import BrokerLimits, EmbeddedBroker
from beskar_jobs.testing.broker_suite import CLAIMS, BrokerClaim, BrokerFixture
from beskar_jobs.testing.services import MosquittoServer

MOSQUITTO_DIFFERS = {
    "overlapping_filters_deliver_once": "sends one copy for each filter that matches; 3.3.4 allows both",
    "receive_maximum_is_never_passed": "sends past the client's Receive Maximum unless that is 1 (against 4.9)",
    "taken_over_client_is_told": "closes the older connection without DISCONNECT 0x8E (3.1.4 asks for it)",
    "silent_client_is_told_why_it_is_cut_off": "closes without DISCONNECT 0x8D, and late: it looks every few seconds",
    "broken_rule_ends_the_connection_with_its_reason": "closes without a reason code for some faults (4.13 allows it)",
    "shared_subscription_gets_nothing_retained_when_it_is_made": "sends retained messages to it (against 4.8.2)",
    "dead_member_of_a_shared_subscription_loses_nothing": "keeps them for the member; 4.8.2 allows both",
    "stuck_member_of_a_shared_subscription_loses_nothing": "they stay with the member; the standard is silent",
}
"""By the name of the claim: what Mosquitto 2.0 does in its place."""


@pytest.fixture
async def embedded() -> AsyncIterator[BrokerFixture]:
    async with EmbeddedBroker(limits=BrokerLimits(shared_stall_timeout=1.0)) as broker:
        yield BrokerFixture("127.0.0.1", broker.port, uuid4().hex)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
async def test_embedded_broker(claim: BrokerClaim, embedded: BrokerFixture) -> None:
    await claim(embedded)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
async def test_mosquitto(claim: BrokerClaim, mosquitto: MosquittoServer) -> None:
    """Where it is listed as different, it must be different, or the list is out of date."""
    fixture = BrokerFixture("127.0.0.1", urlsplit(mosquitto.url).port or 0, uuid4().hex)
    if claim.__name__ in MOSQUITTO_DIFFERS:
        with pytest.raises(AssertionError):
            await claim(fixture)
    else:
        await claim(fixture)
