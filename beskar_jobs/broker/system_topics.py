"""Topics below ``$SYS/broker``: what the broker counts, for whoever subscribes (MQTT 5.0, 4.7.2).

They are retained, published at the start and then at an interval, each only if its value has changed. Where Mosquitto
has a topic of the same meaning the name is the same, so that what reads its topics reads these; values are bare decimal
numbers. ``publish/messages`` counts PUBLISH packets, bytes are those of MQTT, without TLS and WebSocket.

What is counted leaves these messages out: publishing them does not change them. Clients cannot publish here: the core
refuses it (4.7.2: such topics are the server's).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mqtt5 import PublishPacket

from beskar_jobs.broker.core import BrokerCore
from beskar_jobs.broker.framing import Refusal
from beskar_jobs.broker.limits import Statistics
from beskar_jobs.broker.messages import Message

_ROOT: Final = "$SYS/broker/"


def figures(now: Statistics) -> dict[str, int]:
    """What stands below ``$SYS/broker`` for *now*."""
    return {
        "clients/connected": now.clients,
        "clients/disconnected": now.sessions - now.clients,
        "clients/total": now.sessions,
        "subscriptions/count": now.subscriptions,
        "retained messages/count": now.retained_messages,
        "retained messages/bytes": now.retained_bytes,
        "publish/messages/received": now.published,
        "publish/messages/sent": now.delivered,
        "publish/messages/queued": now.queued_messages,
        "publish/messages/dropped": now.dropped,
        "publish/messages/expired": now.expired,
        "publish/messages/handed on": now.handed_on,
        "publish/wills": now.wills,
        "bytes/received": now.bytes_received,
        "bytes/sent": now.bytes_sent,
        "refused/limits": now.refused,
    }


class SystemTopics:
    """The topics of one core.

    Args:
        core: it publishes them.
        version: of the broker.
        started: monotonic seconds.
    """

    def __init__(self, core: BrokerCore, version: str, started: float) -> None:
        self._core = core
        self._version = version
        self._started = started
        self._values: dict[str, bytes] = {}
        self._published = 0
        self._delivered = 0

    def publish(self, now: float, more: Mapping[str, int] | None = None) -> None:
        """Publish what has changed.

        Args:
            now: monotonic seconds.
            more: further figures, by what follows ``$SYS/broker/``.
        """
        counted = self._core.statistics()
        values: dict[str, int | str] = {"version": self._version, "uptime": int(now - self._started)}
        values.update(figures(counted))
        values.update(more or {})
        values["retained messages/count"] = counted.retained_messages - len(self._values)
        values["retained messages/bytes"] = counted.retained_bytes - sum(
            len(topic) + len(value) for topic, value in self._values.items()
        )
        values["publish/messages/received"] = counted.published - self._published
        values["publish/messages/sent"] = counted.delivered - self._delivered
        for name, value in values.items():
            self._publish(_ROOT + name, str(value).encode(), now)

    def _publish(self, topic: str, value: bytes, now: float) -> None:
        if self._values.get(topic) == value:
            return
        message = Message(PublishPacket(topic, value), topic, 0, now, len(value))
        try:
            self._delivered += self._core.publish(message, retain=True)
        except Refusal:
            return  # the retained messages are at their bound, which the core has logged; it is tried again
        self._published += 1
        self._values[topic] = value
