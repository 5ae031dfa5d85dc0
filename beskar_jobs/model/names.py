"""Which strings may stand as a level of an MQTT topic: queues, worker ids, client ids, job ids, job types, prefixes.

Authority: MQTT 5.0 section 4.7 (topic names and filters) and 1.5.4 (UTF-8 strings). A name is one topic level, so it
holds no separator and no wildcard; it starts with no ``$`` (4.7.2 keeps those for the server).
"""

from __future__ import annotations

import re
from typing import Final

from beskar_jobs.model.errors import InvalidValue

MAX_NAME_BYTES: Final = 200
"""Longest name in UTF-8 bytes. Topics carry up to two names and end at 65,535 bytes."""

# The last of each plane's code points, and a block of the first plane, are no characters; brokers may close the
# connection on them (1.5.4), and with it everybody's who is sent such a name.
_NONCHARACTERS: Final = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
_FORBIDDEN_CLASS: Final = rf"+#/\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef{_NONCHARACTERS}"
_FORBIDDEN: Final = re.compile(f"[{_FORBIDDEN_CLASS}]")
NAME_PATTERN: Final = rf"\A(?![$\s])[^{_FORBIDDEN_CLASS}]*(?<!\s)\Z"
"""The rule of :func:`name_problem`, length aside, as a regular expression for decoders; takes the empty string."""


def name_problem(name: object) -> str | None:
    """Why *name* cannot stand in a topic, as the end of a sentence; ``None`` if it can."""
    if not isinstance(name, str):
        return f"is not a string but {type(name).__name__}"
    if not name.strip():
        return "is empty or blank"
    if found := _FORBIDDEN.search(name):
        return f"contains {found.group()!r}, which cannot stand in an MQTT topic level"
    if name.startswith("$"):
        return "starts with '$', which MQTT keeps for the broker"
    if name != name.strip():
        return "starts or ends with white space"
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"is longer than {MAX_NAME_BYTES} bytes"
    return None


def checked_name(kind: str, name: object) -> str:
    """*name* itself, if it can stand in a topic.

    Raises:
        InvalidValue: naming *kind* ("queue", "worker id") and what is wrong.
    """
    problem = name_problem(name)
    if problem is not None or not isinstance(name, str):
        raise InvalidValue(f"{kind} {name!r} {problem}")
    return name
