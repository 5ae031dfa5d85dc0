"""The connection of one role (scheduler, worker, client) to its broker: transport, topics, serializer, and manners.

Whatever a role's handlers raise stops nothing; malformed payloads are counted and told in one log line per kind and
minute, however many there are.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Protocol

import attrs

from beskar_jobs.model.errors import OutboundQueueFull, PayloadInvalid, TransportClosed, TransportError
from beskar_jobs.ports.serializer import Serializer
from beskar_jobs.ports.transport import InboundMessage, OutboundMessage, Transport, TransportOptions
from beskar_jobs.transport import create_transport
from beskar_jobs.transport.urls import redact
from beskar_jobs.wire.serializer import JsonSerializer
from beskar_jobs.wire.topics import DEFAULT_PREFIX, ParsedTopic, Topics

LOG_EVERY = 60.0


class HasUrl(Protocol):
    """A broker that is at hand as an object, such as ``EmbeddedBroker``."""

    @property
    def url(self) -> str: ...


Broker = str | HasUrl


@attrs.frozen
class ConnectionSettings:
    """How a role reaches its broker; the same options for scheduler, worker and client.

    Attributes:
        prefix: topic prefix; separates tenants on one broker.
        connect_timeout: seconds until an unreachable broker is an error at the start.
        keep_alive: seconds, MQTT keep-alive: within 1.5 times of it a broker should notice a silent peer.
        username, password, ca_file, cert_file, key_file: see ``TransportOptions``.
    """

    prefix: str = DEFAULT_PREFIX
    connect_timeout: float = 10.0
    keep_alive: int = 4
    username: str | None = None
    password: str | None = attrs.field(default=None, repr=False)
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    serializer: Serializer = attrs.field(factory=JsonSerializer)


class RoleListener(Protocol):
    def on_connected(self, connection: int) -> None: ...

    def on_disconnected(self, reason: str) -> None: ...

    def on_topic(self, topic: ParsedTopic, message: InboundMessage) -> None: ...


class RoleConnection:
    """A transport with the topics of one prefix.

    Args:
        will: makes the Will of the connection with this number.
    """

    def __init__(
        self,
        broker: Broker,
        client_id: str,
        settings: ConnectionSettings,
        listener: RoleListener,
        logger: logging.Logger,
        *,
        will: Callable[[int], OutboundMessage] | None = None,
    ) -> None:
        self.topics = Topics(settings.prefix)
        self.serializer = settings.serializer
        self.ignored: Counter[str] = Counter()
        self._logger = logger
        self._listener = listener
        self._quiet_until: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        url = broker if isinstance(broker, str) else broker.url
        self.url = redact(url)  # as it may be shown
        self._transport: Transport = create_transport(
            url,
            TransportOptions(
                client_id=client_id,
                will=will,
                keep_alive=settings.keep_alive,
                connect_timeout=settings.connect_timeout,
                username=settings.username,
                password=settings.password,
                ca_file=settings.ca_file,
                cert_file=settings.cert_file,
                key_file=settings.key_file,
            ),
            self,
        )

    @property
    def connected(self) -> bool:
        return self._transport.connected

    async def open(self, filters: Sequence[str]) -> None:
        await self._transport.open()
        await self._transport.subscribe(filters)

    async def subscribe(self, filters: Sequence[str]) -> None:
        await self._transport.subscribe(filters)

    def unsubscribe_soon(self, filters: Sequence[str]) -> None:
        """Unsubscribe without waiting; if it fails, messages that nobody wants come in and are dropped."""
        self._spawn(self._unsubscribe(filters))

    async def _unsubscribe(self, filters: Sequence[str]) -> None:
        with contextlib.suppress(TransportError):
            await self._transport.unsubscribe(filters)

    async def publish(self, messages: Sequence[OutboundMessage]) -> None:
        """Publish, and wait until the broker has them."""
        await self._transport.publish(messages)

    def send(self, messages: Iterable[OutboundMessage]) -> None:
        """Publish without waiting. What gets lost is driven again by the protocol: claims, ends, presence, requests."""
        batch = list(messages)
        if batch:
            self._spawn(self._send(batch))

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, messages: Sequence[OutboundMessage]) -> None:
        try:
            await self._transport.publish(messages)
        except TransportClosed:
            pass
        except OutboundQueueFull as error:
            self.complain("outbound queue", f"{len(messages)} messages not sent: {error}")
        except TransportError as error:
            self.complain("publish", f"{len(messages)} messages not sent: {error}")

    async def close(self) -> None:
        await self._transport.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1.0)

    def abort(self) -> None:
        self._transport.abort()

    # -- listener of the transport -------------------------------------------------------------------------------------

    def on_connected(self, connection: int) -> None:
        self._listener.on_connected(connection)

    def on_disconnected(self, reason: str) -> None:
        self._listener.on_disconnected(reason)

    def on_message(self, message: InboundMessage) -> None:
        topic = self.topics.parse(message.topic)
        if topic is None:
            self.complain("topic", f"ignored a message on the unknown topic {message.topic[:200]!r}")
            return
        try:
            self._listener.on_topic(topic, message)
        except PayloadInvalid as problem:
            self.complain(f"payload on {topic.kind.value}", f"ignored a payload on {message.topic[:200]!r}: {problem}")
        except Exception:
            self.ignored["error"] += 1
            self._logger.exception("a message on %r could not be dealt with", message.topic[:200])

    def complain(self, kind: str, text: str) -> None:
        """Count, and log the first of its kind and then one a minute."""
        self.ignored[kind] += 1
        now = asyncio.get_running_loop().time()
        if now >= self._quiet_until.get(kind, 0.0):
            self._quiet_until[kind] = now + LOG_EVERY
            self._logger.warning("%s (%d of this kind so far)", text, self.ignored[kind])
