"""Our next firing beside cronsim's and croniter's, on random triples; each disagreement must have a documented rule.

    python -m tests.cron.differential [--triples 20000] [--seed 1]

A rule explains a disagreement only if it is shown to be the cause: where the other library can be told to follow our rule,
it is, and must then agree; where the clocks change, the brute force of ``clocks.firings`` decides, and must be on our side.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from croniter import croniter
from croniter.croniter import CroniterError
from cronsim import CronSim, CronSimError

from beskar_jobs.cron import CronSchedule
from beskar_jobs.cron.fields import values
from beskar_jobs.cron.parsing import parse_rule
from beskar_jobs.cron.pattern import Pattern
from beskar_jobs.model.errors import InvalidCron
from tests.cron.clocks import DAY, MINUTE, changes, fires_at
from tests.cron.expressions import Triple, triple

Answer = datetime | str | None


def instant(t: Answer) -> Answer:
    """Comparable: aware ones of one zone would be compared by the wall clock."""
    return t.astimezone(UTC) if isinstance(t, datetime) and t.tzinfo else t


def ours(case: Triple) -> Answer:
    try:
        return instant(CronSchedule.parse(case.expression).next_after(case.moment))
    except InvalidCron as error:
        return f"refused: {error}"


def from_cronsim(expression: str, moment: datetime) -> Answer:
    try:
        return instant(next(CronSim(expression, moment)))
    except CronSimError as error:
        return f"refused: {error}"
    except StopIteration:
        return None


def from_croniter(expression: str, moment: datetime, *, vixie: bool = False) -> Answer:
    try:
        with_seconds = len(expression.split()) == 6
        other = croniter(expression, moment, second_at_beginning=with_seconds, implement_cron_bug=vixie)
        return instant(other.get_next(datetime))
    except CroniterError as error:
        return f"refused: {error}"


def spelled_out(expression: str) -> str:
    """The same with each field as a plain list, no ranges, steps and names; a leading ``*`` or ``*/n`` stays."""
    rule = parse_rule(expression, "")[1]
    assert isinstance(rule, Pattern)
    masks = [rule.seconds, rule.minutes, rule.hours, rule.days, rule.months, rule.weekdays]
    fields = expression.replace("?", "*").upper().split()
    lists = [",".join(map(str, values(mask))) for mask in masks[-len(fields) :]]
    return " ".join(
        field
        if "," not in field and field.startswith("*")
        else f"{field.partition(',')[0]},{plain}"
        if field.startswith("*")
        else plain
        for field, plain in zip(fields, lists, strict=True)
    )


def _feature(expression: str) -> str:
    """Which way of writing is at the bottom of a disagreement that ends when fields are spelled out."""
    weekday = expression.upper().split()[-1]
    if any("/" in term and "-" not in term and "*" not in term for term in weekday.split(",")):
        return "a step without an end in day-of-week ends with Saturday"
    if "?" in expression:
        return "'?' is '*'"
    for field in expression.split():
        for term in field.split(","):
            low, dash, rest = term.partition("-")
            high = rest.partition("/")[0]
            if dash and low.lower() == high.lower():
                return "a range from a value to itself is that value"
            if dash and ("/" in term or not (low.isdigit() and high.isdigit()) or int(low) > int(high)):
                return "a range may wrap around, and its steps count on across the end"
    return "names and 7 are values like others"


def rule_of(case: Triple, other: str) -> str | None:
    """Why *other* (``cronsim`` or ``croniter``) gives something else; None if it does not.

    Raises:
        AssertionError: there is no such rule.
    """
    ask = from_cronsim if other == "cronsim" else from_croniter
    expression, moment = case.expression, case.moment
    mine, theirs = ours(case), ask(expression, moment)
    if isinstance(mine, str):
        if isinstance(theirs, str):
            return None
        if "the step" in mine:
            return "a step is not larger than its field"
        assert "can never fire" in mine and theirs is None, (case, mine, theirs)
        return "what can never fire is refused at once"
    if mine == theirs:
        return None
    plain = spelled_out(expression)
    if mine == ask(plain, moment):
        return _feature(expression)
    if other == "croniter":
        theirs = from_croniter(plain, moment, vixie=True)
        if mine == theirs:
            return "a day field that starts with '*' must match together with the other"
    else:
        theirs = ask(plain, moment)
    assert isinstance(mine, datetime), (case, mine, theirs)
    wall = moment.replace(tzinfo=None)
    naive = CronSchedule.parse(expression).next_after(wall)
    same_walls = naive == (from_croniter(plain, wall, vixie=True) if other == "croniter" else ask(plain, wall))
    if not same_walls and isinstance(theirs, str) and "failed to find" in theirs:
        return "the search goes on for 100 years"
    assert same_walls, (case, mine, theirs, naive)
    assert isinstance(moment.tzinfo, ZoneInfo), (case, mine, theirs)
    assert _ours_is_right(case, mine, theirs), (case, mine, theirs)
    rule = parse_rule(expression, "")[1]
    assert isinstance(rule, Pattern)
    kind = "real time" if rule.real_time else "fixed times"
    six = " of six fields" if len(expression.split()) == 6 else ""
    return f"over a change of the clocks, {kind}{six} by Debian's rule"


def _ours_is_right(case: Triple, mine: datetime, theirs: Answer) -> bool:
    """By brute force, near a change: ours fires, and theirs does not, or later."""
    zone = case.moment.tzinfo
    assert isinstance(zone, ZoneInfo)
    near = [
        at
        for at in changes(zone.key, 2019, 2042)
        if any(abs(at - t) < 2 * DAY for t in (case.moment, mine, theirs) if isinstance(t, datetime))
    ]
    rule = parse_rule(case.expression, "")[1]
    assert isinstance(rule, Pattern)
    step = timedelta(seconds=1) if len(case.expression.split()) == 6 else MINUTE
    if not near or not fires_at(rule.matches, mine, zone, real_time=rule.real_time, step=step):
        return False
    if not isinstance(theirs, datetime) or theirs > mine:
        return True
    return theirs <= case.moment or not fires_at(rule.matches, theirs, zone, real_time=rule.real_time, step=step)


def compare(count: int, seed: int) -> dict[str, Counter[str]]:
    """How often each rule explains a disagreement, by library, and under "agree" how often there is none."""
    dice = random.Random(seed)
    rules: dict[str, Counter[str]] = {"cronsim": Counter(), "croniter": Counter()}
    for _ in range(count):
        case = triple(dice)
        for other, found in rules.items():
            found[rule_of(case, other) or "agree"] += 1
    return rules


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--triples", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for other, rules in compare(options.triples, options.seed).items():
        print(f"{other}:")
        for rule, times in rules.most_common():
            print(f"{times:8,}  {rule}")


if __name__ == "__main__":
    main()
