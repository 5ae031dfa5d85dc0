"""The in-memory transport: a client of :class:`MemoryBroker`, speaking MQTT 5 bytes to the broker core without sockets.

It keeps the contract of :mod:`beskar_jobs.ports.transport` as the transport over paho does, including what happens
when the connection is lost (here by :meth:`MemoryBroker.drop_connection`, ``stop``, or a take-over). Transports of one
broker may live on event loops in different threads.
"""

from __future__ import annotations

from beskar_jobs.ports.transport import OutboundMessage, TransportListener, TransportOptions
from beskar_jobs.transport.link import ConnectFailed, Link, LinkEvents
from beskar_jobs.transport.memory_broker import MemoryBroker, find_memory_broker
from beskar_jobs.transport.memory_link import MemoryLink
from beskar_jobs.transport.reconnecting import ReconnectingTransport
from beskar_jobs.transport.urls import redact

__all__ = ["MemoryBroker", "MemoryTransport"]


class MemoryTransport(ReconnectingTransport):
    """:class:`~beskar_jobs.ports.transport.Transport` to a :class:`MemoryBroker`.

    Args:
        url: the broker's :attr:`~MemoryBroker.url`. A broker that is stopped counts as one that does not answer, which
            may change; one that was never made is an error at once, for nobody else can make it.
    """

    def __init__(self, url: str, options: TransportOptions, listener: TransportListener) -> None:
        super().__init__(redact(url), options, listener, advice="restart() starts it again")
        self._url = url

    def _make_link(self, will: OutboundMessage | None, events: LinkEvents) -> Link:
        broker = find_memory_broker(self._url)
        if broker is None:
            raise ConnectFailed(
                "no in-memory broker of this process has this URL; make one with MemoryBroker "
                "(beskar_jobs.transport.memory), keep it, and take its url",
                final=True,
            )
        return MemoryLink(broker, self._options, will, events)
