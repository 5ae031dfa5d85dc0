"""The ``beskar`` application: its commands, put together."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from beskar_jobs.cli import brokers, jobs, processes, recurring
from beskar_jobs.cli.settings import load_settings

app = typer.Typer(
    name="beskar",
    help="Background jobs on MQTT 5. Settings: option > environment (BESKAR_…) > [tool.beskar] in pyproject.toml.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help as plain text: rich alone takes longer to load than everything else
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415  # slow to load, seldom asked for

        typer.echo(version("beskar-jobs"))
        raise typer.Exit


@app.callback()
def settings(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    if isinstance(context.command, TyperGroup):
        context.default_map = _for_each_command(context.command, load_settings())


def _for_each_command(group: TyperGroup, values: dict[str, Any]) -> dict[str, Any]:
    """*values* as the defaults of every command of *group*, and of the groups within."""
    return {
        name: _for_each_command(command, values) if isinstance(command, TyperGroup) else values
        for name, command in group.commands.items()
    }


for command in (brokers.broker, processes.scheduler, processes.worker, brokers.acl):
    app.command()(command)
for command in (jobs.enqueue, jobs.watch, jobs.job, jobs.jobs, jobs.cancel, jobs.workers, jobs.queues):
    app.command()(command)

recurring_app = typer.Typer(help="Jobs that run again and again.", no_args_is_help=True, rich_markup_mode=None)
for command in (recurring.add, recurring.pause, recurring.resume, recurring.trigger, recurring.remove):
    recurring_app.command()(command)
recurring_app.command("list")(recurring.list_entries)
app.add_typer(recurring_app, name="recurring")
