"""Holds what the sources promise now against the contract file on the disk. Equal bytes need no comparison."""

from __future__ import annotations

from collections.abc import Collection

import attrs

from beskar_codegen.breaches import breach
from beskar_codegen.model import Diagnostic, Place
from beskar_codegen.outcome import Generation
from beskar_codegen.settings import Settings
from beskar_jobs.handlers import rules


@attrs.frozen
class Verdict:
    """*breaks* are breaking changes; *problem* says why the file on the disk cannot be compared with."""

    breaks: tuple[Diagnostic, ...] = ()
    problem: Diagnostic | None = None


def judge(
    settings: Settings, outcome: Generation, *, accepted: Collection[str] = (), is_forced: bool = False
) -> Verdict:
    """Compare the contract of *outcome* with the file; with *is_forced* a file that cannot be used does not count."""
    path = settings.contract
    try:
        text = (settings.root / path).read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    except FileNotFoundError:
        return Verdict()
    except OSError as error:
        problem = f"it cannot be read: {error.strerror or error}"
        return Verdict(problem=breach(rules.JOBGEN050, Place(path), problem=problem))
    if text == outcome.contract:
        return Verdict()
    from beskar_codegen.contract import compare, line_of, load  # noqa: PLC0415  # most runs end before

    old = load(path, text)
    if isinstance(old, Diagnostic):
        return Verdict() if is_forced else Verdict(problem=old)
    new = load(path, outcome.contract)
    assert not isinstance(new, Diagnostic), new.message
    places = {row.job_type: Place(row.path, row.line, row.column, row.line, row.column) for row in outcome.jobs}

    def place_of(job_type: str) -> Place:
        if job_type in places:
            return places[job_type]
        line = line_of(text, job_type)
        return Place(path, line, 5 if line > 1 else 1, line, 5)

    return Verdict(tuple(compare(old, new, place_of, accepted=accepted)))


def promised_job_types(settings: Settings, outcome: Generation) -> list[str]:
    """The job types that there are, in the sources of *outcome* or in the contract file; sorted."""
    from beskar_codegen.contract import load  # noqa: PLC0415  # most runs need no file

    try:
        old = load(settings.contract, (settings.root / settings.contract).read_bytes().decode("utf-8", "replace"))
    except OSError:
        old = {}
    return sorted({row.job_type for row in outcome.jobs}.union(() if isinstance(old, Diagnostic) else old))
