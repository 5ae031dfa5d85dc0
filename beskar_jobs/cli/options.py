"""Options that several commands share, as groups.

A group is a frozen class whose fields are options. A command takes a group as one parameter, and :func:`with_groups`
puts the group's options in its place: written once, and the same everywhere.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import attrs
import typer

if TYPE_CHECKING:
    from beskar_jobs.runtime.connection import ConnectionSettings

DEFAULT_BROKER: Final = "mqtt://127.0.0.1:1883"
DEFAULT_PREFIX: Final = "jobs"


@attrs.frozen
class Connection:
    """How to reach the broker."""

    broker: Annotated[
        str, typer.Option(envvar="BESKAR_BROKER", help="URL of the broker.", show_default=DEFAULT_BROKER)
    ] = attrs.field(default=DEFAULT_BROKER, repr=False)
    prefix: Annotated[
        str, typer.Option(envvar="BESKAR_PREFIX", help="Topic prefix: separates systems on one broker.")
    ] = DEFAULT_PREFIX
    username: Annotated[str | None, typer.Option(envvar="BESKAR_USERNAME", help="User name for the broker.")] = None
    password: Annotated[
        str | None,
        typer.Option(envvar="BESKAR_PASSWORD", help="Better in the environment: others can see a command line."),
    ] = attrs.field(default=None, repr=False)
    ca_file: Annotated[
        str | None, typer.Option(envvar="BESKAR_CA_FILE", help="PEM file of the authority that the broker is of.")
    ] = None
    cert_file: Annotated[
        str | None, typer.Option(envvar="BESKAR_CERT_FILE", help="PEM file of the client certificate.")
    ] = None
    key_file: Annotated[
        str | None, typer.Option(envvar="BESKAR_KEY_FILE", help="PEM file of the client certificate's key.")
    ] = None
    connect_timeout: Annotated[
        float,
        typer.Option(
            envvar="BESKAR_CONNECT_TIMEOUT", min=0.1, max=3600, help="Seconds until an unreachable broker is an error."
        ),
    ] = 10.0

    @property
    def settings(self) -> ConnectionSettings:
        from beskar_jobs.runtime.connection import ConnectionSettings  # noqa: PLC0415  # --help is to stay fast

        return ConnectionSettings(
            prefix=self.prefix,
            connect_timeout=self.connect_timeout,
            username=self.username,
            password=self.password,
            ca_file=self.ca_file,
            cert_file=self.cert_file,
            key_file=self.key_file,
        )

    @property
    def environment(self) -> dict[str, str]:
        """The same settings for a process that is started; in its environment, where nobody else can read them."""
        values = attrs.asdict(self)
        return {f"BESKAR_{name.upper()}": str(value) for name, value in values.items() if value is not None}


@attrs.frozen
class Logs:
    """What is logged, and how."""

    log_level: Annotated[str, typer.Option(envvar="BESKAR_LOG_LEVEL", help="debug, info, warning or error.")] = "info"
    json_logs: Annotated[
        bool, typer.Option("--json-logs", envvar="BESKAR_JSON_LOGS", help="Log one JSON object a line.")
    ] = False

    @property
    def environment(self) -> dict[str, str]:
        """The same settings for a process that is started."""
        return {"BESKAR_LOG_LEVEL": self.log_level, "BESKAR_JSON_LOGS": "1" if self.json_logs else "0"}


AsJson = Annotated[bool, typer.Option("--json", help="Write JSON, and nothing else, to standard output.")]


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """*command* with, in place of each parameter that is a group, the options of that group."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if isinstance(kind, type) and attrs.has(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        kinds = get_type_hints(groups[name], include_extras=True)
        parameters.extend(
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=kinds[field.name]
            )
            for field in attrs.fields(groups[name])
        )

    def run(**values: Any) -> None:
        made = {
            name: group(**{field.name: values.pop(field.name) for field in attrs.fields(group)})
            for name, group in groups.items()
        }
        command(**values, **made)

    run.__name__ = command.__name__
    run.__doc__ = command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by inspect.signature
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
