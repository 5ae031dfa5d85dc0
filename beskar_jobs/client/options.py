"""From a typed request and the options of ``enqueue`` to the item of an enqueue command; every option is checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import attrs
import msgspec

from beskar_jobs.model.errors import EnqueueRejected, InvalidValue
from beskar_jobs.model.job import MAX_PRIORITY, JobId
from beskar_jobs.model.names import checked_name
from beskar_jobs.model.request import JobRequest
from beskar_jobs.model.retry import Retry
from beskar_jobs.ports.serializer import Serializer
from beskar_jobs.wire.messages import MAX_ARGUMENT_BYTES, EnqueueItem

Seconds = float | int | timedelta


@attrs.frozen
class EnqueueOptions:
    """The options of ``enqueue`` and ``enqueue_many``; see there."""

    delay: Seconds | None = None
    run_at: datetime | None = None
    queue: str | None = None
    priority: int | None = None
    retry: Retry | None = None
    timeout: Seconds | None = None
    metadata: Mapping[str, str] | None = None

    def item(self, request: JobRequest[Any, Any], job_id: JobId, serializer: Serializer) -> EnqueueItem:
        """The item that asks for *request* with these options.

        Raises:
            EnqueueRejected: an option breaks its rule.
            ValueNotSerializable: the arguments do not fit their declared type.
        """
        if not isinstance(request, JobRequest):
            raise EnqueueRejected(
                f"enqueue takes a request, such as VideoTranscode(…) or VideoTranscodeJobHandler.request(…); "
                f"this is {request!r}"
            )
        arguments = serializer.dump_value(request.arguments, request.args_type)
        if len(arguments) > MAX_ARGUMENT_BYTES:
            raise EnqueueRejected(
                f"the arguments of {request.job_type} are {len(arguments)} bytes long; {MAX_ARGUMENT_BYTES} are "
                "allowed. Pass a reference (a path, a URL, a key) to large data"
            )
        try:
            return EnqueueItem(
                checked_name("job id", job_id),
                checked_name("job type", request.job_type),
                checked_name("queue", self.queue if self.queue is not None else request.queue),
                msgspec.Raw(arguments),
                priority=self._priority(request.priority),
                delay=self._delay(),
                run_at=self._run_at(),
                retry=self.retry,
                timeout=_seconds("timeout", self.timeout, positive=True),
                metadata=self._metadata(),
            )
        except InvalidValue as problem:
            raise EnqueueRejected(str(problem)) from None

    def _priority(self, default: int) -> int:
        priority = default if self.priority is None else self.priority
        if isinstance(priority, bool) or not isinstance(priority, int) or abs(priority) > MAX_PRIORITY:
            raise InvalidValue(f"priority is a whole number from -{MAX_PRIORITY} to {MAX_PRIORITY}, not {priority!r}")
        return priority

    def _delay(self) -> float | None:
        if self.delay is not None and self.run_at is not None:
            raise InvalidValue("delay and run_at are both given; give one")
        return _seconds("delay", self.delay, positive=False)

    def _run_at(self) -> datetime | None:
        if self.run_at is not None and (not isinstance(self.run_at, datetime) or self.run_at.tzinfo is None):
            raise InvalidValue(f"run_at is a datetime with a time zone, not {self.run_at!r}")
        return self.run_at

    def _metadata(self) -> dict[str, str]:
        metadata = dict(self.metadata or {})
        for key, value in metadata.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise InvalidValue(f"metadata maps strings to strings, not {key!r} to {value!r}")
            for text in (key, value):
                try:
                    text.encode()
                except UnicodeEncodeError:
                    raise InvalidValue(
                        f"metadata {key!r}: {text!r} is not valid Unicode (it has a lone surrogate); decode the bytes "
                        "it came from with the right encoding"
                    ) from None
        return metadata


def _seconds(option: str, value: Seconds | None, *, positive: bool) -> float | None:
    if value is None:
        return None
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    bound = "above 0" if positive else "of at least 0"
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds):
        raise InvalidValue(f"{option} is a number of seconds or a timedelta, not {value!r}")
    if seconds < 0 or (positive and seconds == 0):
        raise InvalidValue(f"{option} is {bound}, not {seconds:g} s")
    return float(seconds)
