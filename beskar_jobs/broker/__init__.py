"""The embedded MQTT 5 broker: :class:`EmbeddedBroker`, for development, tests, and installations of one machine.

Inside: a core without sockets (:mod:`~beskar_jobs.broker.core` and what it stands on) and an asyncio server around it.
The in-memory transport uses the same core.
"""

from __future__ import annotations

try:
    import mqtt5 as _codec  # noqa: F401
except ModuleNotFoundError as _error:
    if _error.name != "mqtt5":
        raise
    raise ModuleNotFoundError(
        "the embedded broker and the in-memory transport need the packet codec 'mqtt5', which is not installed: "
        "pip install beskar-jobs[embedded]",
        name="mqtt5",
    ) from None

from beskar_jobs.broker.listeners import BrokerTls
from beskar_jobs.broker.server import EmbeddedBroker
from beskar_jobs.broker.sessions import BrokerLimits

__all__ = ["BrokerLimits", "BrokerTls", "EmbeddedBroker"]
