"""``explain`` and ``rules``: the rule table for people, and with ``--json`` for programs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from beskar_jobs.handlers.rules import Rule


def explain(code: str, *, as_json: bool = False) -> int:
    """Tell what a rule asks for, why, and how to keep it; the answer is the exit code."""
    from beskar_jobs.handlers.rules import RULES  # noqa: PLC0415  # loaded when it is asked for

    rule = RULES.get(code.strip().upper())
    if rule is None:
        sys.stderr.write(f"error: no rule has the code {code!r}; 'beskar-codegen rules' lists them all\n")
        return 2
    if as_json:
        sys.stdout.write(json.dumps(_plain(rule), indent=2, ensure_ascii=False) + "\n")
        return 0
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
    return 0


def list_rules(*, as_json: bool = False) -> int:
    """List all rules; the answer is the exit code."""
    from beskar_jobs.handlers.rules import RULES  # noqa: PLC0415  # loaded when it is asked for

    if as_json:
        every = [_plain(rule) for rule in RULES.values()]
        sys.stdout.write(json.dumps(every, indent=2, ensure_ascii=False) + "\n")
        return 0
    from rich.console import Console  # noqa: PLC0415  # slow to load
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table("code", "rule", box=None, pad_edge=False)
    for rule in RULES.values():
        table.add_row(rule.code, Text(rule.rule))
    Console(highlight=False).print(table)
    return 0


def _plain(rule: Rule) -> dict[str, Any]:
    import attrs  # noqa: PLC0415

    return {**attrs.asdict(rule), "explanation": _flowing(rule.explanation)}


def _flowing(text: str) -> str:
    """Without the line breaks of the source, for a terminal of any width."""
    return " ".join(text.split())
