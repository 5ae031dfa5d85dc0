"""Diagnostics as SARIF 2.1.0 (OASIS standard), which code scanning of several hosts reads.

Section 3.13 is the log, 3.18 the tool with the rules (3.49) that it found breaches of, 3.27 a result. A location
(3.28, 3.29.5) is relative to the root of the project, whose base the reader knows (``SRCROOT``). The fingerprint is
made of code, path and message, not of the line, so that an alert survives an edit above it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from beskar_codegen.model import Diagnostic
from beskar_jobs.handlers.rules import RULES, Rule

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(diagnostics: Sequence[Diagnostic], *, version: str) -> dict[str, Any]:
    """The log, as plain data; *diagnostics* sorted, each once."""
    codes = sorted({each.code for each in diagnostics})
    driver = {
        "name": "beskar-codegen",
        "semanticVersion": version,
        "rules": [_descriptor(RULES[code]) for code in codes if code in RULES],
    }
    indexes = {rule["id"]: index for index, rule in enumerate(driver["rules"]) if isinstance(rule, dict)}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The root of the project."}}},
                "results": [_result(each, indexes) for each in diagnostics],
            }
        ],
    }


def _descriptor(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.title.split()),
        "shortDescription": {"text": rule.rule},
        "fullDescription": {"text": " ".join(rule.explanation.split())},
        "help": {"text": f"Breaks the rule:\n\n{rule.example}\n\nKeeps it:\n\n{rule.remedy}\n"},
        "defaultConfiguration": {"level": "error"},
    }


def _result(diagnostic: Diagnostic, indexes: dict[str, int]) -> dict[str, Any]:
    place = diagnostic.place
    region = {"startLine": place.line, "startColumn": place.column}
    if (place.end_line, place.end_column) > (place.line, place.column):
        region |= {"endLine": place.end_line, "endColumn": place.end_column}
    identity = "\0".join((diagnostic.code, place.path, diagnostic.message))
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "level": "error",
        "message": {"text": f"{diagnostic.message} ({diagnostic.hint})"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(place.path), "uriBaseId": "SRCROOT"},
                    "region": region,
                }
            }
        ],
        "partialFingerprints": {
            "beskarCodegen/v1": hashlib.sha256(identity.encode("utf-8", "backslashreplace")).hexdigest()[:32]
        },
    }
    if diagnostic.code in indexes:
        result["ruleIndex"] = indexes[diagnostic.code]
    return result


def _uri(path: str) -> str:
    """A relative reference; the bytes of a file name that is no UTF-8 stand in it as they are on the disk."""
    return quote(path, errors="surrogateescape")
