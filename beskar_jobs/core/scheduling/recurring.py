"""Recurring entries in the scheduler session: which is due next, commands about them, and their round trip to storage.

All entries are in memory (some kilobytes each), and a heap has the next instant of each: an entry that is not due costs
nothing. A place in the heap that is out of date (the entry was changed) is passed over when its turn comes.

Where overlap matters, the runs of an entry are asked of storage before it fires: another scheduler may have ended them.
Runs whose insert is not committed yet count as running; those that ended since the question was asked, as ended.

While storage is away nothing fires, so that nothing piles up; what is late then is a matter of the misfire rule.

An entry that cannot be read, or whose schedule or zone is none (a time zone database may lose one), is kept and shown
with its problem, and does not fire. A change that storage refuses was made by another scheduler: what was decided here
on the entry since is dropped, its commands are told to try again, and the entry is read anew.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

import attrs

from beskar_jobs.core import recurring as rules
from beskar_jobs.core import transitions
from beskar_jobs.core.scheduling.records import Purpose, Question, ReadRecurring, RecurringWrite, Reply
from beskar_jobs.core.scheduling.state import SchedulerState
from beskar_jobs.cron.timetable import Timetable, check_definition
from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.model.job import Job, JobId, JobSpec
from beskar_jobs.model.recurring import (
    Occurrence,
    OccurrenceOutcome,
    RecurringDefinition,
    RecurringJob,
    RecurringSource,
)
from beskar_jobs.ports.clock import Now
from beskar_jobs.ports.storage import Firing, RecurringChange
from beskar_jobs.wire.messages import RecurringReply

DECISIONS_PER_STEP: Final = 500
"""Entries that fire in one step at most; the rest follow in the next."""
_MICROSECOND: Final = timedelta(microseconds=1)


@attrs.define(eq=False)
class _Entry:
    """An entry as decided last.

    Attributes:
        open_questions: how many of its runs are being read; -1: the entry itself is.
        under_way: writes of it that are not committed.
        running: of the runs asked about, those that have not ended.
        over: runs that ended while they were asked about.
    """

    job: RecurringJob
    timetable: Timetable | None = None
    open_questions: int = 0
    under_way: int = 0
    running: set[JobId] | None = None
    over: set[JobId] | None = None
    last_trigger: datetime | None = None


class Recurring:
    def __init__(
        self,
        state: SchedulerState,
        check_job: Callable[[RecurringDefinition], None],
        rest: Callable[[Job], None],
    ) -> None:
        self._state = state
        self._check_job = check_job
        self._rest = rest
        self._entries: dict[str, _Entry] = {}
        self._heap: list[tuple[datetime, str]] = []
        self._inserting: set[JobId] = set()
        self._awaited: dict[JobId, str] = {}  # runs whose end frees a queued one, or is a matter of a question

    def load(self, entries: Iterable[RecurringJob]) -> None:
        """Take up entries as storage has them."""
        for job in entries:
            entry = self._entries[job.name] = _Entry(job)
            self._read_timetable(entry)
            self._await_runs(job)
            if job.queued is not None and entry.timetable is not None:
                self._ask(entry)  # its run may have ended while nobody looked
            self._schedule(entry)

    def _read_timetable(self, entry: _Entry) -> None:
        if entry.job.problem and not entry.job.definition.job_type:
            return  # unreadable in storage
        try:
            entry.timetable = Timetable.of(entry.job.definition)
        except InvalidValue as problem:
            entry.job = attrs.evolve(entry.job, problem=str(problem))
            self._state.counters["recurring entries broken"] += 1

    def _schedule(self, entry: _Entry) -> None:
        at = entry.job.next_at
        if at is not None and entry.timetable is not None:
            heapq.heappush(self._heap, (at, entry.job.name))
            if len(self._heap) > 2 * len(self._entries) + 1000:  # most of it out of date
                current = self._entries.values()
                self._heap = [(e.job.next_at, e.job.name) for e in current if e.job.next_at and e.timetable]
                heapq.heapify(self._heap)

    @property
    def next_due(self) -> datetime | None:
        return self._heap[0][0] if self._heap else None

    # -- time ----------------------------------------------------------------------------------------------------------

    def advance(self, now: Now) -> None:
        """Fire what is due."""
        heap, wall = self._heap, now.wall
        for _ in range(DECISIONS_PER_STEP):
            if not heap or heap[0][0] > wall:
                return
            at, name = heapq.heappop(heap)
            entry = self._entries.get(name)
            if entry is not None and entry.job.next_at == at and not entry.open_questions:
                self._consider(entry, now)
            heap = self._heap

    def _consider(self, entry: _Entry, now: Now) -> None:
        if entry.job.runs:
            self._ask(entry)
        else:
            self._fire(entry, now)

    def _ask(self, entry: _Entry) -> None:
        entry.open_questions, entry.running, entry.over = len(entry.job.runs), set(), set()
        for run in entry.job.runs:
            self._state.questions.append(Question(Purpose.RUN, run, entry=entry.job.name))

    def run_loaded(self, question: Question, job: Job | None, now: Now) -> None:
        """Storage says how a run stands."""
        entry = self._entries.get(question.entry)
        if entry is None or entry.open_questions <= 0 or entry.running is None:
            return
        run = question.job_id
        if run in self._inserting or (job is not None and not job.status.is_terminal):
            entry.running.add(run)
        entry.open_questions -= 1
        if not entry.open_questions:
            self._fire(entry, now)

    def ended(self, job_id: JobId, now: Now) -> None:
        """A job ended, and that is committed."""
        name = self._awaited.pop(job_id, None)
        entry = None if name is None else self._entries.get(name)
        if entry is None:
            return
        if entry.open_questions > 0 and entry.over is not None:
            entry.over.add(job_id)
        elif entry.job.queued is not None and not entry.open_questions:
            self._ask(entry)

    def _fire(self, entry: _Entry, now: Now) -> None:
        running = (entry.running or set()) - (entry.over or set())
        entry.running = entry.over = None
        if entry.timetable is None or entry.job.paused:
            return
        decision = rules.advance(entry.job, entry.timetable, now.wall, running)
        jobs = {
            occurrence.instant: self._job(entry.job.definition, occurrence, now)
            for occurrence in decision.occurrences
            if occurrence.job_id is not None
        }
        firings = [Firing(occurrence, jobs.get(occurrence.instant)) for occurrence in decision.occurrences]
        self._write(entry, decision.entry, firings)

    def _job(self, definition: RecurringDefinition, occurrence: Occurrence, now: Now) -> Job:
        assert occurrence.job_id is not None
        self._state.last_sequence += 1
        self._inserting.add(occurrence.job_id)
        by_hand = occurrence.outcome is OccurrenceOutcome.TRIGGERED
        starts = occurrence.instant if by_hand else rules.jittered(definition, occurrence.instant)
        spec = JobSpec(
            id=occurrence.job_id,
            job_type=definition.job_type,
            queue=definition.queue,
            arguments=definition.arguments,
            created_at=now.wall,
            sequence=self._state.last_sequence,
            priority=definition.priority,
            run_at=starts if starts > now.wall and not by_hand else None,
            retry=definition.retry,
            timeout=definition.timeout,
            metadata={**definition.metadata, "recurring": definition.name, "instant": occurrence.instant.isoformat()},
        )
        return transitions.new_job(spec, now.wall)

    def _write(
        self, entry: _Entry, job: RecurringJob | None, firings: Sequence[Firing] = (), *, is_new: bool = False
    ) -> RecurringWrite:
        expected = 0 if is_new else entry.job.version
        name = entry.job.name
        if job is not None:
            entry.job = job
            self._await_runs(job)
            self._schedule(entry)
        change = RecurringChange(name, expected, job, firings)
        write = self._state.ledger.write_recurring(change)
        if write.change is change:
            entry.under_way += 1
        return write

    def _await_runs(self, job: RecurringJob) -> None:
        for run in job.runs:
            self._awaited[run] = job.name

    # -- storage -------------------------------------------------------------------------------------------------------

    def committed(self, write: RecurringWrite, written: Sequence[bool] | None) -> None:
        """*write* is in storage; *written* says which of its firings, ``None`` that it was refused whole."""
        change = write.change
        entry = self._entries.get(change.name)
        for firing in change.firings:
            if firing.job is not None:
                self._inserting.discard(firing.job.id)
        if written is None:
            self._refused(write)
            return
        if entry is not None:
            entry.under_way -= 1
        for job_id, client_id in write.watchers:
            self._state.outbox.watch(job_id, client_id)
        for firing, is_new in zip(change.firings, written, strict=True):
            self._state.counters[f"recurring {firing.occurrence.outcome}" if is_new else "recurring known"] += 1
            if is_new and firing.job is not None:
                self._rest(firing.job)
        for reply, answer in write.answers:
            self._state.outbox.reply(reply, answer)

    def _refused(self, write: RecurringWrite) -> None:
        name = write.change.name
        self._state.counters["recurring writes refused"] += 1
        withdrawn = self._state.ledger.withdraw_recurring(name)
        dropped = [write] if withdrawn is None else [write, withdrawn]
        for lost in dropped:
            for firing in lost.change.firings:
                if firing.job is not None:
                    self._inserting.discard(firing.job.id)
            for reply, _ in lost.answers:
                busy = RecurringReply(error=f"another scheduler changes recurring {name!r}", busy=True)
                self._state.outbox.reply(reply, busy)
        entry = self._entries.get(name)
        if entry is not None:
            entry.open_questions, entry.running, entry.over = -1, None, None
        self._state.reads.append(ReadRecurring(name))

    def loaded(self, name: str, found: Sequence[RecurringJob]) -> None:
        """The entry as storage has it now; nothing: it was removed."""
        self._entries.pop(name, None)
        self.load(found)

    # -- commands ------------------------------------------------------------------------------------------------------

    def get(self, name: str) -> RecurringJob | None:
        entry = self._entries.get(name)
        return None if entry is None else entry.job

    def names_after(self, name: str) -> list[str]:
        """The names beyond *name*, in order."""
        return sorted(each for each in self._entries if each > name)

    def upsert(self, definition: RecurringDefinition, pause: bool | None, reply: Reply | None, now: Now) -> None:
        """Add the entry, or change it.

        Raises:
            InvalidValue: the definition breaks a rule.
        """
        self._define(definition, RecurringSource.API, pause, reply, now)

    def _define(
        self,
        definition: RecurringDefinition,
        source: RecurringSource,
        pause: bool | None,
        reply: Reply | None,
        now: Now,
    ) -> None:
        timetable = check_definition(definition)
        self._check_job(definition)
        entry = self._entries.get(definition.name)
        if self._is_busy(entry, definition.name, reply):
            return
        known = None if entry is None else entry.job
        job = rules.defined(known, definition, timetable, now.wall, source=source, pause=pause)
        if job is known and entry is not None and not entry.under_way:
            self._state.outbox.reply(reply, RecurringReply(entries=[job]))
            return
        if job is known:  # not committed yet; the answer waits for that
            job = attrs.evolve(job, version=job.version + 1)
        if entry is None:
            entry = self._entries[definition.name] = _Entry(job)
        entry.timetable = timetable
        self._write(entry, job, is_new=known is None).answers.append((reply, RecurringReply(entries=[job])))

    def declare(
        self, definitions: Sequence[RecurringDefinition], job_types: Iterable[str], incarnation: str, now: Now
    ) -> list[str]:
        """What a worker's code declares; which of it was refused, and why.

        Of the workers that are online and know a job type, the one that was started last speaks for it: while new code
        takes the place of old code, the two do not change entries to and fro.

        An entry that somebody has changed through a client stays theirs. One whose job type the worker knows, and that
        it does not declare, is withdrawn: it fires on for an hour, and is paused then unless a worker declares it.
        """
        types = set(job_types)
        for worker in self._state.workers.online():
            if worker.heartbeat.incarnation > incarnation:
                types.difference_update(worker.heartbeat.job_types)
        refused: list[str] = []
        declared: set[str] = set()
        for definition in definitions:
            declared.add(definition.name)
            known = self.get(definition.name)
            if definition.job_type not in types or (known is not None and known.source is RecurringSource.API):
                continue
            try:
                self._define(definition, RecurringSource.DECLARED, None, None, now)
            except InvalidValue as problem:
                refused.append(f"{definition.name}: {problem}")
        for name, entry in self._entries.items():
            job = entry.job
            is_gone = name not in declared and job.definition.job_type in types
            if is_gone and job.source is RecurringSource.DECLARED and job.withdrawn_at is None:
                if entry.open_questions < 0:
                    continue  # it is being read; the next announcement tells again
                self._write(entry, rules.withdrawn(job, now.wall))
        return refused

    def remove(self, name: str, reply: Reply | None) -> None:
        entry = self._known(name, reply)
        if entry is not None:
            del self._entries[name]
            self._write(entry, None).answers.append((reply, RecurringReply()))

    def pause(self, name: str, reply: Reply | None, now: Now) -> None:
        entry = self._known(name, reply)
        if entry is not None:
            job = rules.paused(entry.job, now.wall)
            self._write(entry, job).answers.append((reply, RecurringReply(entries=[job])))

    def resume(self, name: str, reply: Reply | None, now: Now) -> None:
        entry = self._known(name, reply)
        if entry is None:
            return
        job = rules.resumed(entry.job, entry.timetable, now.wall)
        if entry.timetable is None:
            job = attrs.evolve(job, problem=entry.job.problem)
        self._write(entry, job).answers.append((reply, RecurringReply(entries=[job])))

    def trigger(self, name: str, job_id: JobId, watcher: str, reply: Reply | None, now: Now) -> None:
        """Run it now, whatever its schedule and its overlap say; the same *job_id* twice makes one run."""
        entry = self._known(name, reply)
        if entry is None:
            return
        definition = entry.job.definition
        if not definition.job_type:
            self._state.outbox.reply(reply, RecurringReply(error=entry.job.problem))
            return
        # Never an instant of the schedule (those are whole milliseconds), nor that of another trigger.
        instant = now.wall if entry.last_trigger is None else max(now.wall, entry.last_trigger + _MICROSECOND)
        if not instant.microsecond % 1000:
            instant += _MICROSECOND
        entry.last_trigger = instant
        occurrence = Occurrence(name, instant, OccurrenceOutcome.TRIGGERED, now.wall, job_id)
        run = self._job(definition, occurrence, now)
        job = rules.triggered(entry.job, occurrence, job_id, now.wall)
        write = self._write(entry, job, [Firing(occurrence, run)])
        write.answers.append((reply, RecurringReply(entries=[job])))
        if watcher:
            write.watchers.append((job_id, watcher))

    def _known(self, name: str, reply: Reply | None) -> _Entry | None:
        entry = self._entries.get(name)
        if entry is None:
            self._state.outbox.reply(reply, RecurringReply(unknown=True))
            return None
        return None if self._is_busy(entry, name, reply) else entry

    def _is_busy(self, entry: _Entry | None, name: str, reply: Reply | None) -> bool:
        if entry is None or entry.open_questions >= 0:
            return False
        self._state.outbox.reply(reply, RecurringReply(error=f"recurring {name!r} is being read", busy=True))
        return True
