"""Beside cronsim and croniter: whatever differs has a rule. The long form is ``python -m tests.cron.differential``."""

from __future__ import annotations

from datetime import datetime

from beskar_jobs.cron import CronSchedule
from tests.cron.differential import compare, rule_of
from tests.cron.expressions import Triple


def test_each_disagreement_with_other_engines_has_a_documented_rule() -> None:
    for other, rules in compare(3000, seed=20).items():
        assert rules["agree"] > 2000, (other, rules)
        assert len(rules) > 4, f"{other}: the mixture finds no disagreements any more: {rules}"


def test_the_comparison_sees_a_disagreement() -> None:
    case = Triple("0 0 */2 * 1", datetime(2026, 2, 1))
    assert rule_of(case, "cronsim") is None
    assert rule_of(case, "croniter") == "a day field that starts with '*' must match together with the other"
    assert CronSchedule.parse(case.expression).next_after(case.moment) == datetime(2026, 2, 9)
