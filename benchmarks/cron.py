"""Cron beside croniter and cronsim: microseconds of CPU for the next firing and for parsing, in one process and run.

    python benchmarks/cron.py [--rounds 5] [--calls 400]

"Next" asks each library from the same instants, spread over two years. croniter parses once; cronsim has no other way
than a new object for each question, so that its parsing is measured alone and taken off. "Parse" reads one expression
again and again, and at last many different ones, since our parser remembers fields that it has read. The libraries take
turns, and the best of several rounds counts: noise only ever adds.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import attrs
from croniter import croniter
from cronsim import CronSim
from rich.console import Console
from rich.table import Table

from beskar_jobs.cron import CronSchedule

EXPRESSIONS = ("*/15 9-17 * * 1-5", "0 0 29 2 *", "0,30 * * * * *", "0 3 1 * *")
ZONE = ZoneInfo("Europe/Berlin")
START = datetime(2026, 1, 1, 0, 7, 11)


@attrs.frozen
class Row:
    """Microseconds a call."""

    expression: str
    what: str
    ours: float
    croniter: float
    cronsim: float


def microseconds(calls: list[Callable[[datetime], object]], moments: list[datetime], rounds: int) -> list[float]:
    """The best round of each call, in turns: what else the machine does meets all alike."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for index, call in enumerate(calls):
            started = time.process_time()
            for moment in moments:
                call(moment)
            best[index] = min(best[index], time.process_time() - started)
    return [seconds / len(moments) * 1e6 for seconds in best]


def measure_next(expression: str, moments: list[datetime], rounds: int) -> Row:
    schedule = CronSchedule.parse(expression)
    with_seconds = len(expression.split()) == 6
    other = croniter(expression, moments[0], ret_type=datetime, second_at_beginning=with_seconds)

    def from_croniter(moment: datetime) -> object:
        return other.get_next(datetime, start_time=moment)

    for moment in moments[:20]:
        expected = schedule.next_after(moment)
        assert expected == from_croniter(moment) == next(CronSim(expression, moment)), (expression, moment)
    ours, theirs, sim, sim_parse = microseconds(
        [
            schedule.next_after,
            from_croniter,
            lambda moment: next(CronSim(expression, moment)),
            lambda moment: CronSim(expression, moment),
        ],
        moments,
        rounds,
    )
    zone = moments[0].tzinfo
    return Row(expression, f"next, {zone or 'no zone'}", ours, theirs, sim - sim_parse)


def measure_parse(expression: str, moments: list[datetime], rounds: int) -> Row:
    with_seconds = len(expression.split()) == 6
    calls: list[Callable[[datetime], object]] = [
        lambda _: CronSchedule.parse(expression),
        lambda t: croniter(expression, t, second_at_beginning=with_seconds),
        lambda t: CronSim(expression, t),
    ]
    return Row(expression, "parse", *microseconds(calls, moments, rounds))


def measure_parse_of_many(count: int, rounds: int) -> Row:
    dice = random.Random(5)

    def some(low: int, high: int) -> str:
        first, second = sorted(dice.sample(range(low, high), 2))
        return dice.choice((f"{first}-{second}", f"{first},{second}", f"{first}-{second}/2", str(first), "*", "*/5"))

    texts = [
        f"{some(0, 59)} {some(0, 23)} {some(1, 28)} {some(1, 12)} {some(0, 6)}" for _ in range(count)
    ]  # more fields than are remembered

    def each(read: Callable[[str], object]) -> Callable[[datetime], object]:
        def call(_: datetime) -> None:
            for text in texts:
                read(text)

        return call

    calls = [
        each(CronSchedule.parse),
        each(lambda text: croniter(text, START)),
        each(lambda text: CronSim(text, START)),
    ]
    ours, theirs, sim = (total / count for total in microseconds(calls, [START], rounds))
    return Row(f"{count} different ones", "parse", ours, theirs, sim)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=400)
    options = parser.parse_args()
    moments = [START + timedelta(days=730 * index / options.calls) for index in range(options.calls)]
    rows = []
    for expression in EXPRESSIONS:
        rows.append(measure_next(expression, moments, options.rounds))
        rows.append(measure_next(expression, [moment.replace(tzinfo=ZONE) for moment in moments], options.rounds))
        rows.append(measure_parse(expression, moments, options.rounds))
    rows.append(measure_parse_of_many(4 * options.calls, options.rounds))
    table = Table(title="µs of CPU a call (best of several rounds)")
    for heading in ("expression", "what"):
        table.add_column(heading, no_wrap=True)
    for heading in ("Beskar", "croniter", "cronsim", "croniter/Beskar", "cronsim/Beskar"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            row.expression,
            row.what,
            *(f"{value:.2f}" for value in (row.ours, row.croniter, row.cronsim)),
            *(f"{value / row.ours:.1f}" for value in (row.croniter, row.cronsim)),
        )
    Console(width=None if Console().is_terminal else 120).print(table)


if __name__ == "__main__":
    main()
