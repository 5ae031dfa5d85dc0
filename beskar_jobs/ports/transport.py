"""The port to a broker: a connection that comes back by itself.

Contract, held by the public suite in :mod:`beskar_jobs.testing.transport_suite`:

* A transport belongs to the event loop that ``open`` ran on; the listener is called on that loop, in the order in
  which the broker sent, and never concurrently. An exception out of the listener is logged and goes no further.
* Messages of one ``publish`` call, and of successive calls, reach the broker in that order.
* After a lost connection the transport reconnects for ever, with a back-off that doubles from ``reconnect_first`` to
  ``reconnect_cap`` with jitter; it subscribes to all filters again, then calls ``on_connected`` with the next
  connection number, then sends again what was published at QoS 1 and not acknowledged.
* MQTT only signals: any message may still be lost, late or doubled (QoS 1 after a reconnect). Retained messages for a
  new subscription arrive after ``subscribe`` has returned or shortly before, with ``retain=True``.
* The Will is made anew for each connection, so that it can name the connection it is for.
* A handler of the application that blocks another thread does not disturb it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

import attrs


@attrs.frozen
class OutboundMessage:
    """A message to publish.

    Attributes:
        qos: 0 or 1.
        expiry: MQTT 5 Message Expiry Interval, whole seconds; ``None``: never.
        response_topic, correlation: MQTT 5 request/response (section 4.10).
    """

    topic: str
    payload: bytes
    qos: int = 1
    retain: bool = False
    expiry: int | None = None
    response_topic: str | None = None
    correlation: bytes | None = None


@attrs.frozen
class InboundMessage:
    """A message received. ``retain`` tells that it was stored before the subscription was made."""

    topic: str
    payload: bytes
    retain: bool = False
    response_topic: str | None = None
    correlation: bytes | None = None


class TransportListener(Protocol):
    """What the owner of a transport gives it to call."""

    def on_connected(self, connection: int) -> None:
        """Connected and subscribed; *connection* counts from 1 and grows with each connect of this transport."""

    def on_disconnected(self, reason: str) -> None:
        """The connection is gone; the transport is already at work to get it back."""

    def on_message(self, message: InboundMessage) -> None: ...


@attrs.frozen
class TransportOptions:
    """How to connect; the same for every transport.

    Attributes:
        client_id: MQTT client identifier; unique per process and incarnation.
        will: makes the Will for the connection with this number; ``None``: no Will.
        keep_alive: seconds, MQTT keep-alive.
        connect_timeout: seconds that ``open`` may take until it gives up with :class:`BrokerUnreachable`.
        reconnect_first, reconnect_cap: seconds, bounds of the back-off.
        max_outbound: messages that wait for the broker or its acknowledgement at most.
        max_outbound_bytes: the same, in payload bytes.
        username, password: if given they win over those in the URL; the password never shows in a text.
        ca_file, cert_file, key_file: PEM files for TLS; without *ca_file* the system's authorities count.
    """

    client_id: str
    will: Callable[[int], OutboundMessage] | None = None
    keep_alive: int = 4
    connect_timeout: float = 10.0
    reconnect_first: float = 0.1
    reconnect_cap: float = 5.0
    max_outbound: int = 100_000
    max_outbound_bytes: int = 256 * 1024 * 1024
    username: str | None = None
    password: str | None = attrs.field(default=None, repr=False)
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None


class Transport(Protocol):
    @property
    def connected(self) -> bool:
        """Connected and subscribed, as far as this side can know."""
        ...

    async def open(self) -> None:
        """Connect, trying again for up to ``connect_timeout`` seconds.

        Raises:
            BrokerUnreachable: nobody answered, or the broker refused (bad password, not authorised); the message says
                which, and names the URL without its password.
        """

    async def subscribe(self, filters: Sequence[str]) -> None:
        """Subscribe at QoS 1, and again after every reconnect. Returns once the broker has granted all.

        Raises:
            SubscriptionRefused: the broker said no to one of them.
            TransportClosed: the transport is closed, or not open yet.
        """

    async def unsubscribe(self, filters: Sequence[str]) -> None: ...

    # Not "async def": a coroutine's body would not run before it is awaited.
    def publish(self, messages: Sequence[OutboundMessage]) -> Coroutine[Any, Any, None]:
        """Publish in order. Returns when the broker has acknowledged every QoS 1 message among them; QoS 0 messages
        count as sent when they are handed to the connection. While the broker is away it waits, its messages queued.
        Sending starts in the call itself, so that calls which are not awaited one by one still keep their order.

        Raises:
            OutboundQueueFull: the bound is reached; none of *messages* is queued.
            InvalidValue: one of them can never be published (a topic with a wildcard, QoS 2); none is queued.
            PublishRefused: the broker refuses one (not allowed on its topic, larger than it accepts); the others went.
            TransportClosed: closed before the acknowledgement came.
        """
        ...

    async def close(self) -> None:
        """Send what is queued (for up to 5 s, if connected), then DISCONNECT, so that no Will fires."""

    def abort(self) -> None:
        """Drop the connection without DISCONNECT, as a killed process does; the Will fires. The transport is closed."""
