"""The status hop: retained status messages, in chunks, each chunk confirmed before the next is taken.

Newer states of a job replace older ones that wait. While commits are under way statuses stand back for up to
:data:`PATIENCE`, so that a job which runs through within that time is told of once; with nothing else to do a status
goes at once. A chunk goes out at QoS 0 with its last message at QoS 1: brokers take the messages of a connection in
order, so the one acknowledgement speaks for all. If the connection was lost meanwhile, the chunk is sent once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from beskar_jobs.core.scheduling.outbox import Outbox
from beskar_jobs.model.errors import TransportError
from beskar_jobs.ports.transport import OutboundMessage
from beskar_jobs.runtime.connection import RoleConnection
from beskar_jobs.wire.messages import StatusItem, StatusMessage

CHUNK: Final = 256
PATIENCE: Final = 0.05
"""Seconds that statuses wait at most while the scheduler is busy. Looked at after each commit; there is no timer."""


class StatusHop:
    """Runs while there are statuses to tell.

    Args:
        retention: seconds that a status stays with the broker after its last change.
        after_run: called when the statuses of one run are told, and others may wait.
    """

    def __init__(
        self, outbox: Outbox, connection: RoleConnection, retention: int, after_run: Callable[[], None]
    ) -> None:
        self._outbox = outbox
        self._connection = connection
        self._retention = retention
        self._after_run = after_run
        self._task: asyncio.Task[None] | None = None
        self._waiting_since: float | None = None
        self.connects = 0

    def wake(self, *, busy: bool) -> None:
        """Tell what waits; *busy*: a commit is under way, and this is called again after it."""
        if self._task is not None or not self._outbox.statuses:
            return
        now = asyncio.get_running_loop().time()
        if self._waiting_since is None:
            self._waiting_since = now
        if not busy or now - self._waiting_since >= PATIENCE:
            self._waiting_since = None
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        """Tell what waits now; what comes meanwhile is for the next time."""
        try:
            left = self._outbox.statuses
            while left > 0 and self._outbox.statuses:
                items = self._outbox.take_statuses(min(CHUNK, left))
                left -= len(items)
                await self._tell(items)
        except TransportError as problem:
            self._connection.complain("status", f"status messages not sent: {problem}")
        finally:
            self._task = None
            self._after_run()

    async def _tell(self, items: list[StatusItem]) -> None:
        encode, topic = self._connection.serializer.encode, self._connection.topics.status
        last = len(items) - 1
        messages = [
            OutboundMessage(
                topic(item.id),
                encode(StatusMessage(job=item)),
                qos=1 if index == last else 0,
                retain=True,
                expiry=self._retention,
            )
            for index, item in enumerate(items)
        ]
        connects = -1
        while connects != self.connects:
            connects = self.connects
            await self._connection.publish(messages)

    async def finish(self, timeout: float) -> None:
        self.wake(busy=False)
        if self._task is not None:
            _, pending = await asyncio.wait([self._task], timeout=timeout)
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
