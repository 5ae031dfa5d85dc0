"""Whether the strings in a packet are UTF-8 (MQTT 5.0, 1.5.4), found out before the codec decodes the packet.

The codec answers a string that is not UTF-8 with a panic, which is no ordinary exception and prints a trace: anybody
who can connect could fill the log with it. So the strings are looked at here first, in the order of the wire. Where the
layout itself is wrong the walk ends: the codec, which reads in the same order, refuses the packet at that place.
"""

from __future__ import annotations

from enum import Enum, auto


class _Kind(Enum):
    STRING = auto()
    PAIR = auto()
    BINARY = auto()
    INTEGER = auto()


# 2.2.2.2. A number: that many bytes.
_PROPERTIES: dict[int, int | _Kind] = {
    **dict.fromkeys((0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A), 1),
    **dict.fromkeys((0x13, 0x21, 0x22, 0x23), 2),
    **dict.fromkeys((0x02, 0x11, 0x18, 0x27), 4),
    **dict.fromkeys((0x03, 0x08, 0x12, 0x15, 0x1A, 0x1C, 0x1F), _Kind.STRING),
    **dict.fromkeys((0x09, 0x16), _Kind.BINARY),
    0x0B: _Kind.INTEGER,
    0x26: _Kind.PAIR,
}

_CONNECT, _PUBLISH, _SUBSCRIBE, _UNSUBSCRIBE, _DISCONNECT, _AUTH = 1, 3, 8, 10, 14, 15
_CONNACK, _SUBACK, _UNSUBACK = 2, 9, 11  # no client sends them, but whoever does gets them decoded
_WILL, _USER = 0x04, 0x80


def strings_are_valid(packet: bytes, body: int) -> bool:
    """Whether every string of *packet*, whose body starts at *body*, is UTF-8, and stands where it belongs."""
    if packet[body:].isascii():
        return True
    try:
        _walk(packet, body)
    except ValueError:  # UnicodeDecodeError is one
        return False
    except (IndexError, KeyError):  # the layout is wrong, and that is for the codec to say
        return True
    return True


def _walk(data: bytes, at: int) -> None:
    kind = data[0] >> 4
    if kind == _PUBLISH:
        at = _string(data, at)
        _properties(data, at + 2 if data[0] & 0x06 else at)
    elif kind == _CONNECT:
        _walk_connect(data, at)
    elif kind in {_DISCONNECT, _AUTH}:
        _properties(data, at + 1)
    elif kind in {_SUBSCRIBE, _UNSUBSCRIBE}:
        at = _properties(data, at + 2)
        while at < len(data):
            at = _string(data, at) + (kind == _SUBSCRIBE)
    elif kind in {_CONNACK, _SUBACK, _UNSUBACK}:
        _properties(data, at + 2)
    else:
        _properties(data, at + 3)


def _walk_connect(data: bytes, at: int) -> None:
    at = _string(data, at)
    flags = data[at + 1]
    at = _properties(data, at + 4)
    at = _string(data, at)
    if flags & _WILL:
        at = _properties(data, at)
        at = _string(data, at)
        at = _binary(data, at)
    if flags & _USER:
        _string(data, at)


def _properties(data: bytes, at: int) -> int:
    length, at = _integer(data, at)
    end = at + length
    while at < end:
        kind = _PROPERTIES[data[at]]
        at += 1
        if isinstance(kind, int):
            at += kind
        elif kind is _Kind.STRING:
            at = _string(data, at)
        elif kind is _Kind.BINARY:
            at = _binary(data, at)
        elif kind is _Kind.PAIR:
            at = _string(data, _string(data, at))
        else:
            _, at = _integer(data, at)
    if at != end:  # the codec would read on behind it, and find other strings than this walk
        raise ValueError("a property goes beyond the length of the properties")
    return end


def _string(data: bytes, at: int) -> int:
    end = _binary(data, at)
    data[at + 2 : end].decode()
    return end


def _binary(data: bytes, at: int) -> int:
    return at + 2 + (data[at] << 8 | data[at + 1])


def _integer(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in (0, 7, 14, 21):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
    return value, at
