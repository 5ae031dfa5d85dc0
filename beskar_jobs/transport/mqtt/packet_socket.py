"""The fast path: paho keeps the connection, PUBLISH and PUBACK go past it.

paho reads a packet with four ``recv`` calls, writes each with one ``send``, and builds a ``Properties`` object for
every packet, which costs more than all the rest together. So a socket of our own is put between paho and the real
one. What paho writes (CONNECT, SUBSCRIBE, PINGREQ, …) joins the same buffer as our PUBLISH packets, and goes out in one
``send``. What comes in is read in large pieces; PUBLISH and PUBACK are decoded here, and every other packet is given
to paho through ``recv``. paho's own state machine, keep-alive and callbacks go on as if nothing had happened.

This leans on one private method of paho, ``Client._create_socket``. Whether the trick took is seen afterwards, through
the public ``Client.socket()``: if that is not our socket, because another version of paho goes another way, the
connection uses the public API alone, slower and otherwise the same.

paho's WebSocket loses the rest of a frame that the kernel takes in part; here it does not, as the same piece is
offered again until it is taken.
"""

from __future__ import annotations

import contextlib
import ssl
from typing import Any, Final, Protocol

import paho.mqtt.client as paho

# Pieces of this size: large enough that system calls do not count, small enough that a WebSocket frame, which paho
# masks byte by byte, does not hold the loop for long.
_WRITE_PIECE: Final = 128 * 1024
_READ_PIECE: Final = 64 * 1024


class _RawSocket(Protocol):
    def recv(self, buffer_size: int, /) -> bytes: ...
    def send(self, buffer: Any, /) -> int: ...
    def close(self) -> None: ...
    def fileno(self) -> int: ...
    def setblocking(self, flag: bool, /) -> None: ...


class PacketSocket:
    """What paho takes for its socket. The first part is paho's side, the second is the connection's."""

    def __init__(self, inner: _RawSocket) -> None:
        self._inner = inner
        self._for_paho = bytearray()
        self._out: list[bytes] = []
        self._current = memoryview(b"")
        self.buffered = 0
        """Bytes that are written, and not yet taken by the kernel."""
        self.taken = 0
        """Bytes that the kernel has taken, ever."""

    def recv(self, buffer_size: int) -> bytes:
        if not self._for_paho:
            raise BlockingIOError
        piece = bytes(self._for_paho[:buffer_size])
        del self._for_paho[:buffer_size]
        return piece

    def send(self, buffer: bytes | bytearray) -> int:
        self.write(bytes(buffer))
        return len(buffer)

    def close(self) -> None:
        with contextlib.suppress(OSError):  # it is being closed; that the peer went first changes nothing
            self.flush()  # a DISCONNECT that paho has just written
        self._inner.close()

    def fileno(self) -> int:
        return self._inner.fileno()

    def setblocking(self, flag: bool) -> None:
        self._inner.setblocking(flag)

    def give_to_paho(self, packet: bytes) -> None:
        """The next ``recv`` calls give *packet*."""
        self._for_paho += packet

    def write(self, packet: bytes) -> None:
        """Put *packet* behind all that was written before; :meth:`flush` sends it."""
        self._out.append(packet)
        self.buffered += len(packet)

    def flush(self) -> bool:
        """Send what the kernel takes now; whether that was all.

        Raises:
            OSError: the connection is gone.
        """
        while True:
            if not self._current:
                if not self._out:
                    return True
                self._current = memoryview(self._out[0] if len(self._out) == 1 else b"".join(self._out))
                self._out.clear()
            try:
                taken = self._inner.send(self._current[:_WRITE_PIECE])
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return False
            if not taken:  # a WebSocket frame taken in part
                return False
            self._current = self._current[taken:]
            self.buffered -= taken
            self.taken += taken

    def discard(self) -> None:
        """Forget what is not with the kernel."""
        self._out.clear()
        self._current = memoryview(b"")
        self.buffered = 0

    def read(self) -> bytes | None:
        """What has come in, at most some 64 KB; ``None`` if nothing has, empty if the peer has closed.

        Raises:
            OSError: the connection is gone.
        """
        try:
            return self._inner.recv(_READ_PIECE)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None

    def pending(self) -> int:
        """Bytes that TLS holds decrypted, of which no selector knows."""
        return pending_bytes(self._inner)


def pending_bytes(sock: object) -> int:
    """The same of any socket: plain ones have none."""
    ask = getattr(sock, "pending", None)
    return int(ask()) if ask is not None else 0


class FastClient(paho.Client):
    """A paho client whose socket is a :class:`PacketSocket`."""

    def _create_socket(self) -> Any:
        create: Any = getattr(super(), "_create_socket", None)
        if create is None:  # never called by such a paho; said for completeness
            raise NotImplementedError("this version of paho makes its socket another way")
        return PacketSocket(create())
