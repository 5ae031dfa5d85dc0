"""Values of options as people write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

import typer

_SECONDS: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds_of(option: str, text: str | None) -> float | None:
    """Seconds in *text*: a number, or a number with ``ms``, ``s``, ``m``, ``h`` or ``d``.

    Raises:
        typer.BadParameter: it is neither.
    """
    if text is None:
        return None
    found = _SECONDS.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(
            f"{text!r} is no length of time; write seconds, or as in 500ms, 90s, 5m, 2h, 1d", param_hint=f"'{option}'"
        )
    return float(found[1]) * _UNITS[found[2] or "s"]


def moment_of(text: str | None) -> datetime | None:
    """The time in *text*, ISO 8601 with a time zone.

    Raises:
        typer.BadParameter: it is not, or has no time zone.
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no time; write it as in 2030-01-31T08:00:00Z", param_hint="'--run-at'"
        ) from None
    if moment.tzinfo is None:
        raise typer.BadParameter(
            f"{text!r} has no time zone; add Z for UTC, or an offset such as +02:00", param_hint="'--run-at'"
        )
    return moment


def metadata_of(pairs: Iterable[str]) -> dict[str, str]:
    """The mapping in *pairs*, each ``key=value``.

    Raises:
        typer.BadParameter: one has no ``=`` or no key.
    """
    mapping: dict[str, str] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise typer.BadParameter(f"{pair!r} is not of the form key=value", param_hint="'--metadata'")
        mapping[key] = value
    return mapping
