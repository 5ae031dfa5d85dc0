"""One attempt without a worker: what a handler reports is kept, and it can be asked to stop."""

from __future__ import annotations

__all__ = ["RecordingLink"]


class RecordingLink:
    """The link of a :class:`~beskar_jobs.JobContext` that a test makes by hand.

    Example::

        link = RecordingLink()
        result = FileDigestJobHandler().execute(JobContext(arguments=FileDigestArgs("a"), link=link))
        assert link.reports[-1] == (100.0, "done")

    Attributes:
        reports: ``(percent, message)`` of every progress report, in order.
    """

    def __init__(self) -> None:
        self.reports: list[tuple[float, str]] = []
        self._cancel_reason: str | None = None

    def cancel(self, reason: str = "") -> None:
        """From now on ``context.cancelled`` is true, and ``context.raise_if_cancelled()`` raises.

        An ``async`` handler is cancelled as every task is, by ``task.cancel()``.
        """
        self._cancel_reason = reason

    def report_progress(self, percent: float, message: str) -> None:
        self.reports.append((percent, message))

    @property
    def cancel_reason(self) -> str | None:
        return self._cancel_reason
