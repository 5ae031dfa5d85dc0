"""Public: what every transport must do, as one list of claims.

The contract stands in :mod:`beskar_jobs.ports.transport`; here it is held. To hold a transport of your own to it, make
a :class:`TransportFixture` for it and run every function of :data:`CLAIMS` with one, each with a fresh ``prefix``::

    @pytest.fixture
    def bed(my_broker):
        return TransportFixture(
            prefix=f"suite/{uuid4().hex}",
            make=lambda options, listener: MyTransport(my_broker.url, options, listener),
            make_unreachable=lambda options, listener: MyTransport(f"my://u:{SECRET}@127.0.0.1:1", options, listener),
            outage=my_broker.outage,
        )

    @pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
    async def test_my_transport(claim, bed):
        await claim(bed)

A claim raises ``AssertionError`` (or lets another error through) where it does not hold. None takes longer than twice
:data:`PATIENCE` before it gives up, and none sleeps for what it could observe. The claims make connections of their own
and close them; they need a broker that lets them publish and subscribe below the prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from beskar_jobs.testing import transport_connections, transport_messages
from beskar_jobs.testing.transport_bed import PATIENCE, SECRET, Claim, Recorder, TransportFixture

__all__ = ["CLAIMS", "PATIENCE", "SECRET", "Claim", "Recorder", "TransportFixture"]

CLAIMS: Final[Sequence[Claim]] = (*transport_messages.claim, *transport_connections.claim)
"""Every claim, in the order in which they are worth reading."""
