"""Transports: the ways to a broker, each an implementation of :mod:`beskar_jobs.ports.transport`.

:func:`create_transport` picks one by the URL's scheme and imports only that one, so that a client on MQTT needs no
library of the in-memory broker, and a test in memory no paho.
"""

from __future__ import annotations

from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.ports.transport import Transport, TransportListener, TransportOptions

__all__ = ["create_transport"]


def create_transport(url: str, options: TransportOptions, listener: TransportListener) -> Transport:
    """The transport for *url*, not open yet.

    Args:
        url: ``mqtt://``, ``mqtts://``, ``ws://``, ``wss://``, ``mqtt+unix://``, or ``memory://name`` for the broker
            of that name within this process.

    Raises:
        InvalidValue: the URL breaks a rule; the text shows it without its password.
    """
    if url.partition("://")[0].lower() == "memory":
        try:
            from beskar_jobs.transport.memory import MemoryTransport  # noqa: PLC0415  # its codec is an extra
        except ModuleNotFoundError as error:
            raise InvalidValue(
                f"broker URL {url!r} needs the extra 'embedded' (pip install 'beskar-jobs[embedded]'): {error}"
            ) from error
        return MemoryTransport(url, options, listener)
    from beskar_jobs.transport.mqtt import MqttTransport  # noqa: PLC0415

    return MqttTransport(url, options, listener)
