"""``beskar-codegen explain`` and ``rules``, as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from beskar_jobs.handlers.rules import RULES


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from beskar_codegen.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def test_explain_tells_rule_reason_and_remedy() -> None:
    done = run("explain", "JOBGEN004")
    rule = RULES["JOBGEN004"]
    assert (done.returncode, done.stderr) == (0, "")
    flowing = " ".join(done.stdout.split())
    assert f"JOBGEN004 {rule.title}" in flowing
    for text in (rule.rule, *rule.explanation.splitlines(), *rule.example.splitlines(), *rule.remedy.splitlines()):
        assert " ".join(text.split()) in flowing


def test_explain_takes_a_code_in_small_letters_and_writes_json() -> None:
    done = run("explain", "jobgen001", "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told["code"] == "JOBGEN001"
    assert told["rule"] == RULES["JOBGEN001"].rule


def test_an_unknown_code_is_wrong_use() -> None:
    done = run("explain", "JOBGEN999")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no rule has the code 'JOBGEN999'; 'beskar-codegen rules' lists them all" in done.stderr


@pytest.mark.parametrize("as_json", [True, False])
def test_rules_lists_every_rule(as_json: bool) -> None:
    done = run("rules", *(["--json"] if as_json else []))
    assert done.returncode == 0
    codes = [rule["code"] for rule in json.loads(done.stdout)] if as_json else done.stdout.split()
    assert [code for code in codes if code in RULES] == list(RULES)
