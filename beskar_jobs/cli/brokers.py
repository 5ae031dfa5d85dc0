"""The commands about the embedded broker: ``broker`` and ``acl``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Final

import attrs
import typer

from beskar_jobs.cli.options import DEFAULT_PREFIX, Logs, with_groups
from beskar_jobs.model.errors import BeskarError, InvalidValue

if TYPE_CHECKING:
    from beskar_jobs.broker import EmbeddedBroker

_ROLES: Final = ("client", "worker", "scheduler", "dashboard")


@attrs.frozen
class Security:
    """Who is let in, and with what rights."""

    tls_cert_file: Annotated[
        str | None, typer.Option(envvar="BESKAR_TLS_CERT_FILE", help="PEM file of the broker's certificate.")
    ] = None
    tls_key_file: Annotated[
        str | None, typer.Option(envvar="BESKAR_TLS_KEY_FILE", help="PEM file of the certificate's key.")
    ] = None
    client_ca_file: Annotated[
        str | None,
        typer.Option(envvar="BESKAR_CLIENT_CA_FILE", help="Over TLS, demand certificates of this authority."),
    ] = None
    password_file: Annotated[
        str | None, typer.Option(envvar="BESKAR_PASSWORD_FILE", help="Accounts; nobody else is let in.")
    ] = None
    acl_file: Annotated[
        str | None, typer.Option(envvar="BESKAR_ACL_FILE", help="Rights of roles, as 'beskar acl' prints them.")
    ] = None
    prefix: Annotated[str, typer.Option(envvar="BESKAR_PREFIX", help="Topic prefix that the rights are for.")] = (
        DEFAULT_PREFIX
    )
    allow_anonymous_remote: Annotated[
        bool,
        typer.Option(
            "--allow-anonymous-remote",
            envvar="BESKAR_ALLOW_ANONYMOUS_REMOTE",
            help="Listen beyond this machine, though nobody is asked who it is.",
        ),
    ] = False


@with_groups
def broker(
    *,
    logs: Logs,
    security: Security,
    host: Annotated[str, typer.Option(envvar="BESKAR_HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(envvar="BESKAR_PORT", min=0, max=65535, help="TCP port; 0: a free one.")] = 1883,
    unix: Annotated[
        str | None, typer.Option(envvar="BESKAR_UNIX", help="Listen on this Unix socket, and on no TCP port.")
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            envvar="BESKAR_LISTEN",
            metavar="URL,URL",
            help="Places to listen on instead: mqtt://, mqtts://, ws://, wss://, mqtt+unix://.",
        ),
    ] = None,
    max_connections: Annotated[
        int, typer.Option(envvar="BESKAR_MAX_CONNECTIONS", min=1, help="Connections at the same time.")
    ] = 10_000,
    persist: Annotated[
        str | None,
        typer.Option(
            envvar="BESKAR_PERSIST",
            metavar="FILE",
            help="Keep retained messages and sessions in this file.",
            show_default="nothing is kept",
        ),
    ] = None,
    sys_interval: Annotated[
        float,
        typer.Option(
            envvar="BESKAR_SYS_INTERVAL", min=0, max=86_400, help="Seconds between the figures below $SYS; 0: none."
        ),
    ] = 10.0,
    add_user: Annotated[
        str | None,
        typer.Option(metavar="USER[:ROLE,ROLE]", help="Print a line for the password file, and end."),
    ] = None,
) -> None:
    """Run the embedded MQTT broker.

    The first lines on standard output are its URLs. It keeps nothing on disk unless a file is named, and listens beyond
    this machine only if there are accounts: it is for development, tests and single machines.
    """
    from beskar_jobs.cli.logs import set_up_logs  # noqa: PLC0415
    from beskar_jobs.cli.stopping import run_serving, serve  # noqa: PLC0415

    if add_user is not None:
        print(_account(add_user, security.acl_file))  # noqa: T201  # the command's output
        return
    set_up_logs(logs)
    listeners = [text.strip() for text in listen.split(",")] if listen else []
    server = _embedded_broker(
        host,
        port,
        unix,
        listeners,
        security=security,
        max_connections=max_connections,
        persist=persist,
        sys_interval=sys_interval,
    )
    try:
        run_serving(serve(server, ready=lambda: print("\n".join(server.urls), flush=True)))  # noqa: T201  # as above
    except OSError as error:
        place, way_out = (unix, "--unix") if unix else (f"{host}:{port}", "--port (0: a free one) or --host")
        if listeners:
            place, way_out = ", ".join(listeners), "--listen"
        raise BeskarError(
            f"the broker cannot listen on {place}: {error.strerror or error}; choose another with {way_out}"
        ) from None


def acl(
    *,
    role: Annotated[str | None, typer.Option(help=f"Only this role: {', '.join(_ROLES)}.", show_default="all")] = None,
    mosquitto: Annotated[
        bool, typer.Option("--mosquitto", help="As an acl_file of Mosquitto, for users called as the roles.")
    ] = False,
    prefix: Annotated[
        str, typer.Option(envvar="BESKAR_PREFIX", help="Topic prefix; only Mosquitto's form holds it.")
    ] = DEFAULT_PREFIX,
) -> None:
    """Print what each role may publish and subscribe to, as a file for a broker."""
    _need_codec()
    from beskar_jobs.broker.access import as_mosquitto, as_toml  # noqa: PLC0415
    from beskar_jobs.wire.topics import Topics  # noqa: PLC0415

    if role is not None and role not in _ROLES:
        raise InvalidValue(f"there is no role {role!r}; there are {', '.join(_ROLES)}")
    chosen = None if role is None else [role]
    text = as_mosquitto(Topics(prefix).prefix, chosen=chosen) if mosquitto else as_toml(chosen=chosen)
    print(text, end="")  # noqa: T201  # the command's output


def _account(text: str, acl_file: str | None) -> str:
    """A line of the password file; the password comes from standard input, and is not shown where it is typed.

    Warns of roles that have no rights, neither by *acl_file* nor, without one, of themselves.
    """
    import getpass  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    _need_codec()
    from beskar_jobs.broker.access import load_roles  # noqa: PLC0415
    from beskar_jobs.broker.accounts import make_account  # noqa: PLC0415

    user, _, roles = text.partition(":")
    names = tuple(name.strip() for name in roles.split(",") if name.strip())
    password = getpass.getpass("password: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    if not password:
        raise InvalidValue("an account has a password; type one, or give a line on standard input")
    line = make_account(user, password, names)
    known = _ROLES if acl_file is None else tuple(load_roles(Path(acl_file)))
    place = "without an ACL file" if acl_file is None else f"by the ACL file {acl_file}"
    for name in names:
        if name not in known:
            print(  # noqa: T201  # a remark, not output
                f"warning: there is no role {name!r} {place}, so it gives {user!r} no rights; "
                f"there are {', '.join(known)}; an ACL file (--acl-file) defines others",
                file=sys.stderr,
            )
    return line


def _need_codec() -> None:
    try:
        import beskar_jobs.broker  # noqa: F401, PLC0415  # its codec is an extra
    except ModuleNotFoundError as error:
        raise BeskarError(
            f"the embedded broker needs the package {error.name}; install 'beskar-jobs[embedded]', "
            "or run another MQTT 5 broker, such as Mosquitto"
        ) from None


def _embedded_broker(
    host: str,
    port: int,
    unix: str | None,
    listeners: list[str],
    *,
    security: Security,
    max_connections: int,
    persist: str | None,
    sys_interval: float,
) -> EmbeddedBroker:
    _need_codec()
    from beskar_jobs.broker import BrokerTls, EmbeddedBroker  # noqa: PLC0415  # its codec is an extra

    tls = None
    cert, key = security.tls_cert_file, security.tls_key_file
    if cert is not None and key is not None:
        tls = BrokerTls(cert, key, security.client_ca_file)
    elif cert is not None or key is not None or security.client_ca_file is not None:
        raise InvalidValue("TLS needs both --tls-cert-file and --tls-key-file; --client-ca-file comes on top of them")
    return EmbeddedBroker(
        host,
        port,
        unix_path=unix,
        listeners=listeners,
        tls=tls,
        password_file=security.password_file,
        acl_file=security.acl_file,
        prefix=security.prefix,
        max_connections=max_connections,
        allow_anonymous_remote=security.allow_anonymous_remote,
        persist=persist,
        sys_interval=sys_interval,
    )
