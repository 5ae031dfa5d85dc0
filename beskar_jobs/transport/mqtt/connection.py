"""One MQTT 5 connection, from dialling to its end, made by paho and driven from asyncio.

A connection has a paho client of its own. Once dialled, all runs on the event loop, through paho's API for foreign
loops. Writing happens once per turn of the loop, however many messages were published in it.

Failure modes. Whatever ends the connection (the peer closes, a reset, malformed bytes, a ping without answer for the
keep-alive time, a DISCONNECT from the broker) ends in one call of ``lost``, with the reason in words. paho pings on its
own also when idle, as a timer drives it; bytes that lie unread are read before it judges the peer dead, so that a loop
that was held up does not blame the broker.

Packet identifiers: paho numbers SUBSCRIBE and UNSUBSCRIBE from 1 up, the fast path PUBLISH from 32768 up, so the two
do not meet before the 32768th subscription of one connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Sequence
from typing import Any, Final

import paho.mqtt.client as paho
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from beskar_jobs.model.errors import InvalidValue, PublishRefused, TransportError
from beskar_jobs.ports.transport import InboundMessage, OutboundMessage, TransportOptions
from beskar_jobs.transport.link import DENIALS, ConnectFailed, ConnectionLost, LinkEvents
from beskar_jobs.transport.mqtt.dialling import (
    MAX_INBOUND,
    close_socket,
    dial,
    make_client,
    message_properties,
    no_delay,
    puback_text,
)
from beskar_jobs.transport.mqtt.packet_socket import PacketSocket, pending_bytes
from beskar_jobs.transport.outbox import Entry, Outbox
from beskar_jobs.transport.publish_codec import (
    PUBACK,
    PUBLISH,
    MalformedPacket,
    PacketSplitter,
    decode_puback,
    decode_publish,
    encode_puback,
    encode_publish,
)
from beskar_jobs.transport.urls import BrokerUrl

logger = logging.getLogger(__name__)

_WINDOW: Final = 16_384  # QoS 1 messages on their way at most, if the broker does not ask for fewer
_ROOM: Final = 1024 * 1024  # bytes not taken by the kernel yet, past which messages wait in the outbox instead
_READS_BEFORE_JUDGEMENT: Final = 64  # of 64 KB each
_FIRST_ID: Final = 32_768
_LAST_ID: Final = 65_535

# Section 3.2.2.2: refusals that trying again does not change.
_FINAL_REFUSALS: Final = frozenset({0x84, 0x85, 0x86, 0x87, 0x8A, 0x8C})


class Connection:
    """:class:`~beskar_jobs.transport.link.Link` over a socket."""

    def __init__(
        self,
        url: BrokerUrl,
        options: TransportOptions,
        tls: ssl.SSLContext | None,
        will: OutboundMessage | None,
        events: LinkEvents,
        *,
        fast: bool,
    ) -> None:
        self._url = url
        self._options = options
        self._events = events
        self._loop = asyncio.get_running_loop()
        self._client = make_client(url, options, tls, will, fast=fast)
        self._client.on_connect = self._on_connect
        self._client.on_disconnect = self._on_disconnect
        self._client.on_message = self._on_message
        self._client.on_publish = self._on_publish
        self._client.on_subscribe = self._on_subscribe
        self._client.on_unsubscribe = self._on_unsubscribe
        self._client.on_socket_close = self._on_socket_close
        self._client.on_socket_register_write = self._on_register_write
        self._fast: PacketSocket | None = None
        self._splitter = PacketSplitter(MAX_INBOUND)
        self._file = -1
        self._timer: asyncio.TimerHandle | None = None
        self._flush_due = False
        self._taken = 0
        self._no_judgement_until = 0.0
        self._acknowledged = False
        self._given = 0  # bytes given to paho since it last had nothing to write; the fast path counts exactly
        self._connack: asyncio.Future[None] = self._loop.create_future()
        self._answers: dict[int, asyncio.Future[Sequence[int]]] = {}
        self._window = _WINDOW
        self._max_packet = MAX_INBOUND * 4
        self._next_id = _FIRST_ID
        self.ended = False
        self._quiet = True  # until the broker has accepted, a failure is the answer of connect(), not an event
        self.unacknowledged: dict[int, Entry] = {}

    # -- connecting

    async def dial(self, timeout: float) -> None:
        await dial(self._client, self._url, self._options.keep_alive, timeout)

    async def handshake(self) -> None:
        sock = self._client.socket()
        if sock is None or self.ended:
            close_socket(self._client)
            raise ConnectFailed("closed before the handshake")
        self._fast = sock if isinstance(sock, PacketSocket) else None
        self._file = sock.fileno()
        if not self._url.is_unix:
            no_delay(self._file)
        self._loop.add_reader(self._file, self._on_readable)
        self._tick()
        self._flush()
        await self._connack
        self._quiet = False

    def _on_connect(
        self, _client: Any, _data: Any, _flags: Any, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if self._connack.done():
            return
        if reason.is_failure:
            denied = reason.value in DENIALS
            nobody = denied and self._options.username is None and self._url.username is None
            text = f"the broker refused: {str(reason).lower()} (0x{reason.value:02x})"
            text += "; no user name was given" if nobody else ""
            final = reason.value in _FINAL_REFUSALS
            self._connack.set_exception(ConnectFailed(text, final=final, denied=denied))
            return
        # Section 3.2.2.3: the limits of the broker, where it has some.
        self._window = min(_WINDOW, getattr(properties, "ReceiveMaximum", _WINDOW))
        self._max_packet = min(self._max_packet, getattr(properties, "MaximumPacketSize", self._max_packet))
        self._connack.set_result(None)

    # -- publishing

    @property
    def drained(self) -> bool:
        return self._fast.buffered == 0 if self._fast is not None else not self._client.want_write()

    def hand_over(self, outbox: Outbox) -> None:
        waiting = outbox.waiting
        while waiting and (self._fast.buffered if self._fast is not None else self._given) < _ROOM:
            entry = waiting[0]
            if self.unacknowledged and (
                outbox.suspects or (entry.message.qos and len(self.unacknowledged) >= self._window)
            ):
                return
            waiting.popleft()
            error = self._publish(entry)
            if error is not None or not entry.message.qos:
                outbox.settle(entry, error)

    def _publish(self, entry: Entry) -> PublishRefused | None:
        """An error if the broker has said that it takes nothing as large."""
        message = entry.message
        if len(message.payload) + len(message.topic) + 16 > self._max_packet:
            return PublishRefused(
                f"the message to {message.topic!r} has {len(message.payload)} bytes, more than the "
                f"{self._max_packet} that the broker accepts in a packet"
            )
        if self._fast is None:
            self._publish_through_paho(entry)
            return None
        packet_id = 0
        if message.qos:
            packet_id = self._next_id
            while packet_id in self.unacknowledged:
                packet_id = packet_id + 1 if packet_id < _LAST_ID else _FIRST_ID
            self._next_id = packet_id + 1 if packet_id < _LAST_ID else _FIRST_ID
            self.unacknowledged[packet_id] = entry
        self._fast.write(encode_publish(message, packet_id, again=entry.again))
        self._flush_soon()
        return None

    def _publish_through_paho(self, entry: Entry) -> None:
        message = entry.message
        properties = message_properties(message, PacketTypes.PUBLISH)
        while True:
            info = self._client.publish(message.topic, message.payload, message.qos, message.retain, properties)
            if info.rc is not MQTTErrorCode.MQTT_ERR_QUEUE_SIZE:
                break  # else: the identifier that it chose is still in use, and the next time it takes the next
        if message.qos:
            self.unacknowledged[info.mid] = entry
        self._given += len(message.payload) + len(message.topic) + 16

    def _on_publish(self, _client: Any, _data: Any, packet_id: int, reason: ReasonCode, _properties: Any) -> None:
        self._acknowledge(packet_id, reason.value)

    def _acknowledge(self, packet_id: int, code: int) -> None:
        entry = self.unacknowledged.pop(packet_id, None)
        if entry is None:
            return
        error: TransportError | None = None
        if code >= 0x80:
            error = PublishRefused(f"the broker refused the message to {entry.message.topic!r}: {puback_text(code)}")
        self._events.acknowledged(entry, error)
        self._acknowledged = True

    # -- subscribing

    async def subscribe(self, filters: Sequence[str]) -> Sequence[int]:
        options = [(text, SubscribeOptions(qos=1)) for text in filters]
        try:
            sent = self._client.subscribe(options)
        except ValueError as error:
            raise InvalidValue(f"one of the topic filters {list(filters)} is not valid: {error}") from error
        return await self._answer(*sent)

    async def unsubscribe(self, filters: Sequence[str]) -> None:
        await self._answer(*self._client.unsubscribe(list(filters)))

    async def _answer(self, rc: MQTTErrorCode, packet_id: int | None) -> Sequence[int]:
        if rc is not MQTTErrorCode.MQTT_ERR_SUCCESS or packet_id is None or self.ended:
            raise ConnectionLost("the connection is gone")
        answer: asyncio.Future[Sequence[int]] = self._loop.create_future()
        self._answers[packet_id] = answer
        return await answer

    def _on_subscribe(
        self, _client: Any, _data: Any, packet_id: int, reasons: list[ReasonCode], _properties: Any
    ) -> None:
        answer = self._answers.pop(packet_id, None)
        if answer is not None and not answer.done():
            answer.set_result([reason.value for reason in reasons])

    def _on_unsubscribe(
        self, client: Any, data: Any, packet_id: int, reasons: list[ReasonCode], properties: Any
    ) -> None:
        self._on_subscribe(client, data, packet_id, reasons, properties)

    # -- the socket

    def _on_readable(self) -> bool:
        """Take what has come; whether anything had, as far as can be known."""
        some = False
        try:
            if self._fast is None:
                self._client.loop_read()
                while not self.ended and pending_bytes(self._client.socket()):
                    self._client.loop_read()
            else:
                some = self._read_fast(self._fast)
                while not self.ended and self._fast.pending():
                    self._read_fast(self._fast)
        except OSError as error:
            self._end(f"{error.strerror or error}")
        except (MalformedPacket, UnicodeDecodeError) as error:
            self._end(f"the broker sent {error}")
        if self._acknowledged:
            self._acknowledged = False
            if not self.ended:
                self._events.roomy()
        return some

    def _read_fast(self, sock: PacketSocket) -> bool:
        data = sock.read()
        if data is None:
            return False
        if not data:
            self._end("the broker closed the connection")
            return False
        for first, body, header in self._splitter.feed(data):
            kind = first & 0xF0
            if kind == PUBLISH:
                message, packet_id = decode_publish(first, body)
                self._events.received(message)
                if self.ended:  # the listener aborted
                    break
                if packet_id:
                    sock.write(encode_puback(packet_id))
                    self._flush_soon()
            elif kind == PUBACK:
                self._acknowledge(*decode_puback(body))
            else:
                sock.give_to_paho(header + body)
                self._client.loop_read()
            if self.ended:
                break
        return True

    def _on_message(self, _client: Any, _data: Any, message: paho.MQTTMessage) -> None:
        properties = message.properties
        self._events.received(
            InboundMessage(
                message.topic,
                bytes(message.payload),
                message.retain,
                getattr(properties, "ResponseTopic", None),
                getattr(properties, "CorrelationData", None),
            )
        )

    def _on_register_write(self, _client: Any, _data: Any, _sock: Any) -> None:
        if self._file >= 0:  # not in the dialling thread; handshake() flushes what that leaves
            self._flush_soon()

    def _flush_soon(self) -> None:
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_due = False
        if self.ended:
            return
        try:
            if self._client.want_write():
                self._client.loop_write()
            done = not self._client.want_write() if self._fast is None else self._fast.flush()
        except OSError as error:
            self._end(f"{error.strerror or error}")
            return
        if self.ended:
            return
        if done:
            self._given = 0
            self._loop.remove_writer(self._file)
            self._events.roomy()
        else:
            self._loop.add_writer(self._file, self._flush)

    def _tick(self) -> None:
        """Let paho look after the keep-alive, a few times in each span of it."""
        self._timer = self._loop.call_later(min(1.0, max(self._options.keep_alive, 1) / 4), self._tick)
        if self._connack.done():
            # The answer to its ping may lie behind much else, if this loop was held up.
            for _ in range(_READS_BEFORE_JUDGEMENT):
                if self.ended or not self._on_readable():
                    break
        # On a slow line the ping waits behind what is being sent. As long as that moves, the peer is not dead; and once
        # it is through, the answer gets its time.
        now = self._loop.time()
        if self._fast is not None and self._fast.buffered and self._fast.taken != self._taken:
            self._taken = self._fast.taken
            self._no_judgement_until = now + self._options.keep_alive
        if not self.ended and now >= self._no_judgement_until:
            self._client.loop_misc()

    # -- the end

    def _on_disconnect(
        self, _client: Any, _data: Any, flags: paho.DisconnectFlags, reason: ReasonCode, _properties: Any
    ) -> None:
        if flags.is_disconnect_packet_from_server:
            self._end(f"the broker disconnected: {str(reason).lower()} (0x{reason.value:02x})")
        elif str(reason) == "Keep alive timeout":
            self._end(f"the broker did not answer a ping within {self._options.keep_alive} s")
        else:
            self._end(f"the connection was lost ({str(reason).lower()})")

    def _end(self, reason: str) -> None:
        if self.ended:
            return
        self._stop()
        if not self._connack.done():
            self._connack.set_exception(ConnectFailed(reason))
        if not self._quiet:
            self._events.lost(reason)

    def _stop(self) -> None:
        self.ended = True
        if self._timer is not None:
            self._timer.cancel()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ConnectionLost("the connection was lost before the broker answered"))
        self._answers.clear()
        self._forget_file()
        close_socket(self._client)

    def disconnect(self) -> None:
        if self.ended:
            return
        self._quiet = True
        self._client.disconnect()
        with contextlib.suppress(OSError):
            self._client.loop_write()
        if not self.ended:
            self._stop()
        self._give_up_connack()

    def abort(self) -> None:
        if self.ended:
            return
        self._quiet = True
        if self._fast is not None:
            self._fast.discard()
        self._stop()
        self._give_up_connack()

    def _give_up_connack(self) -> None:
        if not self._connack.done():
            self._connack.set_exception(ConnectFailed("closed by this side"))
            self._connack.exception()  # nobody may be waiting for it

    def _on_socket_close(self, _client: Any, _data: Any, _sock: Any) -> None:
        self._forget_file()

    def _forget_file(self) -> None:
        if self._file >= 0:
            self._loop.remove_reader(self._file)
            self._loop.remove_writer(self._file)
            self._file = -1
