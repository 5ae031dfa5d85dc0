"""``generate``, ``check`` and ``list``: settings, generation, contract, files, report, in this order.

A step that finds something wrong ends the run where going on would do harm: with diagnostics nothing is written, and
with a file in the way neither. A broken contract keeps the contract file as it is; descriptors and stubs are written,
for they follow the code, and the contract is what the code is held to.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import typer

from beskar_codegen import promises
from beskar_codegen.breaches import breach
from beskar_codegen.files import ChangeKind, FileChange, FilePlan, apply, plan_files
from beskar_codegen.generation import generate as generate_all
from beskar_codegen.model import Diagnostic, Place
from beskar_codegen.outcome import Generation
from beskar_codegen.report import ReportFormat, report
from beskar_codegen.settings import Settings, SettingsError, load
from beskar_codegen.version import VERSION
from beskar_jobs.handlers import rules

FRESH: Final = 0
STALE: Final = 1
WRONG: Final = 2


@attrs.frozen
class Run:
    """What the common options say."""

    root: Path | None
    flags: Mapping[str, Any]
    form: ReportFormat
    use_cache: bool = True


def generate(run: Run, *, is_forced: bool = False, accepted: Collection[str] = ()) -> int:
    """Bring the generated files up to date; the answer is the exit code.

    Raises:
        typer.BadParameter: one of *accepted* is no job type, neither of the sources nor of the contract file.
    """
    settings = _settings(run)
    if settings is None:
        return WRONG
    outcome = generate_all(settings, use_cache=run.use_cache)
    if outcome.diagnostics:
        _tell(run, settings.root, outcome.diagnostics)
        return WRONG
    verdict = promises.judge(settings, outcome, accepted=accepted, is_forced=is_forced)
    if verdict.problem is not None:
        _tell(run, settings.root, [verdict.problem])
        return WRONG
    _refuse_unknown(accepted, settings, outcome)
    plan = _plan(settings, outcome, keep_contract=bool(verdict.breaks), is_forced=is_forced)
    problems = list(plan.problems) or apply(settings.root, plan.changes)
    _tell(run, settings.root, [*problems, *verdict.breaks])
    if problems:
        return WRONG
    kept = f"; kept {settings.contract} as it was, for its contract is broken" if verdict.breaks else ""
    _say(_summary(plan.changes, outcome) + kept)
    return STALE if verdict.breaks else FRESH


def check(run: Run, *, accepted: Collection[str] = ()) -> int:
    """See whether the generated files are up to date and the contract is kept; the answer is the exit code.

    Raises:
        typer.BadParameter: as :func:`generate` does.
    """
    settings = _settings(run)
    if settings is None:
        return WRONG
    outcome = generate_all(settings, use_cache=run.use_cache)
    if outcome.diagnostics:
        _tell(run, settings.root, outcome.diagnostics)
        return WRONG
    verdict = promises.judge(settings, outcome, accepted=accepted)
    if verdict.problem is not None:
        _tell(run, settings.root, [verdict.problem])
        return WRONG
    _refuse_unknown(accepted, settings, outcome)
    plan = _plan(settings, outcome, keep_contract=bool(verdict.breaks))
    edited = {problem.place.path for problem in plan.problems}
    stale = [
        breach(rules.JOBGEN074, Place(change.path), path=change.path, problem=_STALE[change.kind])
        for change in plan.changes
        if change.path not in edited
    ]
    diff = "".join(change.diff() for change in plan.changes)
    if diff:
        (sys.stdout if run.form == "text" else sys.stderr).write(diff)
    _tell(run, settings.root, [*plan.problems, *verdict.breaks, *stale])
    if plan.problems:
        return WRONG
    return STALE if verdict.breaks or stale else FRESH


def list_jobs(run: Run, *, as_json: bool = False) -> int:
    """Print the job types; the answer is the exit code."""
    settings = _settings(run)
    if settings is None:
        return WRONG
    outcome = generate_all(settings, use_cache=run.use_cache)
    if outcome.diagnostics:
        sys.stderr.write(_report(run, settings.root, outcome.diagnostics))
    if as_json:
        rows = [attrs.asdict(row) for row in outcome.jobs]
        sys.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
    else:
        cells = [(j.job_type, j.queue, str(j.version), j.handler, j.arguments, j.result) for j in outcome.jobs]
        sys.stdout.write(_table([("job type", "queue", "version", "handler", "arguments", "result"), *cells]))
    return WRONG if outcome.diagnostics else FRESH


_STALE: Final = {
    ChangeKind.CREATE: "is missing",
    ChangeKind.UPDATE: "is not up to date",
    ChangeKind.REMOVE: "has no handler any more",
}


def _settings(run: Run) -> Settings | None:
    try:
        return load(Path.cwd(), root=run.root, flags=run.flags)
    except SettingsError as error:
        _tell(run, run.root or Path.cwd(), error.diagnostics)
        return None


def _plan(settings: Settings, outcome: Generation, *, keep_contract: bool, is_forced: bool = False) -> FilePlan:
    wanted = dict(outcome.files)
    if not keep_contract and (outcome.jobs or (settings.root / settings.contract).exists()):
        wanted[settings.contract] = outcome.contract
    owned = [settings.stubs] if settings.stubs else []
    return plan_files(settings.root, wanted, owned=owned, without_header=[settings.contract], is_forced=is_forced)


def _refuse_unknown(accepted: Collection[str], settings: Settings, outcome: Generation) -> None:
    """What is accepted has to be a job type: a misspelt one would accept nothing, and say nothing."""
    if not accepted:
        return
    known = promises.promised_job_types(settings, outcome)
    unknown = [repr(each) for each in accepted if each not in known]
    if unknown:
        there = f"there are {', '.join(known)}" if known else "there are none"
        raise typer.BadParameter(f"no job type is called {' or '.join(unknown)}; {there}", param_hint="'--accept'")


def _tell(run: Run, root: Path, diagnostics: Iterable[Diagnostic]) -> None:
    sys.stdout.write(_report(run, root, diagnostics))


def _report(run: Run, root: Path, diagnostics: Iterable[Diagnostic]) -> str:
    is_coloured = run.form == "text" and sys.stdout.isatty()
    return report(diagnostics, run.form, root=root, version=VERSION, is_coloured=is_coloured)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _summary(changes: Iterable[FileChange], outcome: Generation) -> str:
    changes = list(changes)
    count = len(outcome.jobs)
    what = f"{count} job type{'' if count == 1 else 's'}"
    if not changes:
        return f"{what}; all files are up to date"
    done = {"create": "wrote", "update": "updated", "remove": "removed"}
    shown = [f"{done[change.kind]} {change.path}" for change in changes[:5]]
    more = f", and {len(changes) - 5} more" if len(changes) > 5 else ""
    return f"{what}; {', '.join(shown)}{more}"


def _table(rows: list[tuple[str, ...]]) -> str:
    """Columns as wide as their widest cell; the last one ragged, so that nothing is cut."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)
