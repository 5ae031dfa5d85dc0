"""Where the embedded broker listens: the places, and the rule who may be let in without an account.

A place is written as a URL, the same that clients connect to: ``mqtt://127.0.0.1:1883``, ``mqtts://…`` (TLS),
``ws://…/mqtt`` and ``wss://…/mqtt`` (MQTT 5.0, section 6), ``mqtt+unix:///run/broker.sock``. Port 0 is a free one.

A broker without authentication listens on loopback addresses and Unix sockets only: whoever reaches it can run jobs. A
place beyond that is refused unless clients must prove who they are, by password or certificate, or the caller says in
so many words that anybody may come in.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
from typing import Final
from urllib.parse import unquote, urlsplit

import attrs

from beskar_jobs.model.errors import InvalidValue

_PORTS: Final = {"mqtt": 1883, "mqtts": 8883, "ws": 80, "wss": 443}
_UNIX: Final = "mqtt+unix"
_WEBSOCKET_PATH: Final = "/mqtt"
_ANY: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@attrs.frozen
class BrokerTls:
    """PEM files of the broker.

    Attributes:
        cert_file: its certificate, with the chain above it.
        key_file: the certificate's key.
        client_ca_file: if given, a client must show a certificate signed by this authority; its common name is the
            user name of a client that gives none.
    """

    cert_file: str | os.PathLike[str]
    key_file: str | os.PathLike[str]
    client_ca_file: str | os.PathLike[str] | None = None

    def context(self) -> ssl.SSLContext:
        """The TLS settings made of the files: TLS 1.2 at least.

        Raises:
            InvalidValue: a file cannot be read or is no PEM file of its kind; names it.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.cert_file, self.key_file)
        except (OSError, ssl.SSLError) as error:
            raise InvalidValue(
                f"the broker's certificate {os.fspath(self.cert_file)} and key {os.fspath(self.key_file)} cannot be "
                f"used: {error.strerror or error}; both are PEM files, and the key is not encrypted"
            ) from None
        if self.client_ca_file is not None:
            try:
                context.load_verify_locations(self.client_ca_file)
            except (OSError, ssl.SSLError) as error:
                raise InvalidValue(
                    f"the authority {os.fspath(self.client_ca_file)} of client certificates cannot be used: "
                    f"{error.strerror or error}; it is a PEM file of certificates"
                ) from None
            context.verify_mode = ssl.CERT_REQUIRED
        return context


@attrs.frozen
class Place:
    """One place to listen on.

    Attributes:
        scheme: ``mqtt``, ``mqtts``, ``ws``, ``wss`` or ``mqtt+unix``.
        host: address or name; empty for a Unix socket.
        port: 0: a free one.
        path: of the WebSocket or the Unix socket; else empty.
    """

    scheme: str
    host: str = ""
    port: int = 0
    path: str = ""

    @property
    def is_unix(self) -> bool:
        return self.scheme == _UNIX

    @property
    def uses_tls(self) -> bool:
        return self.scheme in {"mqtts", "wss"}

    @property
    def is_websocket(self) -> bool:
        return self.scheme in {"ws", "wss"}

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        if self.is_unix or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """What clients of this machine connect to."""
        if self.is_unix:
            return f"{_UNIX}://{os.path.abspath(self.path)}"
        host = _ANY.get(self.host, self.host)
        return f"{self.scheme}://{f'[{host}]' if ':' in host else host}:{self.port}{self.path}"


def parse_place(text: str) -> Place:
    """The place that *text* names.

    Raises:
        InvalidValue: unknown scheme, no host, a bad port, an account, or parts that mean nothing for the scheme.
    """
    scheme, separator, _ = text.partition("://")
    scheme = scheme.lower()
    if not separator or (scheme not in _PORTS and scheme != _UNIX):
        known = ", ".join(f"{name}://" for name in [*_PORTS, _UNIX])
        raise InvalidValue(f"listener {text!r} has no known scheme; use one of {known}")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise InvalidValue(f"listener {text!r} has a bad host or port; a port is a number from 0 to 65535") from None
    if parts.username is not None or parts.password is not None:
        raise InvalidValue("a listener has no user or password in it; accounts stand in the password file")
    if parts.query or parts.fragment:
        raise InvalidValue(f"listener {text!r} has a query or fragment, which means nothing here; leave it out")
    if scheme == _UNIX:
        if parts.hostname or not parts.path.strip("/"):
            raise InvalidValue(f"listener {text!r} must name a socket by its full path, as in mqtt+unix:///run/mqtt")
        return Place(scheme, path=unquote(parts.path))
    if not parts.hostname:
        raise InvalidValue(f"listener {text!r} has no host; write for example {scheme}://127.0.0.1:0")
    path = parts.path
    if scheme in {"ws", "wss"}:
        path = path or _WEBSOCKET_PATH
    elif path.strip("/"):
        raise InvalidValue(f"listener {text!r} has a path, which only ws://, wss:// and mqtt+unix:// know")
    else:
        path = ""
    return Place(scheme, parts.hostname, _PORTS[scheme] if port is None else port, path)


def check_places(places: list[Place], *, tls: BrokerTls | None, authenticated: bool, anonymous_remote: bool) -> None:
    """Refuse what cannot be meant, and what would let everybody in.

    Raises:
        InvalidValue: names the place and the option that is missing.
    """
    for place in places:
        if place.uses_tls and tls is None:
            raise InvalidValue(
                f"{place.url} needs a certificate: give tls=BrokerTls(…) (--tls-cert-file and --tls-key-file)"
            )
        certified = place.uses_tls and tls is not None and tls.client_ca_file is not None
        if not (place.is_local or authenticated or certified or anonymous_remote):
            raise InvalidValue(
                f"{place.host} can be reached from other machines, and nobody is asked for a password: whoever reaches "
                "it can run jobs. Give accounts (password_file, --password-file) or demand client certificates "
                "(client_ca_file, --client-ca-file); allow_anonymous_remote=True (--allow-anonymous-remote) lets "
                "everybody in"
            )
