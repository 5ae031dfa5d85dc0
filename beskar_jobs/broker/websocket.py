"""MQTT over WebSocket (MQTT 5.0, section 6; RFC 6455), without sockets: bytes in, MQTT bytes and bytes out.

The library ``websockets`` does the protocol; the rules of MQTT are here. The client must offer the subprotocol ``mqtt``
(6.0.0-3) and send binary frames only (6.0.0-1); packets may be cut into frames, and joined, at any place (6.0.0-2).

A browser lets every page open a WebSocket to every address, this machine's included. So an ``Origin`` that the client
names must be the very host and port it connected to, and where nobody is asked for a password that host must be an
address or ``localhost``: a name could be made to point here by whoever owns it.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final, cast
from urllib.parse import urlsplit

from websockets.datastructures import MultipleValuesError
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import OPEN
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

_SUBPROTOCOL: Final = Subprotocol("mqtt")
_FRAME_MARGIN: Final = 64 * 1024
_DATA: Final = (Opcode.BINARY, Opcode.CONT)

# Its own lines tell of every frame and every stray visitor; ours tell what matters.
_silent = logging.getLogger("beskar_jobs.broker.websocket")
_silent.addHandler(logging.NullHandler())
_silent.propagate = False
_silent.setLevel(logging.CRITICAL + 1)


class WebSocketStream:
    """One connection's WebSocket, on the side of the broker.

    Args:
        path: where MQTT is; anything else is not found (404).
        open_size: bytes of a frame before anything is known of the client.
        trusts_names: whether an ``Origin`` may be a name.

    Attributes:
        closed: it is over; what :meth:`to_send` gives is the last.
    """

    def __init__(self, path: str, open_size: int, *, trusts_names: bool) -> None:
        self._path = path
        self._trusts_names = trusts_names
        self._protocol = ServerProtocol(subprotocols=[_SUBPROTOCOL], max_size=open_size + _FRAME_MARGIN, logger=_silent)
        self.closed = False

    def admit(self, max_packet_size: int) -> None:
        """The client has been let in: take frames as large as a packet may be."""
        self._protocol.max_message_size = max_packet_size + _FRAME_MARGIN

    def receive(self, data: bytes) -> list[bytes]:
        """MQTT bytes in what came in. Afterwards there may be something :meth:`to_send`."""
        protocol = self._protocol
        protocol.receive_data(data)
        pieces: list[bytes] = []
        for event in protocol.events_received():
            if isinstance(event, Request):
                self._answer(event)
            elif not isinstance(event, Frame) or self.closed:
                continue
            elif event.opcode in _DATA:
                pieces.append(bytes(event.data))
            elif event.opcode is Opcode.TEXT:
                protocol.fail(CloseCode.UNSUPPORTED_DATA, "MQTT is sent in binary frames")
                self.closed = True
            elif event.opcode is Opcode.CLOSE:
                self.closed = True
        if protocol.handshake_exc is not None or protocol.close_expected():
            self.closed = True
        return pieces

    def wrap(self, data: bytes) -> bytes:
        """*data* as the client gets it; nothing while the handshake is not done."""
        if data and self._protocol.state is OPEN:
            self._protocol.send_binary(data)
        return self.to_send()

    def finish(self) -> bytes:
        """The last bytes of a connection that the broker ends."""
        if self._protocol.state is OPEN:
            self._protocol.send_close(CloseCode.NORMAL_CLOSURE)
        self.closed = True
        return self.to_send()

    def to_send(self) -> bytes:
        return b"".join(cast(Iterable[bytes], self._protocol.data_to_send()))

    def _answer(self, request: Request) -> None:
        refusal = self._refusal(request)
        if refusal is None:
            self._protocol.send_response(self._protocol.accept(request))
            if self._protocol.state is not OPEN:
                self.closed = True
        else:
            status, why = refusal
            self._protocol.send_response(self._protocol.reject(status, f"{why}\n"))
            self.closed = True

    def _refusal(self, request: Request) -> tuple[HTTPStatus, str] | None:
        if request.path.partition("?")[0] != self._path:
            return HTTPStatus.NOT_FOUND, f"MQTT is at {self._path}"
        offered = ",".join(request.headers.get_all("Sec-WebSocket-Protocol"))
        if _SUBPROTOCOL not in [name.strip() for name in offered.split(",")]:
            return HTTPStatus.BAD_REQUEST, "offer the subprotocol 'mqtt'"
        try:
            origin, host = request.headers.get("Origin"), request.headers.get("Host", "")
        except MultipleValuesError:
            return HTTPStatus.BAD_REQUEST, "Origin and Host are given once"
        if origin is not None and not self._is_own(origin, host):
            return HTTPStatus.FORBIDDEN, "pages of other sites are not served"
        return None

    def _is_own(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
            name = parts.hostname
        except ValueError:
            return False
        if not name or parts.netloc.lower() != host.lower():
            return False
        if self._trusts_names or name == "localhost":
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True
