"""Every claim of the public suite, for every transport."""

from __future__ import annotations

import pytest

from beskar_jobs.testing.transport_suite import CLAIMS, Claim, TransportFixture


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
async def test_transport_keeps_the_contract(claim: Claim, bed: TransportFixture) -> None:
    await claim(bed)
