"""Broker URLs: where a broker listens, how to speak to it, and as whom.

``mqtt://`` and ``mqtts://`` (TCP and TLS), ``ws://`` and ``wss://`` (MQTT over WebSocket, MQTT 5.0 section 6), and
``mqtt+unix:///path`` (a Unix domain socket). User and password stand before the host, percent-encoded where they hold
``:``, ``@`` or ``/``. A password never shows in a text: every error and ``repr`` shows :attr:`BrokerUrl.redacted`.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote, urlsplit

import attrs

from beskar_jobs.model.errors import InvalidValue

DEFAULT_PORTS: Final = {"mqtt": 1883, "mqtts": 8883, "ws": 80, "wss": 443}
UNIX_SCHEME: Final = "mqtt+unix"
DEFAULT_WEBSOCKET_PATH: Final = "/mqtt"

# Greedy up to the last "@", so that a password with an "@" or "/" that should have been encoded is hidden as well.
_PASSWORD = re.compile(r"(?<=://)([^:@/]*):.*@")


@attrs.frozen
class BrokerUrl:
    """A parsed broker URL.

    Attributes:
        scheme: ``mqtt``, ``mqtts``, ``ws``, ``wss`` or ``mqtt+unix``.
        host: name or address; empty for ``mqtt+unix``.
        port: TCP port; 0 for ``mqtt+unix``.
        path: of the WebSocket, or of the Unix domain socket; empty for ``mqtt`` and ``mqtts``.
    """

    scheme: str
    host: str
    port: int
    path: str = ""
    username: str | None = None
    password: str | None = attrs.field(default=None, repr=False)

    @property
    def uses_tls(self) -> bool:
        return self.scheme in {"mqtts", "wss"}

    @property
    def is_websocket(self) -> bool:
        return self.scheme in {"ws", "wss"}

    @property
    def is_unix(self) -> bool:
        return self.scheme == UNIX_SCHEME

    @property
    def redacted(self) -> str:
        """The URL as text, without the password."""
        user = "" if self.username is None else quote(self.username, safe="")
        secret = ":***" if self.password is not None else ""
        account = f"{user}{secret}@" if user or secret else ""
        if self.is_unix:
            return f"{self.scheme}://{account}{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{account}{host}:{self.port}{self.path}"


def redact(text: str) -> str:
    """*text*, which should be a URL but may be anything, without what looks like a password."""
    return _PASSWORD.sub(r"\1:***@", text)


def parse_broker_url(text: str) -> BrokerUrl:
    """The broker that *text* names.

    Raises:
        InvalidValue: unknown scheme, no host, a bad port, or parts that mean nothing for the scheme.
    """
    shown = redact(text)
    scheme, separator, _ = text.partition("://")
    scheme = scheme.lower()
    if not separator or (scheme not in DEFAULT_PORTS and scheme != UNIX_SCHEME):
        known = ", ".join(f"{name}://" for name in [*DEFAULT_PORTS, UNIX_SCHEME])
        raise InvalidValue(f"broker URL {shown!r} has no known scheme; use one of {known}")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise InvalidValue(f"broker URL {shown!r} has a bad host or port; a port is a number from 1 to 65535") from None
    if parts.query or parts.fragment:
        raise InvalidValue(f"broker URL {shown!r} has a query or fragment, which means nothing here; leave it out")
    username = None if parts.username is None else unquote(parts.username)
    password = None if parts.password is None else unquote(parts.password)

    if scheme == UNIX_SCHEME:
        if parts.hostname or not parts.path.strip("/"):
            raise InvalidValue(f"broker URL {shown!r} must name a socket by its full path, as in mqtt+unix:///run/mqtt")
        return BrokerUrl(scheme, "", 0, unquote(parts.path), username, password)

    if not parts.hostname:
        raise InvalidValue(f"broker URL {shown!r} has no host; write for example {scheme}://localhost")
    if port == 0:
        raise InvalidValue(f"broker URL {shown!r} has port 0; a port is a number from 1 to 65535")
    path = parts.path
    if scheme in {"ws", "wss"}:
        path = path or DEFAULT_WEBSOCKET_PATH
    elif path not in {"", "/"}:
        raise InvalidValue(f"broker URL {shown!r} has a path, which only ws://, wss:// and mqtt+unix:// know")
    else:
        path = ""
    return BrokerUrl(scheme, parts.hostname, port or DEFAULT_PORTS[scheme], path, username, password)
