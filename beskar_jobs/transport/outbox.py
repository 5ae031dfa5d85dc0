"""What is to be sent: a bounded queue, kept in order over lost connections. No socket, no clock.

A message is *waiting* until it is handed to a connection. At QoS 0 it is settled then; at QoS 1 it is *sent* until
its PUBACK comes. When the connection is lost, what was sent and not acknowledged goes back to the head of the queue,
in the order in which it was published. Both count against the bounds, so that a long outage cannot fill the memory.

A broker may answer a message that it cannot bear by cutting the connection, and would do so for ever, since the message
is sent again. So what was on its way in :data:`_LOSSES_UNTIL_SUSPECT` losses is *suspect*: as long as there are
suspects, messages go one at a time. One that was alone on its way in :data:`_LOSSES_ALONE` losses is refused.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from beskar_jobs.model.errors import BeskarError, InvalidValue, OutboundQueueFull, PublishRefused
from beskar_jobs.ports.transport import OutboundMessage

logger = logging.getLogger(__name__)

_LONGEST_STRING: Final = 65_535
_LONGEST_EXPIRY: Final = 2**32 - 1
_LOSSES_UNTIL_SUSPECT: Final = 3
_LOSSES_ALONE: Final = 3


class Ticket:
    """One ``publish`` call: how many of its messages are not settled yet, and the first thing that went wrong."""

    __slots__ = ("_open", "_waiter", "error")

    def __init__(self, messages: int) -> None:
        self._open = messages
        self.error: BeskarError | None = None
        self._waiter: asyncio.Future[None] | None = None

    def settle(self, error: BeskarError | None = None) -> None:
        """One message is done with, or failed with *error*."""
        self._open -= 1
        if error is not None and self.error is None:
            self.error = error
        if self._open <= 0 and self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self) -> None:
        """Wait until every message is settled; raise the first error among them."""
        if self._open > 0:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        if self.error is not None:
            raise self.error


class Entry:
    """A message on its way, and in how many lost connections it was: among others, and alone."""

    __slots__ = ("losses", "losses_alone", "message", "ticket")

    def __init__(self, message: OutboundMessage, ticket: Ticket) -> None:
        self.message = message
        self.ticket = ticket
        self.losses = 0
        self.losses_alone = 0

    @property
    def again(self) -> bool:
        """Whether it may have been delivered before (DUP)."""
        return self.losses > 0

    @property
    def suspect(self) -> bool:
        """Whether the broker may have cut the connection because of it."""
        return self.losses >= _LOSSES_UNTIL_SUSPECT


class Outbox:
    """The queue, and the count of everything that is not settled; of that, *suspects* are suspect."""

    def __init__(self, max_messages: int, max_bytes: int) -> None:
        self._max_messages = max_messages
        self._max_bytes = max_bytes
        self.waiting: deque[Entry] = deque()
        self.messages = 0
        self.payload_bytes = 0
        self.suspects = 0

    def add(self, messages: Sequence[OutboundMessage]) -> Ticket:
        """Queue *messages*, all or none.

        Raises:
            InvalidValue: one of them can never be published; the text says why.
            OutboundQueueFull: they would pass one of the bounds.
        """
        for message in messages:
            check_publishable(message)
        size = sum([len(message.payload) for message in messages])
        if self.messages + len(messages) > self._max_messages or self.payload_bytes + size > self._max_bytes:
            raise OutboundQueueFull(
                f"{len(messages)} messages ({size} bytes) more would pass the bound of {self._max_messages} messages "
                f"or {self._max_bytes} bytes: {self.messages} messages ({self.payload_bytes} bytes) still wait for the "
                "broker; publish again once some are through, or raise max_outbound and max_outbound_bytes"
            )
        ticket = Ticket(len(messages))
        self.waiting.extend([Entry(message, ticket) for message in messages])
        self.messages += len(messages)
        self.payload_bytes += size
        return ticket

    def settle(self, entry: Entry, error: BeskarError | None = None) -> None:
        """*entry* is through, or can never be (*error*)."""
        self.messages -= 1
        self.payload_bytes -= len(entry.message.payload)
        self.suspects -= entry.suspect
        entry.ticket.settle(error)

    def put_back(self, sent: Iterable[Entry]) -> None:
        """The connection is lost: *sent*, in the order of sending, must be sent again before all that waits."""
        entries = list(sent)
        alone = len(entries) == 1 and entries[0].suspect
        for entry in entries:
            entry.losses += 1
            self.suspects += entry.losses == _LOSSES_UNTIL_SUSPECT
        if alone:
            entries[0].losses_alone += 1
            if entries[0].losses_alone == _LOSSES_ALONE:
                self._refuse(entries.pop())
        self.waiting.extendleft(reversed(entries))

    def _refuse(self, entry: Entry) -> None:
        message = entry.message
        text = (
            f"the message to {message.topic!r} ({len(message.payload)} bytes) is given up: the broker cut the "
            f"connection each of the {entry.losses} times that it was sent; its log may tell what it cannot bear"
        )
        logger.error("%s", text)
        self.settle(entry, PublishRefused(text))

    def fail_all(self, sent: Iterable[Entry], error: BeskarError) -> None:
        """Nothing will be sent any more."""
        for entry in [*sent, *self.waiting]:
            self.settle(entry, error)
        self.waiting.clear()


def check_publishable(message: OutboundMessage) -> None:
    """The rules of MQTT 5.0 for a PUBLISH (sections 3.3.2 and 4.7), where breaking them would cost the connection.

    Raises:
        InvalidValue: names the rule.
    """
    topic = message.topic
    # One pass over the likely case; the full check, with its texts, only where it may fail.
    if not topic or "+" in topic or "#" in topic or "\0" in topic or len(topic) > 4096 or not topic.isascii():
        _check_topic(topic)
    if message.qos not in {0, 1}:
        raise InvalidValue(f"QoS {message.qos} of the message to {topic!r} is neither 0 nor 1")
    if message.expiry is not None and not 0 <= message.expiry <= _LONGEST_EXPIRY:
        raise InvalidValue(
            f"expiry {message.expiry} of the message to {topic!r} is not between 0 and {_LONGEST_EXPIRY} s"
        )
    if message.response_topic is not None:
        _check_topic(message.response_topic)
    if message.correlation is not None and len(message.correlation) > _LONGEST_STRING:
        raise InvalidValue(f"correlation of the message to {topic!r} is longer than {_LONGEST_STRING} bytes")


def _check_topic(topic: str) -> None:
    if not topic:
        raise InvalidValue("a message needs a topic; this one's is empty")
    try:
        length = len(topic.encode())
    except UnicodeEncodeError:
        raise InvalidValue(f"topic {topic!r} holds half a surrogate pair, which is not text") from None
    if length > _LONGEST_STRING:
        raise InvalidValue(f"topic {topic[:60]!r}… is longer than {_LONGEST_STRING} bytes")
    for forbidden in ("+", "#", "\0"):
        if forbidden in topic:
            raise InvalidValue(f"topic {topic!r} holds {forbidden!r}, which only a filter may, or nothing at all")
