"""The scheduler as a pure session: events in, writes, reads and messages out.

The shell (:mod:`beskar_jobs.scheduler`) brings decoded messages, what storage answered, and the time; it commits,
reads and sends what the session asks for. Principles that hold the whole together:

* *Commit first.* A message that tells of a change (a reply, a claim, a status, an acknowledgement) leaves only after
  the change is committed. Until then the session works on with the job as decided (``Tracked.job``), so that a burst
  of events needs no round trip to storage each.
* *One transaction takes all.* While one commit is under way, further changes gather; several to one job become one.
* *A fence per attempt.* News of an attempt that lost its job is refused, counted and answered, so that its
  worker stops.
"""

from beskar_jobs.core.scheduling.records import (
    Batch,
    Notable,
    ReadDue,
    ReadJobs,
    ReadLane,
    ReadRecurring,
    Reply,
    Send,
    WorkerCame,
    WorkerGone,
)
from beskar_jobs.core.scheduling.session import SchedulerSession

__all__ = [
    "Batch",
    "Notable",
    "ReadDue",
    "ReadJobs",
    "ReadLane",
    "ReadRecurring",
    "Reply",
    "SchedulerSession",
    "Send",
    "WorkerCame",
    "WorkerGone",
]
