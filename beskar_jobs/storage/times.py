"""Times as whole numbers, for every storage that keeps or orders them so: microseconds since 1970 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from beskar_jobs.model.errors import InvalidValue

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def to_microseconds(moment: datetime) -> int:
    """Whole microseconds since 1970 in UTC.

    Raises:
        InvalidValue: *moment* has no time zone.
    """
    try:
        since = moment - EPOCH
    except TypeError:
        raise InvalidValue(f"a time in a job has a time zone, as in datetime.now(UTC); {moment!r} has none") from None
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def from_microseconds(value: int) -> datetime:
    return EPOCH + timedelta(microseconds=value)
