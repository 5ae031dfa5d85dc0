"""Public: what the engine's broker does, as one list of claims in raw MQTT 5.0 packets.

Most claims are what the standard demands; a few go beyond it and say so. To hold a broker to them, make a
:class:`BrokerFixture` for it and run every function of :data:`CLAIMS` with one, each with a fresh ``name``::

    @pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
    async def test_my_broker(claim, my_broker):
        await claim(BrokerFixture("127.0.0.1", my_broker.port, name=uuid4().hex))

A claim raises ``AssertionError`` (or lets another error through) where it does not hold, and gives up after twice
:data:`PATIENCE` seconds. It needs the packet codec, as the embedded broker does: ``pip install beskar-jobs[embedded]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from beskar_jobs.testing import broker_messages, broker_sessions
from beskar_jobs.testing.broker_bed import PATIENCE, BrokerClaim, BrokerFixture

__all__ = ["CLAIMS", "PATIENCE", "BrokerClaim", "BrokerFixture"]

CLAIMS: Final[Sequence[BrokerClaim]] = (*broker_messages.claim, *broker_sessions.claim)
"""Every claim, in the order in which they are worth reading."""
