"""``JobWorker``: the worker as users start and stop it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Generator, Iterable
from functools import partial
from types import TracebackType
from typing import Final, Self

import attrs

from beskar_jobs.core.working import WorkerSession
from beskar_jobs.handlers.recurrence import classes_without_handler, declared_recurring
from beskar_jobs.handlers.registry import HandlerItem, HandlerRegistry, default_registry
from beskar_jobs.model.errors import BeskarError, InvalidValue
from beskar_jobs.model.job import WorkerId
from beskar_jobs.model.names import checked_name
from beskar_jobs.ports.clock import Clock
from beskar_jobs.runtime.clock import SystemClock
from beskar_jobs.runtime.connection import Broker, ConnectionSettings
from beskar_jobs.runtime.identity import new_incarnation, process_name
from beskar_jobs.worker.declaring import Declaring
from beskar_jobs.worker.engine import WorkerEngine
from beskar_jobs.worker.execution import Execution

logger: Final = logging.getLogger("beskar_jobs.worker")

DEFAULT_CONCURRENCY: Final = 10
DEFAULT_GRACE: Final = 20.0
RELEASE_GRACE: Final = 2.0
HEARTBEAT_INTERVAL: Final = 2.0
LOOK_AGAIN: Final = 1.0


class JobWorker:
    """Runs handlers for the jobs of some queues.

    Args:
        broker: URL of the broker, or an object with a ``url`` (``EmbeddedBroker``).
        handlers: decorated classes, instances, ``(class, factory)`` pairs, or a registry; ``None``: all decorated
            classes that were imported (the default registry).
        queues: the queues to serve; ``None``: all.
        max_concurrency: attempts that run at the same time at most.
        worker_id: name of this worker, unique among those that run; one is made up if it is left out.
        heartbeat_interval: seconds; without a word for three of them, the worker counts as lost.
        stop_grace: seconds that running attempts have to end when the worker stops; the rest is released.
        settings: how to reach the broker.
        clock: the time; for tests.

    Raises:
        InvalidValue: an option breaks its rule, or a handler cannot be built.
        JobDefinitionError: JOBGEN027, two handlers declare one recurring job.
    """

    def __init__(
        self,
        broker: Broker,
        *,
        handlers: Iterable[HandlerItem] | HandlerRegistry | None = None,
        queues: Iterable[str] | None = None,
        max_concurrency: int = DEFAULT_CONCURRENCY,
        worker_id: str | None = None,
        heartbeat_interval: float = HEARTBEAT_INTERVAL,
        stop_grace: float = DEFAULT_GRACE,
        settings: ConnectionSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        if handlers is None:
            handlers = default_registry
        self._registry = handlers if isinstance(handlers, HandlerRegistry) else HandlerRegistry.of(handlers)
        if not len(self._registry):
            raise InvalidValue("a worker needs at least one handler; decorate a class with @job_handler and import it")
        self._registry.check_buildable()
        self._settings = settings or ConnectionSettings()
        self._recurring = declared_recurring(self._registry, self._settings.serializer)
        for name in classes_without_handler():
            logger.warning("%s has @recurring and no @job_handler, so it does not recur", name)
        if isinstance(queues, str):
            raise InvalidValue(f"queues is a list of names, not the one string {queues!r}")
        if isinstance(max_concurrency, bool) or not isinstance(max_concurrency, int) or max_concurrency < 1:
            raise InvalidValue(f"max_concurrency is a whole number of at least 1, not {max_concurrency!r}")
        if not 0.05 <= heartbeat_interval <= 60:
            raise InvalidValue(f"heartbeat_interval is from 0.05 to 60 seconds, not {heartbeat_interval}")
        self.worker_id = WorkerId(checked_name("worker id", worker_id or process_name()))
        self.queues = tuple(checked_name("queue", queue) for queue in queues or ())
        self.max_concurrency = max_concurrency
        self._interval = heartbeat_interval
        self._grace = stop_grace
        self._broker = broker
        self._clock = clock or SystemClock()
        self._engine: WorkerEngine | None = None
        self._failure: asyncio.Future[None] | None = None
        self._waited_for = False

    @property
    def connected(self) -> bool:
        """Connected to the broker and subscribed, so that jobs can come."""
        return self._engine is not None and self._engine.connected

    async def start(self) -> None:
        """Build the handlers, connect, and take jobs.

        ``async`` handlers run on the event loop that this is called on.

        Raises:
            BrokerUnreachable: nobody answered at the broker's address in time.
        """
        if self._engine is not None:
            raise InvalidValue(f"worker {self.worker_id} is started already")
        loop = asyncio.get_running_loop()
        session = WorkerSession(
            self.worker_id,
            new_incarnation(),
            queues=self.queues,
            handlers={
                definition.job_type: attrs.evolve(definition.policy, queue=definition.queue)
                for definition in self._registry
            },
            max_concurrency=self.max_concurrency,
            interval=self._interval,
        )
        failure = self._failure = loop.create_future()
        engine = WorkerEngine(
            self._broker,
            session,
            self._settings,
            self._clock,
            declaring=Declaring(self._recurring, self._registry.job_types, session.incarnation),
            interval=self._interval,
            on_failure=partial(self._on_failure, loop, failure),
        )
        execution = Execution(self._registry, self._settings.serializer, self._clock, engine, loop)
        self._engine = engine
        try:
            await engine.call(engine.open(execution))
        except BaseException:
            if not engine.died:
                await engine.call(engine.crash())
            engine.end()
            self._engine = None
            raise
        logger.info(
            "worker %s is ready: %d job type%s, %s, %d slot%s, broker %s, prefix %r, process %d",
            self.worker_id,
            len(self._registry),
            "s" * (len(self._registry) != 1),
            f"queues {', '.join(self.queues)}" if self.queues else "all queues",
            self.max_concurrency,
            "s" * (self.max_concurrency != 1),
            engine.url,
            self._settings.prefix,
            os.getpid(),
        )

    async def wait(self) -> None:
        """Wait until this worker must stop.

        Raises:
            WorkerReplaced: another process runs under the same worker id.
            BeskarError: the thread that talks to the broker has died; the message says of what.
        """
        failure = self._failure
        if failure is not None:
            self._waited_for = True
            # Where a handler has closed file descriptors, this loop's own may be among them: nobody could wake it any
            # more, but it notices when it next goes to sleep.
            while not failure.done():
                await asyncio.wait({failure}, timeout=LOOK_AGAIN)
            failure.result()

    async def stop(self) -> None:
        """Take no more jobs, let running ones end within the grace, release the rest, say good-bye. Bounded."""
        engine, self._engine = self._engine, None
        if engine is None:
            return
        try:
            await engine.call(engine.drain(self._grace, RELEASE_GRACE))
            await engine.call(engine.close())
        except BeskarError:
            if not engine.died:  # that was told when it happened
                raise
        finally:
            engine.end()
            _settle(self._failure)

    def simulate_crash(self) -> _Done:
        """Drop the connection without a good-bye, as a killed process does, and stop. For tests of recovery.

        Takes effect when called; it may also be awaited.
        """
        engine, self._engine = self._engine, None
        if engine is not None:
            if not engine.died:
                engine.crash_now()
            _settle(self._failure)
        return _Done()

    def _on_failure(self, loop: asyncio.AbstractEventLoop, failure: asyncio.Future[None], problem: BeskarError) -> None:
        try:
            loop.call_soon_threadsafe(self._fail, failure, problem)
        except RuntimeError:  # that loop is closed, and nobody is left to tell
            logger.debug("the event loop of the program ended before the worker")

    def _fail(self, failure: asyncio.Future[None], problem: BeskarError) -> None:
        if not failure.done():
            failure.set_exception(problem)
            failure.exception()  # it may be that nobody waits; then it is not an error that nobody did
            if not self._waited_for:  # who waits is told by the exception
                logger.error("%s", problem)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()


class _Done:
    """Something that can be awaited, and need not be."""

    def __await__(self) -> Generator[None, None, None]:
        yield


def _settle(failure: asyncio.Future[None] | None) -> None:
    if failure is not None and not failure.done():
        failure.set_result(None)
