"""What a transport knows of one connection, whatever carries it: :class:`Link`, and what it tells: :class:`LinkEvents`.

A link is used once: every attempt to connect has one of its own, so that nothing of an earlier one (Will, packet
identifiers, half a packet) is left in it. It ends once, by its own side (``disconnect``, ``abort``), after which it
calls nobody, or by the other (``lost``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from beskar_jobs.model.errors import TransportError
from beskar_jobs.ports.transport import InboundMessage
from beskar_jobs.transport.outbox import Entry, Outbox


class ConnectFailed(TransportError):
    """No connection this time.

    *final*: nor the next time, as long as nobody changes something. *denied*: it is the user who is not let in.
    """

    def __init__(self, message: str, *, final: bool = False, denied: bool = False) -> None:
        super().__init__(message)
        self.final = final
        self.denied = denied


DENIALS: Final = frozenset({0x86, 0x87})
"""Reason codes of a CONNACK about the user: bad user name or password, not authorized (section 3.2.2.2)."""


class ConnectionLost(TransportError):
    """The connection ended while an answer was awaited."""


class LinkEvents(Protocol):
    """What a link tells its owner, always on the event loop."""

    def received(self, message: InboundMessage) -> None: ...

    def acknowledged(self, entry: Entry, error: TransportError | None) -> None:
        """The broker has *entry*; or it refused it for good."""

    def roomy(self) -> None:
        """More can be handed over, or all that was written is with the kernel. Once for all that came in together."""

    def lost(self, reason: str) -> None:
        """It has ended, and not by this side's will, after the broker had accepted it; once."""


class Link(Protocol):
    """One connection."""

    @property
    def unacknowledged(self) -> Mapping[int, Entry]:
        """What was sent at QoS 1 and is not acknowledged, by packet identifier, in the order of sending."""
        ...

    @property
    def ended(self) -> bool: ...

    @property
    def drained(self) -> bool:
        """Whether all that was handed over has left this process."""
        ...

    async def dial(self, timeout: float) -> None:
        """Reach the broker. Nothing of MQTT has been sent when it fails.

        Raises:
            ConnectFailed: within *timeout* seconds.
        """

    async def handshake(self) -> None:
        """CONNECT, and the broker's answer; for how long to wait for it is the caller's to say.

        Raises:
            ConnectFailed: the broker refused, or closed.
        """

    async def subscribe(self, filters: Sequence[str]) -> Sequence[int]:
        """The reason code for each filter; below 0x80 it was granted.

        Raises:
            ConnectionLost: before the answer came.
            InvalidValue: a filter breaks the rules of MQTT.
        """
        ...

    async def unsubscribe(self, filters: Sequence[str]) -> None: ...

    def hand_over(self, outbox: Outbox) -> None:
        """Send what waits in *outbox*, in order, as far as there is room; settle what needs no acknowledgement."""

    def disconnect(self) -> None:
        """Say goodbye, so that the Will does not fire, and close."""

    def abort(self) -> None:
        """Close without a word, as a killed process does."""
