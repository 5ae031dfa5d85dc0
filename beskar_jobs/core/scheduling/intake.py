"""From an item of an enqueue command to the job it asks for, or to the reason why not."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

import msgspec

from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.model.job import MAX_PRIORITY, JobId, JobSpec
from beskar_jobs.model.names import name_problem
from beskar_jobs.model.recurring import RecurringDefinition
from beskar_jobs.wire.messages import MAX_ARGUMENT_BYTES, EnqueueItem

MAX_DELAY: Final = timedelta(days=10 * 365)
MAX_METADATA_BYTES: Final = 16 * 1024

_cached_name_problem = lru_cache(maxsize=10_000)(name_problem)


def spec_of(item: EnqueueItem, sequence: int, now: datetime) -> JobSpec:
    """The spec that *item* asks for.

    Raises:
        InvalidValue: naming the option and the rule.
    """
    # Job ids are all different, so only the other two gain from the cache.
    for kind, name, problem in (
        ("job id", item.id, name_problem(item.id)),
        ("job type", item.job_type, _cached_name_problem(item.job_type)),
        ("queue", item.queue, _cached_name_problem(item.queue)),
    ):
        if problem is not None:
            raise InvalidValue(f"{kind} {name!r} {problem}")
    arguments = bytes(item.arguments)
    if len(arguments) > MAX_ARGUMENT_BYTES:
        raise InvalidValue(f"the arguments are {len(arguments)} bytes long; {MAX_ARGUMENT_BYTES} are allowed")
    if abs(item.priority) > MAX_PRIORITY:
        raise InvalidValue(f"priority is from -{MAX_PRIORITY} to {MAX_PRIORITY}, not {item.priority}")
    if item.timeout is not None and not 0 < item.timeout <= MAX_DELAY.total_seconds():
        raise InvalidValue(f"timeout is a positive number of seconds, not {item.timeout}")
    _check_metadata(item.metadata)
    return JobSpec(
        id=JobId(item.id),
        job_type=item.job_type,
        queue=item.queue,
        arguments=arguments,
        created_at=now,
        sequence=sequence,
        priority=item.priority,
        run_at=_run_at(item, now),
        retry=item.retry,
        timeout=item.timeout,
        metadata=item.metadata,
        traceparent=item.traceparent[:55],
    )


def check_recurring(definition: RecurringDefinition) -> None:
    """See that *definition* makes jobs that could be enqueued.

    Raises:
        InvalidValue: naming the option and the rule.
    """
    item = EnqueueItem(
        "recurring",
        definition.job_type,
        definition.queue,
        msgspec.Raw(definition.arguments),
        priority=definition.priority,
        retry=definition.retry,
        timeout=definition.timeout,
        metadata=dict(definition.metadata),
    )
    spec_of(item, 0, datetime.min.replace(tzinfo=UTC))


def _run_at(item: EnqueueItem, now: datetime) -> datetime | None:
    if item.delay is None:
        if item.run_at is None:
            return None
        try:
            run_at = item.run_at.astimezone(UTC)
        except OverflowError:
            raise InvalidValue(f"run_at {item.run_at.isoformat()} is no time in UTC") from None
        if run_at > now + MAX_DELAY:
            raise InvalidValue(f"run_at is at most {MAX_DELAY.days} days ahead, not {item.run_at.isoformat()}")
        return run_at
    if item.run_at is not None:
        raise InvalidValue("delay and run_at are both given; give one")
    if not 0 <= item.delay <= MAX_DELAY.total_seconds():
        raise InvalidValue(f"delay is from 0 to {MAX_DELAY.total_seconds():.0f} seconds, not {item.delay}")
    return now + timedelta(seconds=item.delay) if item.delay else None


def _check_metadata(metadata: Mapping[str, str]) -> None:
    size = sum(len(key) + len(value) for key, value in metadata.items())
    if size > MAX_METADATA_BYTES:
        raise InvalidValue(f"metadata has {size} characters; {MAX_METADATA_BYTES} are allowed")
