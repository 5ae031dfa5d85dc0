"""Making a paho client, and bringing it as far as a socket to the broker.

What can block (name lookup, TCP connect, TLS handshake, WebSocket upgrade) runs in a thread of its own, which is left
behind when the time is up; it closes what it got, should it get through after all. A thread of the loop's pool would
not do: the loop waits for those when it ends.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import threading
import traceback
from typing import Any, Final

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from beskar_jobs.ports.transport import OutboundMessage, TransportOptions
from beskar_jobs.transport.link import ConnectFailed
from beskar_jobs.transport.mqtt.packet_socket import FastClient
from beskar_jobs.transport.urls import BrokerUrl

MAX_INBOUND: Final = 64 * 1024 * 1024
"""Bytes; a packet larger than this is not accepted. Said in CONNECT, so that the broker does not send it."""


_UNSENT: Final = 256 * 1024


def make_client(
    url: BrokerUrl,
    options: TransportOptions,
    tls: ssl.SSLContext | None,
    will: OutboundMessage | None,
    *,
    fast: bool,
) -> paho.Client:
    client = (FastClient if fast else paho.Client)(
        CallbackAPIVersion.VERSION2,
        client_id=options.client_id,
        protocol=MQTTProtocolVersion.MQTTv5,
        transport="unix" if url.is_unix else "websockets" if url.is_websocket else "tcp",
        reconnect_on_failure=False,
    )
    client.max_inflight_messages_set(0)
    client.max_queued_messages_set(0)
    username = options.username if options.username is not None else url.username
    password = options.password if options.password is not None else url.password
    if username is not None or password is not None:
        client.username_pw_set(username or "", password)
    if tls is not None:
        client.tls_set_context(tls)
    if url.is_websocket:
        client.ws_set_options(path=url.path)
    if will is not None:
        properties = message_properties(will, PacketTypes.WILLMESSAGE)
        client.will_set(will.topic, will.payload, will.qos, will.retain, properties)
    return client


async def dial(client: paho.Client, url: BrokerUrl, keep_alive: int, timeout: float) -> None:
    """Give *client* a socket to the broker, with a CONNECT ready to be written.

    Raises:
        ConnectFailed: within *timeout* seconds.
    """
    loop = asyncio.get_running_loop()
    dialled: asyncio.Future[None] = loop.create_future()

    def report(error: BaseException | None) -> None:
        if dialled.done():  # nobody waits any more
            close_socket(client)
        elif error is None:
            dialled.set_result(None)
        else:
            dialled.set_exception(error)

    def run() -> None:
        error: BaseException | None = None
        try:
            client.connect_timeout = timeout
            host, port = (url.path, 1) if url.is_unix else (url.host, url.port)
            client.connect(host, port, keepalive=keep_alive, clean_start=True, properties=_connect_properties())
        except (OSError, ValueError) as failure:
            _close_sockets_of(failure)
            error = failure
        try:
            loop.call_soon_threadsafe(report, error)
        except RuntimeError:  # the loop is closed, so nobody waits any more
            close_socket(client)

    threading.Thread(target=run, name="beskar-mqtt-connect", daemon=True).start()
    try:
        async with asyncio.timeout(timeout):
            await dialled
    except TimeoutError as error:
        raise ConnectFailed(str(error) or f"no connection within {timeout:.1f} s") from None
    except ssl.SSLCertVerificationError as error:
        text = f"the broker's certificate is not trusted ({error.verify_message}); is ca_file right?"
        raise ConnectFailed(text, final=True) from error
    except (OSError, ValueError) as error:
        raise ConnectFailed(str(error) or type(error).__name__) from error
    finally:
        dialled.cancel()


def close_socket(client: paho.Client) -> None:
    """Close without a word, and without a call back."""
    client.on_socket_close = client.on_socket_register_write = client.on_disconnect = None
    sock = client.socket()
    if sock is not None:
        sock.close()


def _connect_properties() -> Properties:
    properties: Any = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]  # paho left it untyped
    properties.MaximumPacketSize = MAX_INBOUND
    return properties  # type: ignore[no-any-return]  # its attributes exist at run time only


def message_properties(message: OutboundMessage, kind: int) -> Properties | None:
    if message.expiry is None and message.response_topic is None and message.correlation is None:
        return None
    properties: Any = Properties(kind)  # type: ignore[no-untyped-call]  # as above
    if message.expiry is not None:
        properties.MessageExpiryInterval = message.expiry
    if message.response_topic is not None:
        properties.ResponseTopic = message.response_topic
    if message.correlation is not None:
        properties.CorrelationData = message.correlation
    return properties  # type: ignore[no-any-return]  # as above


def puback_text(code: int) -> str:
    try:
        return f"{str(ReasonCode(PacketTypes.PUBACK, identifier=code)).lower()} (0x{code:02x})"
    except KeyError:
        return f"0x{code:02x}"


def _close_sockets_of(failure: Exception) -> None:
    """Close what paho had opened when it failed: it leaves a socket that did not get through its handshake to the
    garbage collector, which may come late, and an outage may last."""
    for frame, _ in traceback.walk_tb(failure.__traceback__):
        for value in frame.f_locals.values():
            if isinstance(value, socket.socket):
                value.close()


def no_delay(file: int) -> None:
    """Send small packets at once, and let the kernel queue no more than a little of what it cannot send yet: a ping
    that waits behind megabytes is answered late."""
    # paho hides the TCP socket below TLS and WebSocket; a duplicate of the descriptor reaches it all the same.
    with socket.socket(fileno=os.dup(file)) as duplicate:
        duplicate.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            duplicate.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
