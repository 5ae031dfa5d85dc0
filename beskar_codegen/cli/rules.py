"""``explain`` and ``rules``: the rule table for people, and with ``--json`` for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from beskar_jobs.handlers.rules import Rule

AsJson = Annotated[bool, typer.Option("--json", help="Write JSON.")]


def explain(
    code: Annotated[str, typer.Argument(help="The code of a rule, as in JOBGEN004.")],
    as_json: AsJson = False,
) -> None:
    """Tell what a rule asks for, why, and how to keep it."""
    from beskar_jobs.handlers.rules import RULES  # noqa: PLC0415  # loaded when it is asked for

    rule = RULES.get(code.strip().upper())
    if rule is None:
        typer.echo(f"error: no rule has the code {code!r}; 'beskar-codegen rules' lists them all", err=True)
        raise typer.Exit(2)
    if as_json:
        typer.echo(json.dumps(_plain(rule), indent=2, ensure_ascii=False))
        return
    from rich.console import Console  # noqa: PLC0415  # slow to load
    from rich.padding import Padding  # noqa: PLC0415
    from rich.syntax import Syntax  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False)
    console.print(Text.assemble((rule.code, "bold"), "  ", (rule.title, "bold")))
    console.print()
    console.print(Text(rule.rule))
    console.print()
    console.print(Text(_flowing(rule.explanation)))
    for title, code_text in (("Breaks the rule:", rule.example), ("Keeps it:", rule.remedy)):
        console.print()
        console.print(Text(title))
        console.print()
        console.print(Padding(Syntax(code_text, "python", background_color="default"), (0, 0, 0, 4)))


def list_rules(as_json: AsJson = False) -> None:
    """List all rules."""
    from beskar_jobs.handlers.rules import RULES  # noqa: PLC0415  # loaded when it is asked for

    if as_json:
        typer.echo(json.dumps([_plain(rule) for rule in RULES.values()], indent=2, ensure_ascii=False))
        return
    from rich.console import Console  # noqa: PLC0415  # slow to load
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table("code", "rule", box=None, pad_edge=False)
    for rule in RULES.values():
        table.add_row(rule.code, Text(rule.rule))
    Console(highlight=False).print(table)


def _plain(rule: Rule) -> dict[str, Any]:
    import attrs  # noqa: PLC0415

    return {**attrs.asdict(rule), "explanation": _flowing(rule.explanation)}


def _flowing(text: str) -> str:
    """Without the line breaks of the source, for a terminal of any width."""
    return " ".join(text.split())
