"""The contract file: every job type with its queue, its version, and the schemas of its arguments and its result.

One JSON document, keys sorted, two blanks of indent, LF at the end: the same handlers make the same bytes, and a change
of a field is a change of a line or two in review. It is written by ``generate`` alone.
"""

from __future__ import annotations

import json
from typing import Any, Final

import attrs
import orjson

from beskar_codegen.breaches import breach
from beskar_codegen.contract.schema import Schema, schema_of
from beskar_codegen.model import Diagnostic, NoneType, Place, ProjectModel
from beskar_jobs.handlers import rules

FORMAT: Final = "beskar-jobs-contract"
FORMAT_VERSION: Final = 1
_FORM: Final = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE


@attrs.frozen
class JobContract:
    """What is promised of one job type."""

    queue: str
    version: int
    arguments: Schema
    result: Schema


Contract = dict[str, JobContract]


def contract_of(model: ProjectModel) -> Contract:
    """The contract that the handlers of *model* make, by job type."""
    known = {(declared.module, declared.name): declared for declared in model.types}
    return {
        handler.job_type: JobContract(
            handler.queue,
            handler.version,
            schema_of(handler.args_type, known, is_written=False),
            schema_of(NoneType() if handler.result_type is None else handler.result_type, known, is_written=True),
        )
        for handler in sorted(model.handlers, key=lambda each: each.job_type)
    }


def dump(contract: Contract) -> str:
    """*contract* as the text of its file."""
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "jobs": {job_type: attrs.asdict(job, recurse=False) for job_type, job in contract.items()},
    }
    try:
        return orjson.dumps(document, option=_FORM).decode()
    except TypeError:  # an integer or a text that orjson has no form for, in a default
        return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def load(path: str, text: str) -> Contract | Diagnostic:
    """The contract in *text*, or why it is none (JOBGEN050)."""
    line = 1

    def refused(problem: str) -> Diagnostic:
        return breach(rules.JOBGEN050, Place(path, line, 1, line, 1), problem=problem)

    try:
        document: Any = json.loads(text)
    except json.JSONDecodeError as error:
        line = error.lineno
        is_conflict = any(each.startswith(("<<<<<<<", ">>>>>>>")) for each in text.splitlines())
        return refused("it has unresolved merge conflicts" if is_conflict else f"it is not JSON ({error.msg})")
    except (ValueError, RecursionError):
        return refused("it is not JSON that can be read")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return refused("it is some other file")
    if document.get("format_version") != FORMAT_VERSION:
        return refused(f"it is of format version {document.get('format_version')!r}, not {FORMAT_VERSION}")
    jobs = document.get("jobs")
    if not isinstance(jobs, dict):
        return refused("its jobs are missing")
    contract = {}
    for job_type, job in jobs.items():
        match job:
            case {"queue": str(queue), "version": int(version), "arguments": dict(arguments), "result": dict(result)}:
                contract[job_type] = JobContract(queue, version, arguments, result)
            case _:
                return refused(f"its entry for {job_type!r} is damaged")
    return contract


def line_of(text: str, job_type: str) -> int:
    """The line of *job_type* in the text of a contract file."""
    wanted = f"    {json.dumps(job_type, ensure_ascii=False)}: {{"
    for number, line in enumerate(text.split("\n"), 1):
        if line.rstrip("\r") == wanted:
            return number
    return 1
