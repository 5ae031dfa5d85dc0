"""Bytes to packets. The one door through which the broker takes in what others have written.

The length of a packet is read here, before the codec sees it (2.1.4): so an incomplete packet is told from a malformed
one, and a packet over the limit is refused at its first bytes, before anything of it is kept.
"""

from __future__ import annotations

from mqtt5 import DisconnectReasonCode, Packet, PubAckReasonCode, read

from beskar_jobs.broker.strings import strings_are_valid

MAX_CONNECT_SIZE = 1024 * 1024
"""Bytes of a CONNECT at most, Will included: whoever sends it is not known yet."""


class PeerFault(Exception):
    """What a peer did breaks the protocol or a limit; it costs that peer its connection."""

    def __init__(self, reason: DisconnectReasonCode, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Refusal(Exception):
    """What a peer asked for is over a bound, or not for it; it costs that request only, and the connection goes on."""

    def __init__(self, reason: PubAckReasonCode, text: str) -> None:
        super().__init__(text)
        self.reason = reason


def packet_end(buffer: bytes | bytearray, start: int) -> tuple[int, int] | None:
    """Where the body of the packet at *start* begins, and where it ends; ``None`` while its length is incomplete.

    Raises:
        PeerFault: the length has more than four bytes.
    """
    available = len(buffer)
    if start + 2 < available:  # the likely cases first: this runs for every packet
        length = buffer[start + 1]
        if length < 0x80:
            return start + 2, start + 2 + length
        byte = buffer[start + 2]
        if byte < 0x80:
            return start + 3, start + 3 + (length & 0x7F | byte << 7)
    length = 0
    for position in range(4):
        at = start + 1 + position
        if at >= available:
            return None
        byte = buffer[at]
        length |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            return at + 1, at + 1 + length
    raise PeerFault(DisconnectReasonCode.MALFORMED_PACKET, "the remaining length has more than four bytes")


def decode(packet: bytes, body: int) -> Packet:
    """The packet in *packet*, which is complete and whose body starts at *body*.

    Raises:
        PeerFault: it is malformed.
    """
    if not strings_are_valid(packet, body):
        raise PeerFault(
            DisconnectReasonCode.MALFORMED_PACKET, "malformed packet: a string is not UTF-8, or out of place"
        )
    try:
        decoded, used = read(memoryview(packet))
    except (ValueError, IndexError) as error:
        # The bytes are all there, so "not enough" means that a length inside the packet points beyond its end.
        raise PeerFault(DisconnectReasonCode.MALFORMED_PACKET, f"malformed packet: {error}") from None
    if used != len(packet):
        raise PeerFault(DisconnectReasonCode.MALFORMED_PACKET, "malformed packet: bytes left over")
    return decoded
