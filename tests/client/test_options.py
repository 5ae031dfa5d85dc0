"""The options of ``enqueue``, before anything is sent."""

from __future__ import annotations

import pytest

from beskar_jobs import EnqueueRejected, RawRequest
from beskar_jobs.client.options import EnqueueOptions
from beskar_jobs.model.job import JobId
from beskar_jobs.wire.serializer import JsonSerializer


@pytest.mark.parametrize("metadata", [{"k": "a\udc80"}, {"k\ud800": "v"}])
def test_metadata_that_is_no_unicode_is_refused_rather_than_altered(metadata: dict[str, str]) -> None:
    with pytest.raises(EnqueueRejected, match="surrogate"):
        EnqueueOptions(metadata=metadata).item(RawRequest("t", {}, queue="q"), JobId("j"), JsonSerializer())


def test_metadata_of_any_language_goes_as_it_is() -> None:
    options = EnqueueOptions(metadata={"größe": "名前 😀"})
    item = options.item(RawRequest("t", {}, queue="q"), JobId("j"), JsonSerializer())
    assert item.metadata == {"größe": "名前 😀"}
