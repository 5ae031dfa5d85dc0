"""The one table of rules that handler classes keep: JOBGEN001 and on.

The decorator applies them at import, the code generator applies the same ones to source it never imports, and
``beskar-codegen explain`` prints them. So a rule here is text only: what is wrong comes in as strings, and whoever
finds a breach fills the templates *message* and *hint*. Codes are public and never change their meaning.

``handlers`` has the rules that the decorator knows too, ``contract`` those of the contract and of generated files.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from beskar_jobs.handlers.rules import contract, handlers
from beskar_jobs.handlers.rules.contract import (
    JOBGEN050,
    JOBGEN051,
    JOBGEN052,
    JOBGEN053,
    JOBGEN054,
    JOBGEN055,
    JOBGEN056,
    JOBGEN057,
    JOBGEN058,
    JOBGEN070,
    JOBGEN071,
    JOBGEN072,
    JOBGEN073,
)
from beskar_jobs.handlers.rules.handlers import (
    BARE_BASE,
    DECORATOR_BARE,
    DECORATOR_NOT_ON_CLASS,
    DECORATOR_TWICE,
    EXECUTE_CONTEXT,
    EXECUTE_GENERATOR,
    EXECUTE_MISSING,
    EXECUTE_NOT_A_METHOD,
    EXECUTE_PARAMETERS,
    EXECUTE_RETURN,
    JOBGEN001,
    JOBGEN002,
    JOBGEN003,
    JOBGEN004,
    JOBGEN005,
    JOBGEN006,
    JOBGEN007,
    JOBGEN008,
    JOBGEN009,
    JOBGEN010,
    JOBGEN011,
    JOBGEN012,
    NOT_A_HANDLER,
    OPEN_TYPE,
)
from beskar_jobs.handlers.rules.rule import Rule

__all__ = [
    "BARE_BASE",
    "DECORATOR_BARE",
    "DECORATOR_NOT_ON_CLASS",
    "DECORATOR_TWICE",
    "EXECUTE_CONTEXT",
    "EXECUTE_GENERATOR",
    "EXECUTE_MISSING",
    "EXECUTE_NOT_A_METHOD",
    "EXECUTE_PARAMETERS",
    "EXECUTE_RETURN",
    "JOBGEN001",
    "JOBGEN002",
    "JOBGEN003",
    "JOBGEN004",
    "JOBGEN005",
    "JOBGEN006",
    "JOBGEN007",
    "JOBGEN008",
    "JOBGEN009",
    "JOBGEN010",
    "JOBGEN011",
    "JOBGEN012",
    "JOBGEN050",
    "JOBGEN051",
    "JOBGEN052",
    "JOBGEN053",
    "JOBGEN054",
    "JOBGEN055",
    "JOBGEN056",
    "JOBGEN057",
    "JOBGEN058",
    "JOBGEN070",
    "JOBGEN071",
    "JOBGEN072",
    "JOBGEN073",
    "NOT_A_HANDLER",
    "OPEN_TYPE",
    "RULES",
    "Rule",
]

RULES: Final[Mapping[str, Rule]] = MappingProxyType({rule.code: rule for rule in (*handlers.TABLE, *contract.TABLE)})
"""All rules by code, in order."""
