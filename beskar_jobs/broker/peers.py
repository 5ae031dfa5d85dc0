"""One connection, without its socket: what came in and is incomplete, what goes out and is not taken yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqtt5 import DisconnectPacket, DisconnectReasonCode

from beskar_jobs.broker.deadlines import Check, Deadline, Deadlines
from beskar_jobs.broker.framing import PeerFault

if TYPE_CHECKING:
    from beskar_jobs.broker.limits import Counters
    from beskar_jobs.broker.sessions import Session


class Peer:
    """One connection, without its socket: what came in and is incomplete, what goes out and is not taken yet.

    Attributes:
        label: who it is, for the log.
        context: whatever the shell wants to find again.
        deadline: when it is to be looked at: for its CONNECT, then for its keep-alive.
        ready: the broker's list of peers that have output; a peer enters it when its outbox stops being empty.
        paused: its transport is congested; set by the shell.
        wants_reasons: reason strings may stand in acknowledgements (Request Problem Information, 3.1.2.11.7).
    """

    __slots__ = (
        "aliases",
        "bytes_received",
        "bytes_sent",
        "closing",
        "context",
        "deadline",
        "keep_alive",
        "label",
        "last_seen",
        "max_packet_size",
        "needed",
        "outbox",
        "outbox_size",
        "partial",
        "paused",
        "ready",
        "receive_max",
        "session",
        "wants_reasons",
    )

    def __init__(self, label: str, context: object, ready: list[Peer], now: float) -> None:
        self.label = label
        self.context = context
        self.ready = ready
        self.outbox: list[bytes] = []
        self.outbox_size = 0
        self.closing = False
        self.paused = False
        self.partial = bytearray()
        self.needed = 0
        self.last_seen = now
        self.keep_alive = 0
        self.receive_max = 65_535
        self.max_packet_size: int | None = None
        self.aliases: dict[int, str] = {}
        self.wants_reasons = True
        self.bytes_received = 0
        self.bytes_sent = 0
        self.session: Session | None = None
        self.deadline: Deadline | None = None

    def watch(self, deadlines: Deadlines, at: float, check: Check) -> None:
        """Look at this peer by *check* at *at*, instead of when it was to be looked at before."""
        if self.deadline is not None:
            deadlines.drop(self.deadline)
        self.deadline = deadlines.add(at, check)

    def gone(self, deadlines: Deadlines, counters: Counters) -> None:
        """The connection has ended: nothing is to be looked at any more, and what it did is counted."""
        if self.deadline is not None:
            deadlines.drop(self.deadline)
        counters.bytes_received += self.bytes_received
        counters.bytes_sent += self.bytes_sent

    def send(self, data: bytes) -> None:
        if not self.outbox:
            self.ready.append(self)
        self.outbox.append(data)
        self.outbox_size += len(data)

    def take(self) -> bytes:
        """All that is to be sent now, as one piece; the outbox is empty afterwards."""
        data = self.outbox[0] if len(self.outbox) == 1 else b"".join(self.outbox)
        self.outbox.clear()
        self.outbox_size = 0
        self.bytes_sent += len(data)
        return data

    def takes_reason(self, text: str) -> bool:
        """Whether *text* may go as Reason String of an acknowledgement (3.4.2.2.2)."""
        return self.wants_reasons and (self.max_packet_size is None or len(text) + 32 <= self.max_packet_size)

    def resolve_alias(self, alias: int, topic: str, highest: int) -> str:
        """The topic of a PUBLISH with a topic alias (3.3.2.3.4); *topic*, if not empty, sets it.

        Raises:
            PeerFault: the alias is over *highest*, or was never set.
        """
        if not 0 < alias <= highest:
            raise PeerFault(DisconnectReasonCode.TOPIC_ALIAS_INVALID, f"topic alias {alias} is out of range")
        if topic:
            self.aliases[alias] = topic
            return topic
        known = self.aliases.get(alias)
        if known is None:
            raise PeerFault(DisconnectReasonCode.PROTOCOL_ERROR, f"topic alias {alias} was never set")
        return known

    def close(self, reason: DisconnectReasonCode | None, text: str | None = None) -> None:
        """Mark for closing, after what is in the outbox; with a DISCONNECT if there is a *reason* to tell.

        *text* goes with it (Reason String, 3.14.2.2.3) unless that makes the packet larger than the peer takes.
        """
        if self.closing:
            return
        self.closing = True
        # An empty piece makes the peer ready as well, so that the shell learns of the closing.
        farewell = b"" if reason is None else DisconnectPacket(reason_code=reason, reason_str=text).write()
        if text and reason is not None and self.max_packet_size is not None and len(farewell) > self.max_packet_size:
            farewell = DisconnectPacket(reason_code=reason).write()
        self.send(farewell)
