"""Public: what every storage must do, as one list of claims.

The contract stands in :mod:`beskar_jobs.ports.storage`; here it is held. To hold a storage of your own to it, run every
function of :data:`CLAIMS` with an open, empty storage, and every function of :data:`DURABLE_CLAIMS` with a function
that makes storages which all stand for the same, empty place, not opened yet::

    @pytest.fixture
    async def storage():
        storage = MyStorage(fresh_place())
        await storage.open()
        yield storage
        await storage.close()

    @pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
    async def test_my_storage(claim, storage):
        await claim(storage)

    @pytest.mark.parametrize("claim", DURABLE_CLAIMS, ids=lambda claim: claim.__name__)
    async def test_my_storage_is_durable(claim):
        place = fresh_place()
        await claim(lambda: MyStorage(place))

A claim raises ``AssertionError``, naming what is and what should be, where it does not hold. Claims wait for nothing
but the storage's own calls, measure no time, and read no clock: run them under a time-out. A storage that keeps jobs
only as long as its process (like the one in memory) leaves out the durable ones.
"""

from __future__ import annotations

from typing import Final

from beskar_jobs.testing import storage_durable, storage_reading, storage_recurring, storage_writing
from beskar_jobs.testing.storage_bed import Claim, DurableClaim, StorageFactory

__all__ = ["CLAIMS", "DURABLE_CLAIMS", "Claim", "DurableClaim", "StorageFactory"]

CLAIMS: Final[list[Claim]] = [*storage_writing.CLAIMS, *storage_reading.CLAIMS, *storage_recurring.CLAIMS]
"""Every claim about one open storage, in the order in which they are worth reading."""

DURABLE_CLAIMS: Final[list[DurableClaim]] = [*storage_durable.CLAIMS, *storage_recurring.DURABLE_CLAIMS]
"""Claims about storages whose jobs outlive the object, and that several objects may use at once."""
