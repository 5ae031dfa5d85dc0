"""Requests and replies over MQTT 5: response topic and correlation data, sent again until answered or out of time.

All commands are idempotent (jobs by their id, cancels and queries by nature), so a lost request or a lost reply costs a
repeat and never a second effect.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Final, TypeVar

from beskar_jobs.model.errors import SchedulerUnavailable
from beskar_jobs.ports.transport import InboundMessage, OutboundMessage
from beskar_jobs.runtime.connection import RoleConnection
from beskar_jobs.wire.messages import EnqueueReply, Message, RecurringReply

R = TypeVar("R", bound=Message)

SEND_AGAIN_AFTER: Final = 2.0
BUSY_DELAY: Final = 0.25
LONGEST_BUSY_DELAY: Final = 2.0


class Requests:
    """The requests under way."""

    def __init__(self, connection: RoleConnection, client_id: str) -> None:
        self._connection = connection
        self._reply_topic = connection.topics.client_replies(client_id)
        self._numbers = itertools.count(1)
        self._open: dict[bytes, tuple[OutboundMessage, asyncio.Future[bytes]]] = {}

    async def ask(self, topic: str, message: Message, reply_type: type[R], timeout: float) -> R:
        """Send *message* and return the reply.

        Raises:
            SchedulerUnavailable: no answer within *timeout* seconds, or none but that the scheduler cannot take the
                command now; the message gives its reason.
        """
        payload = self._connection.serializer.encode(message)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        busy, delay = "", BUSY_DELAY
        while True:
            data = await self._ask(topic, payload, deadline)
            if data is None and busy:
                raise SchedulerUnavailable(
                    f"the scheduler took nothing in within {timeout:g} s: {busy}. It is safe to try again"
                )
            if data is None:
                raise SchedulerUnavailable(
                    f"no scheduler answered on {topic!r} within {timeout:g} s; is one running, with the prefix "
                    f"{self._connection.topics.prefix!r}? It is safe to try again"
                )
            reply = self._connection.serializer.decode(data, reply_type)
            if not (isinstance(reply, EnqueueReply | RecurringReply) and reply.busy):
                return reply
            busy = reply.error
            await asyncio.sleep(max(0.0, min(delay, deadline - loop.time())))
            delay = min(delay * 2, LONGEST_BUSY_DELAY)

    async def _ask(self, topic: str, payload: bytes, deadline: float) -> bytes | None:
        loop = asyncio.get_running_loop()
        correlation = next(self._numbers).to_bytes(8, "big")
        request = OutboundMessage(topic, payload, response_topic=self._reply_topic, correlation=correlation)
        answer: asyncio.Future[bytes] = loop.create_future()
        self._open[correlation] = (request, answer)
        try:
            while (left := deadline - loop.time()) > 0:
                if self._connection.connected:
                    self._connection.send([request])
                done, _ = await asyncio.wait([answer], timeout=min(SEND_AGAIN_AFTER, left))
                if done:
                    return answer.result()
            return None
        finally:
            del self._open[correlation]

    def send_open_again(self) -> None:
        """The connection is back: what was sent before may be lost."""
        self._connection.send([request for request, _ in self._open.values()])

    def on_reply(self, message: InboundMessage) -> None:
        """A reply came in; one to a request that was answered already, or given up, is dropped."""
        found = self._open.get(message.correlation or b"")
        if found is not None and not found[1].done():
            found[1].set_result(message.payload)
