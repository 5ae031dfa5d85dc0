"""The commit hop: one transaction at a time takes all that is pending; while storage is away, it is tried again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from beskar_jobs.core.scheduling import Batch, SchedulerSession
from beskar_jobs.model.errors import StorageError
from beskar_jobs.ports.clock import Clock
from beskar_jobs.ports.storage import CommitOutcome, JobStorage

_FIRST_DELAY: Final = 0.05
_LONGEST_DELAY: Final = 2.0


class CommitHop:
    """Runs while there is something to commit, and no longer."""

    def __init__(
        self,
        session: SchedulerSession,
        storage: JobStorage,
        clock: Clock,
        logger: logging.Logger,
        after_commit: Callable[[], None],
    ) -> None:
        self._session = session
        self._storage = storage
        self._clock = clock
        self._logger = logger
        self._after_commit = after_commit
        self._task: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """A commit is under way."""
        return self._task is not None

    def wake(self) -> None:
        """Commit what is pending; nothing to do if a commit is under way, which will see it."""
        if self._task is None:
            batch = self._session.take_batch()
            if batch is not None:
                self._task = asyncio.get_running_loop().create_task(self._run(batch))

    async def _run(self, batch: Batch | None) -> None:
        try:
            while batch is not None:
                outcome = await self._commit(batch)
                self._session.committed(batch, outcome, self._clock.now())
                self._after_commit()
                batch = self._session.take_batch()
        except Exception:
            # A rule broken inside the session: nothing that was acknowledged is lost, but this scheduler must not go on
            # with a state it cannot trust.
            self._logger.exception("the commit hop failed; the scheduler must be restarted")
            self._session.storage_problem = "the commit hop failed; see the scheduler's log"
            raise
        finally:
            self._task = None
        self._after_commit()

    async def _commit(self, batch: Batch) -> CommitOutcome:
        commit, delay = batch.commit(), _FIRST_DELAY
        while True:
            try:
                outcome = await self._storage.commit(commit)
            except StorageError as problem:
                if not self._session.storage_problem:
                    self._logger.error("storage is away, commits wait: %s", problem)
                self._session.storage_problem = str(problem)
                await asyncio.sleep(delay)
                delay = min(delay * 2, _LONGEST_DELAY)
            else:
                if self._session.storage_problem:
                    self._logger.warning("storage is back")
                    self._session.storage_problem = ""
                return outcome

    async def finish(self, timeout: float) -> None:
        """Let the commit that is under way, and what is pending, end; at most *timeout* seconds."""
        self.wake()
        if self._task is not None:
            done, pending = await asyncio.wait([self._task], timeout=timeout)
            for task in pending:
                task.cancel()
            await asyncio.gather(*done, *pending, return_exceptions=True)
