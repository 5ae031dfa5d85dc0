"""Acknowledgements: QoS 1 towards clients, and both directions of QoS 2 (MQTT 5.0, 4.3.2 and 4.3.3)."""

from __future__ import annotations

from mqtt5 import PubAckPacket, PubCompPacket, PubRecPacket, PubRelPacket

from beskar_jobs.broker.sessions import Peer, Session

_PUBREL, _PUBCOMP = b"\x62", b"\x70"
_NOT_FOUND = b"\x92"


def acknowledge(
    peer: Peer, session: Session, packet: PubAckPacket | PubRecPacket | PubRelPacket | PubCompPacket, now: float
) -> None:
    packet_id = packet.packet_id
    identifier = packet_id.to_bytes(2)
    if isinstance(packet, PubRelPacket):
        if packet_id in session.received_ids:
            session.received_ids.remove(packet_id)
            peer.send(_PUBCOMP + b"\x02" + identifier)
        else:
            peer.send(_PUBCOMP + b"\x03" + identifier + _NOT_FOUND)
    elif isinstance(packet, PubRecPacket) and int(packet.reason_code) < 0x80:
        if session.received(packet_id):
            peer.send(_PUBREL + b"\x02" + identifier)
        else:
            peer.send(_PUBREL + b"\x03" + identifier + _NOT_FOUND)
    else:
        session.acknowledged(packet_id, now)
