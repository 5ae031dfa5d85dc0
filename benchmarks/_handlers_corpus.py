"""Writes a project of many handlers with realistic bodies, for ``codegen.py``. The same arguments, the same files."""

from __future__ import annotations

from pathlib import Path

_PYPROJECT = '[project]\nname = "shop"\nversion = "1"\n\n[tool.beskar.codegen]\nsource = ["shop"]\n'

_TYPES = '''"""What the jobs of {title} take and give."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from uuid import UUID

import attrs


class {name}State(Enum):
    """Where an order of {title} stands."""

    OPEN = "open"
    PAID = "paid"
    SHIPPED = "shipped"
    CLOSED = "closed"


@attrs.frozen
class {name}Line:
    """One line of an order."""

    article: str
    count: int
    price: Decimal
    discount: Decimal = Decimal("0")


@attrs.frozen
class {name}ImportArgs:
    """What to import.

    Attributes:
        path: of the file, in the store.
        lines: how many at most.
    """

    path: str
    lines: int = 1000
    state: {name}State = {name}State.OPEN
    since: datetime | None = None
    tags: list[str] = attrs.field(factory=list)


@attrs.frozen
class {name}ImportResult:
    imported: int
    lines: list[{name}Line]
    skipped: dict[str, int] = attrs.field(factory=dict)


@dataclass(frozen=True)
class {name}ReportArgs:
    customer: UUID
    months: int = 12
    patience: timedelta = timedelta(minutes=5)
    columns: tuple[str, ...] = ("article", "count", "price")
    notes: list[str] = field(default_factory=list)
'''

_HEAD = '''"""Jobs of {title}."""

from __future__ import annotations

import asyncio
import csv
import logging
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal

from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler

from shop.types.{module} import (
    {name}ImportArgs,
    {name}ImportResult,
    {name}Line,
    {name}ReportArgs,
    {name}State,
)

log = logging.getLogger(__name__)
_BATCH = 500
_RATES: dict[str, Decimal] = {{"EUR": Decimal("1"), "SEK": Decimal("11.3"), "USD": Decimal("1.08")}}


class {name}Error(Exception):
    """A file that cannot be used."""

    def __init__(self, path: str, line: int, problem: str) -> None:
        super().__init__(f"{{path}}:{{line}}: {{problem}}")
        self.path = path
        self.line = line
'''

_HANDLERS = '''

@job_handler("shop.{module}.import", queue="import")
class {name}ImportJobHandler(JobHandlerWithResult[{name}ImportArgs, {name}ImportResult]):
    """Imports a file of {title}."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    async def execute(self, context: JobContext[{name}ImportArgs]) -> {name}ImportResult:
        arguments = context.arguments
        found: list[{name}Line] = []
        skipped: dict[str, int] = defaultdict(int)
        for number, row in enumerate(self._rows(arguments.path), 1):
            if number > arguments.lines:
                break
            try:
                found.append(parse_line(arguments.path, number, row))
            except {name}Error as error:
                skipped[str(error)] += 1
            if number % _BATCH == 0:
                await context.report_progress(100 * number / arguments.lines, f"line {{number}}")
                await asyncio.sleep(0)
        log.info("imported %d lines, skipped %d", len(found), sum(skipped.values()))
        return {name}ImportResult(len(found), found, dict(skipped))

    def _rows(self, path: str) -> Iterator[list[str]]:
        with open(path, encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                key = ",".join(row)
                if key not in self._seen:
                    self._seen.add(key)
                    yield row


@job_handler("shop.{module}.report", queue="reports", priority={priority})
class {name}ReportJobHandler(JobHandler[{name}ReportArgs]):
    """Writes the report of {title}."""

    def execute(self, context: JobContext[{name}ReportArgs]) -> None:
        arguments = context.arguments
        for month in range(arguments.months):
            context.raise_if_cancelled()
            log.info("report for %s, month %d", arguments.customer, month)
            context.report_progress(100 * (month + 1) / arguments.months)
'''

_FUNCTION = '''

def {verb}_{index}(lines: list[{name}Line], rate: str = "EUR", *, is_strict: bool = False) -> dict[str, Decimal]:
    """{title}: what the articles come to, step {index}."""
    totals: dict[str, Decimal] = {{}}
    factor = _RATES[rate]
    for line in lines:
        if line.count <= 0:
            if is_strict:
                raise ValueError(f"{{line.article}}: a count of {{line.count}}")
            continue
        price = line.price * line.count * factor
        if line.discount:
            price -= price * line.discount / 100
        totals[line.article] = totals.get(line.article, Decimal(0)) + price
    return {{article: total.quantize(Decimal("0.01")) for article, total in sorted(totals.items())}}
'''

_PARSE = '''

def parse_line(path: str, number: int, row: list[str]) -> {name}Line:
    """One line of a file."""
    match row:
        case [article, count, price]:
            return {name}Line(article.strip(), int(count), Decimal(price))
        case [article, count, price, discount]:
            return {name}Line(article.strip(), int(count), Decimal(price), Decimal(discount))
        case _:
            raise {name}Error(path, number, f"{{len(row)}} columns")


def next_state(state: {name}State) -> {name}State:
    """The state that follows."""
    order = list({name}State)
    return order[min(order.index(state) + 1, len(order) - 1)]
'''


def write_corpus(root: Path, modules: int, functions: int = 3) -> int:
    """Write a project with *modules* modules of two handlers each to *root*; the answer is its number of lines."""
    for package in ("shop", "shop/jobs", "shop/types"):
        (root / package).mkdir(parents=True)
        (root / package / "__init__.py").write_text("")
    (root / "pyproject.toml").write_text(_PYPROJECT)
    lines = 0
    for number in range(modules):
        fields = {
            "module": f"area_{number:03}",
            "name": f"Area{number:03}",
            "title": f"area {number}",
            "priority": number % 10,
        }
        verbs = ("total", "group", "settle", "charge", "refund")
        texts = [_HEAD.format(**fields), _HANDLERS.format(**fields), _PARSE.format(**fields)]
        texts += [_FUNCTION.format(verb=verbs[i % len(verbs)], index=i, **fields) for i in range(functions)]
        handlers = "".join(texts)
        types = _TYPES.format(**fields)
        (root / "shop" / "jobs" / f"{fields['module']}.py").write_text(handlers)
        (root / "shop" / "types" / f"{fields['module']}.py").write_text(types)
        lines += handlers.count("\n") + types.count("\n")
    return lines
