"""What is known of the standard library without importing it: types that stand in JSON, and types that cannot."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final

SCALARS: Final[Mapping[tuple[str, str], str]] = {
    ("builtins", "str"): "string",
    ("builtins", "int"): "integer",
    ("builtins", "float"): "number",
    ("builtins", "bool"): "boolean",
    ("builtins", "bytes"): "string",
    ("decimal", "Decimal"): "string",
    ("uuid", "UUID"): "string",
    ("datetime", "datetime"): "string",
    ("datetime", "date"): "string",
    ("datetime", "time"): "string",
    ("datetime", "timedelta"): "string",
    ("types", "NoneType"): "null",
}

# Enums and named tuples: a program may well put these into a job.
_FINE: Final = frozenset(
    {
        ("calendar", "Day"),
        ("calendar", "Month"),
        ("http", "HTTPMethod"),
        ("http", "HTTPStatus"),
        ("plistlib", "PlistFormat"),
        ("signal", "Handlers"),
        ("signal", "Signals"),
        ("socket", "AddressFamily"),
        ("socket", "SocketKind"),
        ("ssl", "TLSVersion"),
        ("sys", "version_info"),
        ("urllib.parse", "ParseResult"),
        ("urllib.parse", "SplitResult"),
        ("uuid", "SafeUUID"),
    }
)


def is_standard(module: str) -> bool:
    """Whether *module* is one of the standard library."""
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names or top in ("builtins", "typing_extensions")


def may_be_refused(home: tuple[str, str]) -> bool:
    """Whether a type of the standard library that is no scalar cannot be written."""
    return home not in _FINE
