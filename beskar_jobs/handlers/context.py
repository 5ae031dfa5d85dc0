"""What a handler knows about the attempt it runs, and how it talks back.

The worker owns the other end, an :class:`AttemptLink`. Its methods may be called from any thread, because a synchronous
handler runs in one: progress is handed over, never sent from the handler's thread. Cancelling an ``async`` handler is
a :class:`asyncio.CancelledError` at its next ``await``; a synchronous one has to look, at :attr:`JobContext.cancelled`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Generator, Mapping, MutableMapping
from datetime import datetime
from typing import Any, Final, Generic, Protocol, TypeVar

import attrs

from beskar_jobs.model.errors import InvalidValue, JobCancelled
from beskar_jobs.model.job import DEFAULT_QUEUE, JobId

A_co = TypeVar("A_co", covariant=True)


_NO_JOB: Final = JobId("")


class AttemptLink(Protocol):
    """The worker's end of one attempt. Every member may be used from any thread, and returns at once."""

    def report_progress(self, percent: float, message: str) -> None:
        """Hand a progress report over; it may be dropped where a newer one follows, and never fails."""
        ...

    @property
    def cancel_reason(self) -> str | None:
        """Why the attempt shall stop (``""``: nobody said); ``None`` while it shall go on."""
        ...


class _NoLink:
    """The link of a context that belongs to no worker: a handler under a unit test."""

    def report_progress(self, percent: float, message: str) -> None:
        """Nobody listens."""

    @property
    def cancel_reason(self) -> str | None:
        return None


class ProgressReport:
    """A report that is on its way already. Awaiting it gives the event loop one turn; a plain call needs no more."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        yield


_ON_ITS_WAY = ProgressReport()


class _JobLogger(logging.LoggerAdapter[logging.Logger]):
    """Adds the job to every record (``%(job_id)s``), next to what the call itself passes as ``extra``."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(kwargs.get("extra") or {}), **(self.extra or {})}
        return msg, kwargs


@attrs.frozen(kw_only=True, eq=False)
class JobContext(Generic[A_co]):
    """One attempt at a job, as its handler sees it.

    Only *arguments* has to be given, so that a unit test can make one by hand.

    Attributes:
        arguments: the job's arguments, of the declared type.
        attempt: which attempt this is, from 1.
        metadata: what the enqueuer passed along.
        deadline: when the attempt will be timed out (aware, UTC); ``None``: it has no time-out.
        traceparent: W3C trace context of the enqueuer, ``""`` for none.
    """

    arguments: A_co
    job_id: JobId = _NO_JOB
    job_type: str = ""
    queue: str = DEFAULT_QUEUE
    attempt: int = 1
    metadata: Mapping[str, str] = attrs.field(factory=dict)
    deadline: datetime | None = None
    traceparent: str = ""
    link: AttemptLink = attrs.field(factory=_NoLink, repr=False)

    def report_progress(self, percent: float, message: str = "") -> ProgressReport:
        """Tell everybody who watches the job how far it is.

        The report is on its way when the call returns. An ``async`` handler writes ``await
        context.report_progress(…)``, which lets the event loop breathe; a synchronous one just calls.

        Args:
            percent: from 0 to 100.
            message: a few words for people.

        Raises:
            InvalidValue: *percent* is not a number from 0 to 100.
        """
        if isinstance(percent, bool) or not isinstance(percent, int | float):
            raise InvalidValue(f"progress is a number from 0 to 100, not {percent!r}")
        if not (math.isfinite(percent) and 0 <= percent <= 100):
            raise InvalidValue(f"progress is from 0 to 100 percent, not {percent!r}")
        self.link.report_progress(float(percent), str(message))
        return _ON_ITS_WAY

    @property
    def cancelled(self) -> bool:
        """Somebody asked for the job to stop, its time is up, or this worker lost it."""
        return self.link.cancel_reason is not None

    def raise_if_cancelled(self) -> None:
        """Leave a synchronous handler that shall stop.

        Raises:
            JobCancelled: the attempt shall stop; let it through.
        """
        reason = self.link.cancel_reason
        if reason is not None:
            raise JobCancelled(self.job_id, reason)

    @property
    def logger(self) -> logging.LoggerAdapter[logging.Logger]:
        """The logger ``beskar_jobs.job.<job type>``; its records carry ``job_id``, ``job_type`` and ``attempt``."""
        name = f"beskar_jobs.job.{self.job_type}" if self.job_type else "beskar_jobs.job"
        extra = {"job_id": self.job_id, "job_type": self.job_type, "attempt": self.attempt}
        return _JobLogger(logging.getLogger(name), extra)
