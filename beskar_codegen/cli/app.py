"""The ``beskar-codegen`` application: its commands and their options. What they do stands in the modules beside.

It parses with argparse, unlike ``beskar``: typer loads a validation library for each command, which takes as long as
everything that a check without changes may take, and this command runs at each commit.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

_FORMATS: Final = ("text", "github", "json", "sarif")
_MODES: Final = ("import", "standalone")
_EXIT_CODES: Final = "exit codes: 0 fine; 1 stale or breaking; 2 diagnostics, or wrong use"


def run(arguments: Sequence[str]) -> int:
    """Run one command; the answer is the exit code.

    Raises:
        SystemExit: help was asked for, or the command was used wrongly.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help(sys.stderr)
        return 2
    if given.command != "watch":
        gc.disable()  # the process ends with the command, and many small objects live as long as it
    command: Callable[[argparse.Namespace], int] = given.run
    return command(given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="beskar-codegen",
        description="Checks the handler classes of Beskar Jobs, and writes typed descriptors, stubs and the contract.",
        epilog="Settings stand in [tool.beskar.codegen] of pyproject.toml; options override them.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    def add(name: str, help_text: str, command: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        added = commands.add_parser(
            name, help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}.", epilog=_EXIT_CODES
        )
        added.set_defaults(run=command)
        added.add_argument("--verbose", action="store_true", help="show where an internal error happened")
        return added

    generate = add("generate", "write descriptors, stubs and the contract", _generate)
    check = add("check", "see whether all that is generated is fresh; write nothing, show a diff", _check)
    for each in (generate, check):
        _add_settings(each)
        _add_accept(each)
        _add_no_cache(each)
    generate.add_argument("--force", action="store_true", help="overwrite files that were edited or are not ours")
    watch = add("watch", "generate, and again whenever something changes", _watch)
    _add_settings(watch)
    watch.add_argument("--interval", type=_interval, default=0.5, help="seconds between two looks (default: 0.5)")
    listing = add("list", "list the job types, with queues, handlers and types", _list)
    _add_settings(listing)
    _add_no_cache(listing)
    listing.add_argument("--json", action="store_true", help="write JSON")
    explain = add("explain", "tell what a rule asks for, why, and how to keep it", _explain)
    explain.add_argument("code", metavar="CODE", help="the code of a rule, as in JOBGEN004")
    explain.add_argument("--json", action="store_true", help="write JSON")
    add("rules", "list all rules", _rules).add_argument("--json", action="store_true", help="write JSON")
    return parser


def _add_settings(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--root", type=Path, metavar="FOLDER", help="the project (default: the nearest folder with a pyproject.toml)")
    add("--source", action="append", metavar="PATH", help="a folder or file with handlers; repeatable")
    add("--descriptors", metavar="PATH", help="the module with the descriptors")
    add("--stubs", metavar="FOLDER", help="where the stubs go; '' for none")
    add("--contract", metavar="PATH", help="the contract file")
    add("--mode", choices=_MODES, help="import the types, or write them out")
    add("--format", choices=_FORMATS, default="text", help="how diagnostics are written (default: text)")


def _add_accept(parser: argparse.ArgumentParser) -> None:
    text = "let this job type break its contract, or go; repeatable"
    parser.add_argument("--accept", action="append", default=[], metavar="JOB_TYPE", help=text)


def _add_no_cache(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write .beskar_cache")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from beskar_codegen.version import VERSION  # noqa: PLC0415

        sys.stdout.write(f"{VERSION}\n")
        parser.exit()


def _interval(text: str) -> float:
    seconds = float(text)
    if not 0.05 <= seconds <= 60:
        raise argparse.ArgumentTypeError("is a number of seconds from 0.05 to 60")
    return seconds


def _generate(given: argparse.Namespace) -> int:
    from beskar_codegen.cli import commands  # noqa: PLC0415  # what --help does not need

    run = commands.Run(given.root, _flags(given), given.format, use_cache=not given.no_cache)
    return commands.generate(run, is_forced=given.force, accepted=tuple(given.accept))


def _check(given: argparse.Namespace) -> int:
    from beskar_codegen.cli import commands  # noqa: PLC0415  # what --help does not need

    run = commands.Run(given.root, _flags(given), given.format, use_cache=not given.no_cache)
    return commands.check(run, accepted=tuple(given.accept))


def _watch(given: argparse.Namespace) -> int:
    from beskar_codegen.cli.watch import watch_project  # noqa: PLC0415  # what --help does not need

    return watch_project(given.root, _flags(given), given.format, given.interval)


def _list(given: argparse.Namespace) -> int:
    from beskar_codegen.cli import commands  # noqa: PLC0415  # what --help does not need

    run = commands.Run(given.root, _flags(given), given.format, use_cache=not given.no_cache)
    return commands.list_jobs(run, as_json=given.json)


def _explain(given: argparse.Namespace) -> int:
    from beskar_codegen.cli import rules  # noqa: PLC0415  # what --help does not need

    return rules.explain(given.code, as_json=given.json)


def _rules(given: argparse.Namespace) -> int:
    from beskar_codegen.cli import rules  # noqa: PLC0415  # what --help does not need

    return rules.list_rules(as_json=given.json)


def _flags(given: argparse.Namespace) -> dict[str, Any]:
    """The settings that were given as options, by key."""
    return {key: getattr(given, key) for key in ("source", "descriptors", "stubs", "contract", "mode")}
