"""What a run comes to, and the same as plain data for the cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from beskar_codegen.model import Diagnostic, Place

Kept = dict[str, Any]
"""What one run leaves for the next one, as plain JSON data."""


@attrs.frozen
class JobRow:
    """One job type as ``list`` shows it; *place* is that of its handler."""

    job_type: str
    queue: str
    version: int
    handler: str
    descriptor: str
    arguments: str
    result: str
    path: str
    line: int
    column: int


@attrs.frozen
class Generation:
    """What the sources come to.

    Attributes:
        files: contents of the generated files but the contract, by path; empty if there are diagnostics.
        contract: the text of the contract file that would be written if nobody objected.
        from_cache: nothing had to be read again.
    """

    jobs: tuple[JobRow, ...] = ()
    files: Mapping[str, str] = attrs.field(factory=dict)
    contract: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    from_cache: bool = False


def to_plain(outcome: Generation) -> Kept:
    """*outcome* as plain JSON data."""
    return {
        "jobs": [list(attrs.astuple(row)) for row in outcome.jobs],
        "files": dict(outcome.files),
        "contract": outcome.contract,
        "diagnostics": [
            [list(attrs.astuple(each.place)), each.code, each.message, each.hint] for each in outcome.diagnostics
        ],
    }


def from_plain(kept: Kept) -> Generation | None:
    """What :func:`to_plain` made, or ``None`` if it is something else."""
    try:
        return Generation(
            jobs=tuple(JobRow(*row) for row in kept["jobs"]),
            files=dict(kept["files"]),
            contract=kept["contract"],
            diagnostics=tuple(
                Diagnostic(Place(*place), code, message, hint) for place, code, message, hint in kept["diagnostics"]
            ),
            from_cache=True,
        )
    except (KeyError, TypeError, ValueError):
        return None
