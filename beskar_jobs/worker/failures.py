"""From whatever a handler raised to a failure that can be stored: bounded, and whatever the exception does itself."""

from __future__ import annotations

import traceback
from typing import Final

from beskar_jobs.model.job import FailureKind, JobFailure
from beskar_jobs.model.retry import exception_name

MAX_MESSAGE: Final = 2_000
MAX_TRACEBACK: Final = 16_000


def failure_from(error: BaseException, kind: FailureKind = FailureKind.EXCEPTION) -> JobFailure:
    """What to store of *error*. Never raises, even where the exception cannot be printed."""
    bases = [base for base in type(error).__mro__[1:] if issubclass(base, BaseException)]
    return JobFailure(
        kind,
        _shortened(_message(error), MAX_MESSAGE),
        error_type=exception_name(type(error)),
        error_bases=tuple(exception_name(base) for base in bases if base is not object),
        traceback=_shortened(_traceback(error), MAX_TRACEBACK),
    )


def _message(error: BaseException) -> str:
    try:
        return _clean(str(error))
    except BaseException as second:
        return f"<the exception cannot be printed: str() raised {type(second).__name__}>"


def _traceback(error: BaseException) -> str:
    try:
        return _clean("".join(traceback.format_exception(error, limit=-50)))
    except BaseException as second:
        return f"<the traceback cannot be printed: {type(second).__name__}>"


def _clean(text: str) -> str:
    """*text* as it can be written in UTF-8: a lone surrogate becomes a question mark."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


def _shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2 - 10
    return f"{text[:half]}\n… cut …\n{text[-half:]}"
