"""The ``beskar-codegen`` application: its commands and their options. What they do stands in the modules beside.

Importing this loads typer and the standard library; each command imports what it needs when it runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from beskar_codegen.cli.quick import QuickCommand, QuickGroup

_EXIT_CODES: Final = "Exit codes: 0 fine; 1 stale or breaking; 2 diagnostics, or wrong use."

app = typer.Typer(
    name="beskar-codegen",
    cls=QuickGroup,
    help="Checks the handler classes of Beskar Jobs, and writes typed descriptors, stubs and the contract.",
    epilog="Settings stand in [tool.beskar.codegen] of pyproject.toml; options override them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help as plain text: rich takes longer to load than everything else
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

Format = Literal["text", "github", "json", "sarif"]
Mode = Literal["import", "standalone"]

_Root = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="The project.",
        show_default="the nearest folder with a pyproject.toml",
        exists=True,
        file_okay=False,
    ),
]
_Source = Annotated[list[str] | None, typer.Option(metavar="PATH", help="A folder or file with handlers; repeatable.")]
_Descriptors = Annotated[str | None, typer.Option(metavar="PATH", help="The module with the descriptors.")]
_Stubs = Annotated[str | None, typer.Option(metavar="FOLDER", help="Where the stubs go; '' for none.")]
_Contract = Annotated[str | None, typer.Option(metavar="PATH", help="The contract file.")]
_Mode = Annotated[Mode | None, typer.Option(help="Import the types, or write them out.")]
_Format = Annotated[Format, typer.Option("--format", help="How diagnostics are written.")]
_Accept = Annotated[
    list[str] | None,
    typer.Option(metavar="JOB_TYPE", help="Let this job type break its contract, or go; repeatable."),
]
_NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither read nor write .beskar_cache.")]
_Verbose = Annotated[bool, typer.Option("--verbose", help="Show where an internal error happened.")]
_AsJson = Annotated[bool, typer.Option("--json", help="Write JSON.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        from beskar_codegen.version import VERSION  # noqa: PLC0415

        typer.echo(VERSION)
        raise typer.Exit


@app.callback()
def _main(
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """The options before a command."""


@app.command(cls=QuickCommand, epilog=_EXIT_CODES)
def generate(
    *,
    root: _Root = None,
    source: _Source = None,
    descriptors: _Descriptors = None,
    stubs: _Stubs = None,
    contract: _Contract = None,
    mode: _Mode = None,
    form: _Format = "text",
    accept: _Accept = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that were edited or are not ours.")] = False,
    no_cache: _NoCache = False,
    verbose: _Verbose = False,
) -> None:
    """Write descriptors, stubs and the contract."""
    from beskar_codegen.cli import commands  # noqa: PLC0415  # what --help does not need

    run = commands.Run(root, _flags(source, descriptors, stubs, contract, mode), form, use_cache=not no_cache)
    raise typer.Exit(commands.generate(run, is_forced=force, accepted=tuple(accept or ())))


@app.command(cls=QuickCommand, epilog=_EXIT_CODES)
def check(
    *,
    root: _Root = None,
    source: _Source = None,
    descriptors: _Descriptors = None,
    stubs: _Stubs = None,
    contract: _Contract = None,
    mode: _Mode = None,
    form: _Format = "text",
    accept: _Accept = None,
    no_cache: _NoCache = False,
    verbose: _Verbose = False,
) -> None:
    """See whether all that is generated is fresh; write nothing, show a diff."""
    from beskar_codegen.cli import commands  # noqa: PLC0415  # what --help does not need

    run = commands.Run(root, _flags(source, descriptors, stubs, contract, mode), form, use_cache=not no_cache)
    raise typer.Exit(commands.check(run, accepted=tuple(accept or ())))


@app.command(cls=QuickCommand, epilog=_EXIT_CODES)
def watch(
    *,
    root: _Root = None,
    source: _Source = None,
    descriptors: _Descriptors = None,
    stubs: _Stubs = None,
    contract: _Contract = None,
    mode: _Mode = None,
    form: _Format = "text",
    interval: Annotated[float, typer.Option(min=0.05, max=60, help="Seconds between two looks.")] = 0.5,
    verbose: _Verbose = False,
) -> None:
    """Generate, and again whenever something changes."""
    from beskar_codegen.cli.watch import watch_project  # noqa: PLC0415  # what --help does not need

    raise typer.Exit(watch_project(root, _flags(source, descriptors, stubs, contract, mode), form, interval))


@app.command("list", cls=QuickCommand, epilog=_EXIT_CODES)
def list_jobs(
    *,
    root: _Root = None,
    source: _Source = None,
    descriptors: _Descriptors = None,
    stubs: _Stubs = None,
    contract: _Contract = None,
    mode: _Mode = None,
    form: _Format = "text",
    as_json: _AsJson = False,
    no_cache: _NoCache = False,
    verbose: _Verbose = False,
) -> None:
    """List the job types, with queues, handlers and types."""
    from beskar_codegen.cli import commands  # noqa: PLC0415  # what --help does not need

    run = commands.Run(root, _flags(source, descriptors, stubs, contract, mode), form, use_cache=not no_cache)
    raise typer.Exit(commands.list_jobs(run, as_json=as_json))


@app.command(cls=QuickCommand)
def explain(
    code: Annotated[str, typer.Argument(metavar="CODE", help="The code of a rule, as in JOBGEN004.")],
    as_json: _AsJson = False,
    verbose: _Verbose = False,
) -> None:
    """Tell what a rule asks for, why, and how to keep it."""
    from beskar_codegen.cli import rules  # noqa: PLC0415  # what --help does not need

    raise typer.Exit(rules.explain(code, as_json=as_json))


@app.command("rules", cls=QuickCommand)
def list_rules(as_json: _AsJson = False, verbose: _Verbose = False) -> None:
    """List all rules."""
    from beskar_codegen.cli import rules  # noqa: PLC0415  # what --help does not need

    raise typer.Exit(rules.list_rules(as_json=as_json))


def _flags(
    source: list[str] | None, descriptors: str | None, stubs: str | None, contract: str | None, mode: str | None
) -> dict[str, Any]:
    """The settings that were given as options, by key."""
    return {
        "source": source or None,
        "descriptors": descriptors,
        "stubs": stubs,
        "contract": contract,
        "mode": mode,
    }
