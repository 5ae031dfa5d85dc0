"""The ``beskar-codegen`` application: its commands and their options. What they do stands in the modules beside."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from beskar_codegen.cli import rules

app = typer.Typer(
    name="beskar-codegen",
    help="Checks the handler classes of Beskar Jobs, and writes typed descriptors, stubs and the contract for them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help as plain text: rich alone takes longer to load than everything else
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


class Format(StrEnum):
    """How diagnostics are written."""

    TEXT = "text"
    GITHUB = "github"
    JSON = "json"
    SARIF = "sarif"


class ModeName(StrEnum):
    """Where descriptors have their types from."""

    IMPORT = "import"
    STANDALONE = "standalone"


Root = Annotated[
    Path | None, typer.Option("--root", help="The project's folder. [default: the nearest with a pyproject.toml]")
]
Source = Annotated[list[str] | None, typer.Option("--source", help="A folder or file with handlers; repeatable.")]
Descriptors = Annotated[str | None, typer.Option("--descriptors", help="Path of the module with the descriptors.")]
Stubs = Annotated[str | None, typer.Option("--stubs", help="Folder of the stubs; '' for none.")]
ContractPath = Annotated[str | None, typer.Option("--contract", help="Path of the contract file.")]
Mode = Annotated[ModeName | None, typer.Option("--mode", help="Import the types, or write them out.")]
Form = Annotated[Format, typer.Option("--format", help="How diagnostics are written.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither read nor write .beskar_cache.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that were edited or are not ours.")]
Accept = Annotated[
    list[str] | None, typer.Option("--accept", help="Let a job type break its contract, or go; repeatable.")
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show where an internal error happened.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON.")]


@app.callback(invoke_without_command=True)
def _common(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if show_version:
        from beskar_codegen.generation import version  # noqa: PLC0415  # slow to load, seldom asked for

        typer.echo(version())
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


@app.command()
def generate(
    *,
    root: Root = None,
    source: Source = None,
    descriptors: Descriptors = None,
    stubs: Stubs = None,
    contract: ContractPath = None,
    mode: Mode = None,
    form: Form = Format.TEXT,
    force: Force = False,
    accept: Accept = None,
    no_cache: NoCache = False,
    verbose: Verbose = False,
) -> None:
    """Write descriptors, stubs and the contract. 0: done; 1: the contract is broken, and kept; 2: diagnostics."""
    from beskar_codegen.cli import commands  # noqa: PLC0415  # what --help does not need

    flags = _flags(source, descriptors, stubs, contract, mode)
    run = commands.Run(root, flags, form.value, use_cache=not no_cache)
    raise typer.Exit(commands.generate(run, is_forced=force, accepted=tuple(accept or ())))


@app.command()
def check(
    *,
    root: Root = None,
    source: Source = None,
    descriptors: Descriptors = None,
    stubs: Stubs = None,
    contract: ContractPath = None,
    mode: Mode = None,
    form: Form = Format.TEXT,
    accept: Accept = None,
    no_cache: NoCache = False,
    verbose: Verbose = False,
) -> None:
    """Write nothing. 0: all is fresh; 1: generated files are stale or the contract is broken; 2: diagnostics."""
    from beskar_codegen.cli import commands  # noqa: PLC0415  # what --help does not need

    flags = _flags(source, descriptors, stubs, contract, mode)
    run = commands.Run(root, flags, form.value, use_cache=not no_cache)
    raise typer.Exit(commands.check(run, accepted=tuple(accept or ())))


@app.command()
def watch(
    *,
    root: Root = None,
    source: Source = None,
    descriptors: Descriptors = None,
    stubs: Stubs = None,
    contract: ContractPath = None,
    mode: Mode = None,
    form: Form = Format.TEXT,
    interval: Annotated[float, typer.Option(help="Seconds between two looks.", min=0.05, max=60)] = 0.5,
    verbose: Verbose = False,
) -> None:
    """Generate, and again whenever a source or the settings change, until interrupted."""
    from beskar_codegen.cli.watch import watch_project  # noqa: PLC0415  # what --help does not need

    raise typer.Exit(watch_project(root, _flags(source, descriptors, stubs, contract, mode), form.value, interval))


@app.command("list")
def list_jobs(
    *,
    root: Root = None,
    source: Source = None,
    as_json: AsJson = False,
    form: Form = Format.TEXT,
    no_cache: NoCache = False,
    verbose: Verbose = False,
) -> None:
    """List the job types with their queues, handlers and types. 2: there are diagnostics."""
    from beskar_codegen.cli import commands  # noqa: PLC0415  # what --help does not need

    run = commands.Run(root, _flags(source, None, None, None, None), form.value, use_cache=not no_cache)
    raise typer.Exit(commands.list_jobs(run, as_json=as_json))


app.command()(rules.explain)
app.command("rules")(rules.list_rules)


def _flags(
    source: list[str] | None,
    descriptors: str | None,
    stubs: str | None,
    contract: str | None,
    mode: ModeName | None,
) -> dict[str, Any]:
    """The settings that were given as options, by key."""
    return {
        "source": source or None,
        "descriptors": descriptors,
        "stubs": stubs,
        "contract": contract,
        "mode": None if mode is None else mode.value,
    }
