"""Our next firing beside cronsim's and croniter's, on random triples; each disagreement must have a documented rule.

    python -m tests.cron.differential [--triples 20000] [--seed 1]

A rule explains a disagreement only if it is shown to be the cause: where the other library can be told to follow our
rule, it is, and must then agree; where the clocks change, the brute force of ``clocks.fires_at`` decides, and must be
on our side.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from itertools import combinations
from zoneinfo import ZoneInfo

from croniter import croniter
from croniter.croniter import CroniterError
from cronsim import CronSim, CronSimError

from beskar_jobs.cron import CronSchedule
from beskar_jobs.cron.fields import DAY_OF_WEEK, MONTH, values
from beskar_jobs.cron.parsing import parse_rule
from beskar_jobs.cron.pattern import Pattern
from beskar_jobs.model.errors import InvalidCron
from tests.cron.clocks import DAY, MINUTE, changes, fires_at
from tests.cron.expressions import Triple, triple

Answer = datetime | str | None

_BOTH_DAYS = "a day field that starts with '*' must match together with the other"
_EQUAL_ENDS = "a range from a value to itself is that value"


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


def spelled_out(expression: str, which: Collection[int] = range(-6, 0)) -> str:
    """The same with fields (by index from the end) as plain lists, no ranges, steps, names; a leading star stays."""
    rule = parse_rule(expression, "")[1]
    assert isinstance(rule, Pattern)
    masks = [rule.seconds, rule.minutes, rule.hours, rule.days, rule.months, rule.weekdays]
    fields = expression.split()
    for index in which:
        if -index <= len(fields):
            field, plain = fields[index].replace("?", "*"), ",".join(map(str, values(masks[index])))
            star = field.partition(",")[0] if field.startswith("*") else ""
            fields[index] = field if field == star else f"{star},{plain}" if star else plain
    return " ".join(fields)


def _has_equal_ends(field: str) -> bool:
    numbers = {word: str(n) for words in (MONTH.words, DAY_OF_WEEK.words) for word, n in words.items()}
    ends = [term.partition("/")[0].upper().partition("-") for term in field.split(",")]
    return any(dash and numbers.get(low, low) == numbers.get(high, high) for low, dash, high in ends)


def _way_of_writing(expression: str, ask: Callable[[str], Answer], mine: Answer) -> str:
    """Which way of writing is the cause of a disagreement that ends when all fields are spelled out."""
    indexes = range(-len(expression.split()), 0)
    for count in (1, 2, 3):
        for which in combinations(indexes, count):
            if ask(spelled_out(expression, which)) == mine:
                return " / ".join(sorted({_feature(expression.split()[index], index) for index in which}))
    return "several ways of writing at once"


def _feature(field: str, index: int) -> str:
    if field == "?":
        return "'?' is '*'"
    if _has_equal_ends(field):
        return _EQUAL_ENDS
    if "-" in field:
        return "a range may wrap around, and its steps count on across the end"
    if index == -1 and "/" in field:
        return "a step without an end in day-of-week ends with Saturday"
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
        assert "can never fire" in mine, (case, mine, theirs)
        if isinstance(theirs, datetime) and not _has_equal_ends(expression.split()[-2]):
            assert isinstance(from_croniter(expression, moment, vixie=True), str), (case, mine, theirs)
            return _BOTH_DAYS
        return _EQUAL_ENDS if isinstance(theirs, datetime) else "what can never fire is refused at once"
    if mine == theirs:
        return None
    plain = spelled_out(expression)
    if mine == ask(plain, moment):
        return _way_of_writing(expression, lambda text: ask(text, moment), mine)
    if other == "croniter":
        theirs = from_croniter(plain, moment, vixie=True)
        if mine == theirs:
            return _BOTH_DAYS
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
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--triples", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for other, rules in compare(options.triples, options.seed).items():
        lines = [f"{times:8,}  {rule}" for rule, times in rules.most_common()]
        sys.stdout.write("\n".join([f"{other}:", *lines, ""]))


if __name__ == "__main__":
    main()
