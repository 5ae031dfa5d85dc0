"""Runs attempts: arguments read, handler called in its place, time-out and cancellation seen to, outcome told.

How an attempt can end, and what is told:

=========================================  =====================================================================
the handler returns                        ``succeeded`` - also when it was asked to stop
its result does not fit the declared type  ``failed`` (result)
its arguments do not fit                   ``failed`` (arguments), without calling it
it raises, anything                        ``failed`` (exception)
its time is up                             ``failed`` (timeout); an async handler gets ``CancelledError``, a
                                           synchronous one sees the token
its time is up, and it does not stop       ``failed`` (timeout), told ``TIMEOUT_GRACE`` seconds later: a thread that
                                           does not look, an async handler that blocks its loop or swallows
                                           ``CancelledError``; its slot stays taken until it ends, whatever it returns
asked to stop, and it stops                ``cancelled``
the worker drains, and it stops            ``released``
the worker lost the job, and it stops      nothing
=========================================  =====================================================================

An attempt leaves the books in the handler's place, on any thread; its timer belongs to the engine's loop, which cancels
it when it hears that the slot is free (:meth:`Execution.forget_time`). Timers know their attempt by its key only.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from enum import Enum
from functools import partial
from typing import Any, Final, Literal, Protocol, cast

import msgspec

from beskar_jobs.handlers.base import HandlerBase
from beskar_jobs.handlers.context import JobContext
from beskar_jobs.handlers.registry import HandlerDefinition, HandlerRegistry
from beskar_jobs.model.errors import JobCancelled, ValueNotSerializable
from beskar_jobs.model.job import FailureKind, JobFailure, JobId
from beskar_jobs.ports.clock import Clock, Timer
from beskar_jobs.ports.serializer import Serializer
from beskar_jobs.wire.messages import MAX_RESULT_BYTES, NULL, Attempt, AttemptEvent, Claim
from beskar_jobs.worker.attempt_log import log_end, log_starts
from beskar_jobs.worker.failures import failure_from
from beskar_jobs.worker.threads import DaemonThreads

logger: Final = logging.getLogger("beskar_jobs.worker")

TIMEOUT_GRACE: Final = 5.0


class StopReason(Enum):
    """Why an attempt shall stop before its handler is done."""

    CANCEL = "cancelled"
    TIMEOUT = "timed out"
    RELEASE = "released: the worker drains"
    ABANDON = "abandoned: the worker lost the job"


class AttemptOutcomes(Protocol):
    """Where outcomes go; every method may be called from any thread, and returns at once."""

    def progress(self, attempt: Attempt, percent: float, message: str) -> None: ...

    def ended(self, event: AttemptEvent, *, frees_slot: bool) -> None: ...

    def freed(self, attempt: Attempt) -> None: ...


class RunningAttempt:
    """One attempt under way; the handler's link to the worker.

    Args:
        started: monotonic time at which it was taken.
    """

    def __init__(
        self,
        claim: Claim,
        queue: str,
        definition: HandlerDefinition,
        outcomes: AttemptOutcomes,
        *,
        clock: Clock,
        started: float,
    ) -> None:
        self.claim = claim
        self.queue = queue
        self.definition = definition
        self.attempt = Attempt(claim.job_id, claim.fence)
        self.stop_reason: StopReason | None = None
        self.task: asyncio.Task[None] | None = None
        self._outcomes = outcomes
        self._clock = clock
        self._started = started
        self._lock = threading.Lock()
        self._told = False

    def report_progress(self, percent: float, message: str) -> None:
        if not self._told:
            self._outcomes.progress(self.attempt, percent, message)

    @property
    def cancel_reason(self) -> str | None:
        return None if self.stop_reason is None else self.stop_reason.value

    def tell(self, event: AttemptEvent | None, *, frees_slot: bool = True) -> None:
        """Tell the one outcome; a later one only frees the slot."""
        with self._lock:
            first, self._told = not self._told, True
        if first and logger.isEnabledFor(logging.WARNING):
            log_end(self.claim, event, self._clock.now().monotonic - self._started)
        if first and event is not None:
            self._outcomes.ended(event, frees_slot=frees_slot)
        elif frees_slot:
            self._outcomes.freed(self.attempt)

    def event(
        self, kind: Literal["succeeded", "failed", "cancelled", "released"], result: bytes | None = None
    ) -> AttemptEvent:
        raw = NULL if result is None else msgspec.Raw(result)
        return AttemptEvent(kind, self.claim.job_id, self.claim.fence, result=raw)

    def failed(self, failure: JobFailure) -> AttemptEvent:
        return AttemptEvent("failed", self.claim.job_id, self.claim.fence, failure=failure)

    def timed_out(self) -> AttemptEvent:
        return self.failed(JobFailure(FailureKind.TIMEOUT, f"the attempt ran longer than {self.claim.timeout:g} s"))


class Execution:
    """Runs the attempts of one worker.

    Args:
        loop: where ``async`` handlers run.
    """

    def __init__(
        self,
        registry: HandlerRegistry,
        serializer: Serializer,
        clock: Clock,
        outcomes: AttemptOutcomes,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._definitions = {definition.job_type: definition for definition in registry}
        self._handlers: dict[str, HandlerBase[Any, Any]] = {
            job_type: definition.create() for job_type, definition in self._definitions.items()
        }
        self._serializer = serializer
        self._clock = clock
        self._outcomes = outcomes
        self._loop = loop
        self._threads = DaemonThreads("beskar-handler")
        self._running: dict[Attempt, RunningAttempt] = {}
        self._timers: dict[Attempt, Timer] = {}
        self._context = contextvars.copy_context()

    # -- called from the engine thread ---------------------------------------------------------------------------------

    def start(self, queue: str, claims: Sequence[Claim]) -> None:
        """Start these attempts, each in its place."""
        for_loop: list[RunningAttempt] = []
        log_starts(claims)
        now = self._clock.now().monotonic
        for claim in claims:
            definition = self._definitions[claim.job_type]
            running = RunningAttempt(claim, queue, definition, self._outcomes, clock=self._clock, started=now)
            self._running[running.attempt] = running
            if running.definition.is_async:
                for_loop.append(running)
            else:
                self._threads.submit(partial(self._run_in_thread, running))
            self._watch_time(running)
        if for_loop:
            self._on_loop(self._start_tasks, for_loop)

    def stop(self, attempts: Sequence[Attempt], reason: StopReason) -> None:
        """Ask these attempts to stop."""
        found = [running for attempt in attempts if (running := self._running.get(attempt)) is not None]
        for running in found:
            if running.stop_reason is None or reason is StopReason.ABANDON:
                running.stop_reason = reason
        tasks = [running for running in found if running.definition.is_async]
        if tasks:
            self._on_loop(_cancel_tasks, tasks)

    def stop_all(self, reason: StopReason) -> None:
        self.stop(list(self._running), reason)

    def release_rest(self) -> None:
        """Give up, in the books, the attempts that did not stop."""
        for running in list(self._running.values()):
            running.tell(running.event("released"), frees_slot=False)

    def close(self) -> None:
        self._threads.close()

    def _on_loop(self, call: Callable[[Sequence[RunningAttempt]], None], attempts: Sequence[RunningAttempt]) -> None:
        try:
            self._loop.call_soon_threadsafe(call, attempts)
        except RuntimeError:  # the user's loop is closed: the process ends, and its Will tells the rest
            logger.warning("the event loop of the handlers is closed; %d attempts not reached", len(attempts))

    def forget_time(self, attempt: Attempt) -> None:
        """The attempt has left its slot: its time need not be watched any more."""
        timer = self._timers.pop(attempt, None)
        if timer is not None:
            timer.cancel()

    def _watch_time(self, running: RunningAttempt) -> None:
        """A handler may not stop when told, and its loop may be blocked, so the engine watches its time.

        The limit of an async handler starts with its first step; here only the end of its grace matters.
        """
        timeout = running.claim.timeout
        if timeout is None:
            return
        if running.definition.is_async:
            self._set_timer(running.attempt, timeout + TIMEOUT_GRACE, self._grace_is_over)
        else:
            self._set_timer(running.attempt, timeout, self._time_is_up)

    def _set_timer(self, attempt: Attempt, delay: float, then: Callable[[Attempt], None]) -> None:
        self._timers[attempt] = self._clock.call_later(delay, partial(then, attempt))

    def _time_is_up(self, attempt: Attempt) -> None:
        running = self._running.get(attempt)
        if running is not None:
            running.stop_reason = running.stop_reason or StopReason.TIMEOUT
            self._set_timer(attempt, TIMEOUT_GRACE, self._grace_is_over)

    def _grace_is_over(self, attempt: Attempt) -> None:
        running = self._running.get(attempt)
        if running is not None:
            running.stop_reason = running.stop_reason or StopReason.TIMEOUT
            running.tell(running.timed_out(), frees_slot=False)

    # -- in the place of the handler -----------------------------------------------------------------------------------

    def _start_tasks(self, attempts: Sequence[RunningAttempt]) -> None:
        for running in attempts:
            # Not in the context of whoever woke the loop, which may be an enqueuer in this process.
            self._loop.create_task(self._run_on_loop(running), context=self._context.copy())

    async def _run_on_loop(self, running: RunningAttempt) -> None:
        # Set here and not where the task is made: a task that is cancelled before its first step never gets to tell an
        # outcome. One that has not begun sees the reason to stop when it does.
        running.task = asyncio.current_task()
        limit = asyncio.timeout(running.claim.timeout)
        event: AttemptEvent | None
        try:
            if running.stop_reason is not None:
                raise asyncio.CancelledError
            handler, context = self._prepare(running)
            async with limit:
                result = await cast("Awaitable[Any]", handler.execute(context))
            event = self._succeeded(running, result)
        except BaseException as error:
            # Whatever it is, also SystemExit and KeyboardInterrupt: raised by a handler, it is the attempt's failure.
            event = self._failed(running, error, timed_out=limit.expired())
        self._finish(running, event)

    def _run_in_thread(self, running: RunningAttempt) -> None:
        self._context.copy().run(self._run_sync, running)

    def _run_sync(self, running: RunningAttempt) -> None:
        event: AttemptEvent | None
        try:
            if running.stop_reason is not None:
                raise JobCancelled(JobId(running.claim.job_id), running.stop_reason.value)
            handler, context = self._prepare(running)
            event = self._succeeded(running, handler.execute(context))
        except BaseException as error:
            event = self._failed(running, error, timed_out=running.stop_reason is StopReason.TIMEOUT)
        self._finish(running, event)

    def _prepare(self, running: RunningAttempt) -> tuple[HandlerBase[Any, Any], JobContext[Any]]:
        claim, definition = running.claim, running.definition
        try:
            arguments = self._serializer.load_value(bytes(claim.arguments), definition.args_type)
        except ValueNotSerializable as problem:
            raise _MisfitError(FailureKind.ARGUMENTS, claim.job_type, problem) from None
        deadline = None
        if claim.timeout is not None:
            deadline = self._clock.now().wall + timedelta(seconds=claim.timeout)
        context = JobContext(
            arguments=arguments,
            job_id=JobId(claim.job_id),
            job_type=claim.job_type,
            queue=running.queue,
            attempt=claim.attempt,
            metadata=claim.metadata,
            deadline=deadline,
            traceparent=claim.traceparent,
            link=running,
        )
        return self._handlers[claim.job_type], context

    def _succeeded(self, running: RunningAttempt, result: Any) -> AttemptEvent:
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise TypeError(
                f"{running.claim.job_type}: execute is 'def' and returned an awaitable; make it 'async def'"
            )
        if running.definition.result_type is None:
            return running.event("succeeded")
        try:
            data = self._serializer.dump_value(result, running.definition.result_type)
            if len(data) > MAX_RESULT_BYTES:
                raise ValueNotSerializable(f"{len(data)} bytes; {MAX_RESULT_BYTES} are allowed")
        except ValueNotSerializable as problem:
            raise _MisfitError(FailureKind.RESULT, running.claim.job_type, problem) from None
        return running.event("succeeded", data)

    def _failed(self, running: RunningAttempt, error: BaseException, *, timed_out: bool) -> AttemptEvent | None:
        stopped = isinstance(error, asyncio.CancelledError | JobCancelled)
        match running.stop_reason:
            case StopReason.ABANDON:
                return None
            case StopReason.RELEASE:
                return running.event("released")
            case StopReason.CANCEL if stopped:
                return running.event("cancelled")
        if timed_out:
            return running.timed_out()
        if isinstance(error, asyncio.CancelledError) and running.task is not None and running.task.cancelling():
            return running.event("released")  # the loop's owner cancelled everything: the program is on its way out
        if isinstance(error, _MisfitError):
            return running.failed(failure_from(error.problem, error.kind))
        return running.failed(failure_from(error))

    def _finish(self, running: RunningAttempt, event: AttemptEvent | None) -> None:
        self._running.pop(running.attempt, None)
        running.tell(event)


def _cancel_tasks(attempts: Sequence[RunningAttempt]) -> None:
    for running in attempts:
        if running.task is not None:
            running.task.cancel()


class _MisfitError(Exception):
    """Arguments or result do not fit their declared type."""

    def __init__(self, kind: FailureKind, job_type: str, problem: ValueNotSerializable) -> None:
        super().__init__(kind, problem)
        self.kind = kind
        what = "the result" if kind is FailureKind.RESULT else "the arguments"
        self.problem = ValueNotSerializable(f"{what} of {job_type}: {problem}").with_traceback(problem.__traceback__)
