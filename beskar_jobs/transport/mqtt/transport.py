"""The transport to any MQTT 5 broker, over paho-mqtt."""

from __future__ import annotations

import ssl

from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.ports.transport import OutboundMessage, TransportListener, TransportOptions
from beskar_jobs.transport.link import Link, LinkEvents
from beskar_jobs.transport.mqtt.connection import Connection
from beskar_jobs.transport.reconnecting import ReconnectingTransport
from beskar_jobs.transport.urls import BrokerUrl, parse_broker_url


class MqttTransport(ReconnectingTransport):
    """:class:`~beskar_jobs.ports.transport.Transport` over paho-mqtt.

    Args:
        url: ``mqtt://``, ``mqtts://``, ``ws://``, ``wss://`` or ``mqtt+unix://``, with ``user:password@`` if need be.
        fast_path: leave PUBLISH and PUBACK to code of our own (:mod:`beskar_jobs.transport.mqtt.packet_socket`), where
            the installed paho allows it; ``False``: everything through paho's public API.

    Raises:
        InvalidValue: the URL breaks a rule, or a TLS file cannot be read.
    """

    def __init__(
        self, url: str, options: TransportOptions, listener: TransportListener, *, fast_path: bool = True
    ) -> None:
        self._url = parse_broker_url(url)
        self._fast_path = fast_path
        self._tls = _tls_context(self._url, options)
        advice = "is a broker running there? 'beskar broker' starts one"
        super().__init__(self._url.redacted, options, listener, advice=advice)

    def _make_link(self, will: OutboundMessage | None, events: LinkEvents) -> Link:
        return Connection(self._url, self._options, self._tls, will, events, fast=self._fast_path)


def _tls_context(url: BrokerUrl, options: TransportOptions) -> ssl.SSLContext | None:
    if not url.uses_tls:
        return None
    try:
        context = ssl.create_default_context(cafile=options.ca_file)
        if options.cert_file is not None:
            context.load_cert_chain(options.cert_file, options.key_file)
    except OSError as error:
        files = ", ".join(file for file in (options.ca_file, options.cert_file, options.key_file) if file)
        raise InvalidValue(f"cannot read the TLS files ({files}): {error}") from error
    return context
