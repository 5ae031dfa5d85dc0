"""The rules of recurring jobs: given an entry, its runs that have not ended, and the time, what fires, what is next.

**Misfire.** An instant is late once a minute has passed (:data:`LATE_AFTER`). As long as none is late, all that is due
fires. Otherwise: ``skip`` leaves the late ones out; ``fire_once`` fires the latest instant, for all of them;
``fire_all`` fires the latest ``misfire_limit`` late ones, and all that are not late. What is left out is one
occurrence, ``missed``, that says how many.

**Overlap.** ``allow_concurrent`` fires. ``skip_if_running`` leaves an instant out while a run has not ended.
``queue_next`` keeps the first such instant until the run has ended, however it ended, and leaves out further ones: at
most one is queued however long the run.

**Clocks.** Each decision goes forward from the last instant dealt with. A wall clock that is set back has nothing due
until it is there again; one that is set forward makes instants due, or late, by the rule above.

Jitter delays the job, not the instant. It and the job's id follow from name and instant alone, so that any
scheduler at any time makes the same job of an instant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Any, Final

import attrs

from beskar_jobs.cron.timetable import Timetable
from beskar_jobs.model.job import JobId
from beskar_jobs.model.recurring import (
    Misfire,
    Occurrence,
    OccurrenceOutcome,
    Overlap,
    RecurringDefinition,
    RecurringJob,
    RecurringSource,
)

LATE_AFTER: Final = timedelta(minutes=1)
MOST_AT_ONCE: Final = 1_000
"""Instants of one entry that fire in one decision at most, and as far as missed ones are counted; the latest."""
RUNS_REMEMBERED: Final = 100
WITHDRAWN_AFTER: Final = timedelta(hours=1)
"""How long an entry fires on that a worker does not declare any more: meanwhile old and new workers may take turns."""

NOT_DECLARED: Final = "no worker declares it any more"

_O = OccurrenceOutcome
_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_MICROSECOND: Final = timedelta(microseconds=1)


def _digest(name: str, instant: datetime) -> bytes:
    return hashlib.sha256(f"{(instant - _EPOCH) // _MICROSECOND} {name}".encode()).digest()


def occurrence_job_id(name: str, instant: datetime) -> JobId:
    """The id of the job that an instant makes."""
    return JobId(f"recurring-{_digest(name, instant).hex()[:32]}")


def jittered(definition: RecurringDefinition, instant: datetime) -> datetime:
    """When the job of an instant may start: up to ``jitter`` seconds later."""
    if not definition.jitter:
        return instant
    share = int.from_bytes(_digest(definition.name, instant)[-4:], "big") / 2**32
    return instant + timedelta(seconds=definition.jitter * share)


@attrs.frozen
class Due:
    """What is due: the instants to serve, and those left out as missed (the latest of them, and how many)."""

    instants: list[datetime]
    missed_until: datetime | None = None
    missed: int = 0


def due(entry: RecurringJob, timetable: Timetable, now: datetime) -> Due:
    """What the misfire rule says of the instants up to *now*."""
    first, definition = entry.next_at, entry.definition
    if first is None or first > now:
        return Due([])
    following = timetable.next_after(first)
    if now - first < LATE_AFTER and (following is None or following > now):
        return Due([first])
    instants = timetable.latest(first, now, MOST_AT_ONCE) or [first]
    late = sum(now - instant >= LATE_AFTER for instant in instants)
    match definition.misfire:
        case _ if not late:
            cut = 0
        case Misfire.SKIP:
            cut = late
        case Misfire.FIRE_ONCE:
            cut = len(instants) - 1
        case Misfire.FIRE_ALL:
            cut = max(0, late - definition.misfire_limit)
    return Due(instants[cut:], instants[cut - 1] if cut else None, cut)


@attrs.frozen
class Decision:
    """What is to be written: the entry, and the occurrences, of which those with a job id make a job."""

    entry: RecurringJob
    occurrences: list[Occurrence]


def advance(entry: RecurringJob, timetable: Timetable, now: datetime, running: AbstractSet[JobId]) -> Decision:
    """Serve what is queued and what is due; *running* are those of ``entry.runs`` that have not ended."""
    name, overlap = entry.name, entry.definition.overlap
    found = due(entry, timetable, now)
    if entry.withdrawn_at is not None and now - entry.withdrawn_at >= WITHDRAWN_AFTER:
        return Decision(_changed(entry, now, paused=True, next_at=None, queued=None, problem=NOT_DECLARED), [])
    runs = [run for run in entry.runs if run in running]
    queued = entry.queued
    occurrences: list[Occurrence] = []
    if found.missed_until is not None:
        occurrences.append(Occurrence(name, found.missed_until, _O.MISSED, now, missed=found.missed))
    if queued is not None and not runs:
        occurrences.append(_fired(name, queued, now))
        runs.append(occurrence_job_id(name, queued))
        queued = None
    for instant in found.instants:
        if overlap is Overlap.ALLOW_CONCURRENT or not runs:
            occurrences.append(_fired(name, instant, now))
            runs.append(occurrence_job_id(name, instant))
        elif overlap is Overlap.QUEUE_NEXT and queued is None:
            queued = instant
        else:
            outcome = _O.SKIPPED_RUNNING if overlap is Overlap.SKIP_IF_RUNNING else _O.SKIPPED_QUEUED
            occurrences.append(Occurrence(name, instant, outcome, now))
    next_at, last_instant = entry.next_at, entry.last_instant
    served = found.instants[-1] if found.instants else found.missed_until
    if served is not None:
        last_instant, next_at = served, timetable.next_after(served)
    return Decision(
        _changed(
            entry,
            now,
            next_at=next_at,
            last_instant=last_instant,
            last=occurrences[-1] if occurrences else entry.last,
            queued=queued,
            runs=() if overlap is Overlap.ALLOW_CONCURRENT else tuple(runs[-RUNS_REMEMBERED:]),
        ),
        occurrences,
    )


def _fired(name: str, instant: datetime, now: datetime) -> Occurrence:
    return Occurrence(name, instant, _O.ENQUEUED, now, occurrence_job_id(name, instant))


def _changed(entry: RecurringJob, now: datetime, **changes: Any) -> RecurringJob:
    return attrs.evolve(entry, version=entry.version + 1, updated_at=now, **changes)


def triggered(entry: RecurringJob, occurrence: Occurrence, job_id: JobId, now: datetime) -> RecurringJob:
    """Run by hand: whatever runs, and also when paused; the run counts for the instants that follow."""
    runs = () if entry.definition.overlap is Overlap.ALLOW_CONCURRENT else tuple(dict.fromkeys((*entry.runs, job_id)))
    return _changed(entry, now, last=occurrence, runs=runs[-RUNS_REMEMBERED:])


def paused(entry: RecurringJob, now: datetime) -> RecurringJob:
    """No instant fires, and what is queued is dropped; a run goes on."""
    return _changed(entry, now, paused=True, next_at=None, queued=None)


def resumed(entry: RecurringJob, timetable: Timetable | None, now: datetime) -> RecurringJob:
    """Go on with the first instant to come; what passed meanwhile was not missed."""
    return _changed(
        entry, now, paused=False, withdrawn_at=None, problem="", next_at=_first(entry.last_instant, timetable, now)
    )


def _first(last_instant: datetime | None, timetable: Timetable | None, now: datetime) -> datetime | None:
    return None if timetable is None else timetable.next_after(now if last_instant is None else max(now, last_instant))


def defined(
    known: RecurringJob | None,
    definition: RecurringDefinition,
    timetable: Timetable,
    now: datetime,
    *,
    source: RecurringSource,
    pause: bool | None,
) -> RecurringJob:
    """The entry of *definition*: a new one, or *known* as changed; *known* itself if that changes nothing.

    A change of the times starts anew from now; any other leaves the next instant as it is. Whether it is paused stays
    too, unless *pause* says; but what was paused because nobody declared it goes on when somebody does again.
    """
    if known is None:
        next_at = None if pause else timetable.next_after(now)
        return RecurringJob(definition, now, now, source=source, paused=bool(pause), next_at=next_at)
    old = known.definition
    is_paused = known.paused and known.problem != NOT_DECLARED if pause is None else pause
    if (old, known.paused, known.source, known.withdrawn_at, known.problem) == (
        definition,
        is_paused,
        source,
        None,
        "",
    ):
        return known
    times = (old.schedule, old.time_zone, old.start, old.end)
    if is_paused:
        next_at = None
    elif (
        known.paused
        or known.problem
        or times
        != (
            definition.schedule,
            definition.time_zone,
            definition.start,
            definition.end,
        )
    ):
        next_at = _first(known.last_instant, timetable, now)
    else:
        next_at = known.next_at
    return _changed(
        known,
        now,
        definition=definition,
        source=source,
        paused=is_paused,
        next_at=next_at,
        queued=None if is_paused or definition.overlap is not Overlap.QUEUE_NEXT else known.queued,
        withdrawn_at=None,
        problem="",
    )


def withdrawn(entry: RecurringJob, now: datetime) -> RecurringJob:
    """A worker that knows its job type does not declare it any more."""
    return _changed(entry, now, withdrawn_at=now)
