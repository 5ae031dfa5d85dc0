"""Which changes of the contract break stored jobs, deployed clients or result readers: JOBGEN051 to 058.

A raised version says that a break is meant, and lets everything pass for that job type. A removed job type has no
version left to raise; it is let go by name (``generate --accept``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from beskar_codegen.breaches import breach
from beskar_codegen.contract.compare import Refusal, RefusalKind, refusals
from beskar_codegen.contract.lock import Contract, JobContract
from beskar_codegen.model import Diagnostic, Place
from beskar_jobs.handlers import rules
from beskar_jobs.handlers.rules import Rule

FindPlace = Callable[[str], Place]


def compare(old: Contract, new: Contract, place_of: FindPlace, *, accepted: Collection[str] = ()) -> list[Diagnostic]:
    """The breaking changes from *old* to *new*, sorted.

    Args:
        place_of: where to point to for a job type: its handler, or its entry in the file where it is gone.
        accepted: job types whose changes the user has accepted.
    """
    found: list[Diagnostic] = []
    for job_type, before in old.items():
        if job_type in accepted:
            continue
        after = new.get(job_type)
        place = place_of(job_type)
        if after is None:
            found.append(breach(rules.JOBGEN051, place, job=job_type))
        elif after.version < before.version:
            fields = {"job": job_type, "old": str(before.version), "new": str(after.version)}
            found.append(breach(rules.JOBGEN058, place, **fields))
        elif after.version == before.version:
            fields = {"job": job_type, "next": str(before.version + 1)}
            found.extend(breach(rule, place, **fields, **more) for rule, more in _breaks(before, after))
    return sorted(set(found))


def _breaks(before: JobContract, after: JobContract) -> Iterator[tuple[Rule, dict[str, str]]]:
    if before.queue != after.queue:
        yield rules.JOBGEN052, {"old": before.queue, "new": after.queue}
    for refusal in refusals(before.arguments, after.arguments):
        yield _of_arguments(refusal)
    for refusal in refusals(after.result, before.result):
        yield _of_result(refusal)


def _of_arguments(refusal: Refusal) -> tuple[Rule, dict[str, str]]:
    """The writer is the old code, the reader the new."""
    match refusal.kind:
        case RefusalKind.UNKNOWN:
            return rules.JOBGEN053, {"where": repr(refusal.where)}
        case RefusalKind.MISSING:
            return rules.JOBGEN054, {"where": repr(refusal.where)}
        case RefusalKind.TYPE:
            where = f"the argument {refusal.where!r}" if refusal.where else "the arguments' type"
            change = f"was {refusal.written} and is {refusal.read}"
            return rules.JOBGEN055, {"where": where, "change": _change(refusal.written, refusal.read, change)}


def _of_result(refusal: Refusal) -> tuple[Rule, dict[str, str]]:
    """The writer is the new code, the reader the old."""
    match refusal.kind:
        case RefusalKind.UNKNOWN:
            return rules.JOBGEN056, {
                "where": repr(refusal.where),
                "change": "new",
                "effect": "refuse what they do not know",
            }
        case RefusalKind.MISSING:
            return rules.JOBGEN056, {"where": repr(refusal.where), "change": "gone", "effect": "go on to read it"}
        case RefusalKind.TYPE:
            where = f"the result's field {refusal.where!r}" if refusal.where else "the result"
            change = f"was {refusal.read} and may be {refusal.written}"
            return rules.JOBGEN057, {"where": where, "change": _change(refusal.read, refusal.written, change)}


def _change(before: str, after: str, change: str) -> str:
    """*change*, unless both sides look the same in words."""
    return change if before != after else f"is another {before} than it was"
