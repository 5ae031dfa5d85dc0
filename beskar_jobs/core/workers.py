"""Which workers are there, how full they are, and which of them is offered the next job.

Presence is judged by incarnation and connection (see :mod:`beskar_jobs.model.presence`) and by a deadline: the Will is
the fast path for a dead process, the deadline catches a host that went silent. Any message from a worker renews it.

A worker's load is what this scheduler has given it, not what its last heartbeat said: a slot is taken the moment a job
is chosen for it, and given back when the attempt ends or is rejected. So a burst spreads evenly, and there are never
more claims than free slots.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import attrs

from beskar_jobs.model.job import JobId, WorkerId, WorkerRef
from beskar_jobs.model.presence import HandlerPolicy, WorkerHeartbeat
from beskar_jobs.ports.storage import Lane

MISSED_HEARTBEATS: Final = 3
"""A worker is lost after this many of its heartbeat intervals without a word."""
MAX_INTERVAL: Final = 60.0
MAX_CONCURRENCY: Final = 100_000


@attrs.define(eq=False)
class WorkerEntry:
    """One worker process that is online."""

    heartbeat: WorkerHeartbeat
    deadline: float
    held: set[JobId] = attrs.field(factory=set)
    full_until_heartbeat: bool = False
    refused: set[Lane] = attrs.field(factory=set)
    report_asked: str = ""

    @property
    def ref(self) -> WorkerRef:
        return WorkerRef(self.heartbeat.worker_id, self.heartbeat.incarnation)

    @property
    def free_slots(self) -> int:
        if self.heartbeat.draining or self.full_until_heartbeat:
            return 0
        return max(0, min(self.heartbeat.max_concurrency, MAX_CONCURRENCY) - len(self.held))

    @property
    def load(self) -> float:
        return len(self.held) / max(1, self.heartbeat.max_concurrency)

    def serves(self, lane: Lane) -> bool:
        """Whether it could ever take a job of *lane*, however full it is now."""
        heartbeat = self.heartbeat
        return (
            not heartbeat.draining
            and (not heartbeat.queues or lane.queue in heartbeat.queues)
            and (not heartbeat.job_types or lane.job_type in heartbeat.job_types)
            and lane not in self.refused
        )

    def declared(self, job_type: str) -> HandlerPolicy | None:
        return self.heartbeat.job_types.get(job_type)


@attrs.frozen
class PresenceChange:
    """What a heartbeat meant: a process that is *lost*, one that has *arrived* (or come back on a new connection)."""

    lost: WorkerRef | None = None
    lost_reason: str = ""
    arrived: WorkerEntry | None = None


_NOTHING: Final = PresenceChange()


class Workers:
    """The workers that are online, and the choice among them."""

    def __init__(self) -> None:
        self._entries: dict[WorkerId, WorkerEntry] = {}
        self._rotation = 0

    def online(self) -> list[WorkerEntry]:
        return list(self._entries.values())

    def find(self, ref: WorkerRef) -> WorkerEntry | None:
        """The entry of exactly this process, if it is online."""
        entry = self._entries.get(ref.worker_id)
        return entry if entry is not None and entry.heartbeat.incarnation == ref.incarnation else None

    # -- presence ------------------------------------------------------------------------------------------------------

    def on_heartbeat(self, heartbeat: WorkerHeartbeat, monotonic: float) -> PresenceChange:
        """Take in what a worker (or its Will) says of itself."""
        entry = self._entries.get(heartbeat.worker_id)
        known = None if entry is None else entry.heartbeat
        if not heartbeat.is_online:
            if known is None:
                # Nobody we know, but jobs that storage shows with it can be freed at once.
                return PresenceChange(_ref(heartbeat), "its worker is offline")
            if (known.incarnation, known.connection) != (heartbeat.incarnation, heartbeat.connection):
                return _NOTHING  # the last will of an earlier process or connection
            del self._entries[heartbeat.worker_id]
            return PresenceChange(_ref(heartbeat), "its worker went offline")
        if known is None or entry is None:
            return PresenceChange(arrived=self._admit(heartbeat, monotonic))
        if known.incarnation != heartbeat.incarnation:
            if heartbeat.incarnation < known.incarnation:
                return _NOTHING  # the older of two processes under one id; it will stop by itself
            return PresenceChange(_ref(known), "its worker was started anew", self._admit(heartbeat, monotonic))
        if heartbeat.connection < known.connection:
            return _NOTHING
        arrived = entry if heartbeat.connection > known.connection else None
        if heartbeat.job_types != known.job_types or heartbeat.queues != known.queues:
            entry.refused.clear()
        entry.heartbeat = heartbeat
        entry.full_until_heartbeat = False
        self._renew(entry, monotonic)
        return PresenceChange(arrived=arrived)

    def _admit(self, heartbeat: WorkerHeartbeat, monotonic: float) -> WorkerEntry:
        entry = WorkerEntry(heartbeat, deadline=0.0)
        self._renew(entry, monotonic)
        self._entries[heartbeat.worker_id] = entry
        return entry

    def _renew(self, entry: WorkerEntry, monotonic: float) -> None:
        interval = min(max(entry.heartbeat.interval, 0.05), MAX_INTERVAL)
        # Never earlier than before: a heartbeat that a broker has kept must not cut a longer grace short.
        entry.deadline = max(entry.deadline, monotonic + MISSED_HEARTBEATS * interval)

    def heard_from(self, ref: WorkerRef, monotonic: float) -> WorkerEntry | None:
        """A message of this process came in: it is alive."""
        entry = self.find(ref)
        if entry is not None:
            self._renew(entry, monotonic)
        return entry

    def expire(self, monotonic: float) -> list[WorkerRef]:
        """Forget, and name, those whose deadline has passed."""
        lost = [entry.ref for entry in self._entries.values() if entry.deadline <= monotonic]
        for ref in lost:
            del self._entries[ref.worker_id]
        return lost

    def renew_all(self, monotonic: float, at_least: float = 0.0) -> None:
        """Grant everybody a fresh deadline, *at_least* seconds off: it was this process that did not listen."""
        for entry in self._entries.values():
            self._renew(entry, monotonic)
            entry.deadline = max(entry.deadline, monotonic + at_least)

    def next_deadline(self) -> float | None:
        return min((entry.deadline for entry in self._entries.values()), default=None)

    # -- choice --------------------------------------------------------------------------------------------------------

    def total_free_slots(self) -> int:
        return sum(entry.free_slots for entry in self._entries.values())

    def known_types(self) -> Collection[str] | None:
        """The job types that somebody with a free slot knows; ``None``: somebody takes all."""
        known: set[str] = set()
        for entry in self._entries.values():
            if entry.free_slots > 0:
                if not entry.heartbeat.job_types:
                    return None
                known.update(entry.heartbeat.job_types)
        return known

    def candidates(self, lane: Lane) -> list[WorkerEntry]:
        """Who could take a job of *lane* right now."""
        return [entry for entry in self._entries.values() if entry.free_slots > 0 and entry.serves(lane)]

    def capable(self, lane: Lane) -> int:
        """How many workers could take a job of *lane*, now or when they have a free slot."""
        return sum(1 for entry in self._entries.values() if entry.serves(lane))

    def choose(self, candidates: list[WorkerEntry]) -> WorkerEntry | None:
        """The least loaded of *candidates* that still has a slot; among equals, each in turn."""
        self._rotation += 1
        count = len(candidates)
        best: WorkerEntry | None = None
        for offset in range(count):
            entry = candidates[(self._rotation + offset) % count]
            if entry.free_slots > 0 and (best is None or entry.load < best.load):
                best = entry
        return best


def _ref(heartbeat: WorkerHeartbeat) -> WorkerRef:
    return WorkerRef(heartbeat.worker_id, heartbeat.incarnation)
