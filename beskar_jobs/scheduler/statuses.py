"""The status hop: retained status messages, in chunks, each chunk confirmed before the next is taken.

While a chunk is under way, newer states of the same jobs replace older ones that wait, so under load a job's steps are
told as one. A chunk goes out at QoS 0 with its last message at QoS 1: brokers take the messages of a connection in
order, so the one acknowledgement speaks for all. If the connection was lost meanwhile, the chunk is sent once more.
"""

from __future__ import annotations

import asyncio
from typing import Final

from beskar_jobs.core.scheduling.outbox import Outbox
from beskar_jobs.model.errors import TransportError
from beskar_jobs.ports.transport import OutboundMessage
from beskar_jobs.runtime.connection import RoleConnection
from beskar_jobs.wire.messages import StatusItem, StatusMessage

CHUNK: Final = 256


class StatusHop:
    """Runs while there are statuses to tell.

    Args:
        retention: seconds that a status stays with the broker after its last change.
    """

    def __init__(self, outbox: Outbox, connection: RoleConnection, retention: int) -> None:
        self._outbox = outbox
        self._connection = connection
        self._retention = retention
        self._task: asyncio.Task[None] | None = None
        self.connects = 0

    def wake(self) -> None:
        if self._task is None and self._outbox.has_statuses:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        try:
            while self._outbox.has_statuses:
                await self._tell(self._outbox.take_statuses(CHUNK))
        except TransportError as problem:
            self._connection.complain("status", f"status messages not sent: {problem}")
        finally:
            self._task = None

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
        self.wake()
        if self._task is not None:
            _, pending = await asyncio.wait([self._task], timeout=timeout)
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
