"""``beskar-codegen``: the command.

Exit codes: 0 fine, 2 wrong use (an unknown code, an unknown option). ``--json`` writes one JSON document to standard
output and nothing else.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

import attrs
import typer
from rich.console import Console
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from beskar_jobs.handlers.rules import RULES, Rule

app = typer.Typer(
    name="beskar-codegen",
    help="Checks the handler classes of Beskar Jobs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

AsJson = Annotated[bool, typer.Option("--json", help="Write JSON.")]


def main() -> None:
    """Run the command with the arguments of this process."""
    app()


@app.command()
def explain(
    code: Annotated[str, typer.Argument(help="The code of a rule, as in JOBGEN004.")],
    as_json: AsJson = False,
) -> None:
    """Tell what a rule asks for, why, and how to keep it."""
    rule = RULES.get(code.strip().upper())
    if rule is None:
        typer.echo(f"no rule has the code {code!r}; 'beskar-codegen rules' lists them all", err=True)
        raise typer.Exit(2)
    if as_json:
        typer.echo(json.dumps(_plain(rule), indent=2, ensure_ascii=False))
        return
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


@app.command("rules")
def list_rules(as_json: AsJson = False) -> None:
    """List all rules."""
    if as_json:
        typer.echo(json.dumps([_plain(rule) for rule in RULES.values()], indent=2, ensure_ascii=False))
        return
    table = Table("code", "rule", box=None, pad_edge=False)
    for rule in RULES.values():
        table.add_row(rule.code, Text(rule.rule))
    Console(highlight=False).print(table)


def _plain(rule: Rule) -> dict[str, Any]:
    return {**attrs.asdict(rule), "explanation": _flowing(rule.explanation)}


def _flowing(text: str) -> str:
    """Without the line breaks of the source, for a terminal of any width."""
    return " ".join(text.split())
