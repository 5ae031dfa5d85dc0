"""The one table of rules that handler classes keep: JOBGEN001 and on.

The decorator applies them at import, the code generator applies the same ones to source it never imports, and
``beskar-codegen explain`` prints them. So a rule here is text only: what is wrong comes in as strings, and whoever
finds a breach fills the templates *message* and *hint*. Codes are public and never change their meaning.

``handlers`` has the rules that the decorator knows too, ``recurring`` those of ``@recurring``, ``sources`` those that
only sources can break, and ``contract`` those of the contract and of generated files.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from beskar_jobs.handlers.rules import contract, handlers, recurring, sources
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
    JOBGEN074,
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
from beskar_jobs.handlers.rules.recurring import (
    ARGUMENTS_NEEDED,
    ARGUMENTS_NO_CLASS,
    JOBGEN024,
    JOBGEN025,
    JOBGEN026,
    JOBGEN027,
    JOBGEN028,
    NAME_TAKEN,
    RECURRING_BARE,
    RECURRING_NOT_ON_CLASS,
    RECURRING_NOT_ON_HANDLER,
)
from beskar_jobs.handlers.rules.rule import Rule
from beskar_jobs.handlers.rules.sources import (
    JOB_TYPE_MISSING,
    JOBGEN013,
    JOBGEN014,
    JOBGEN015,
    JOBGEN016,
    JOBGEN017,
    JOBGEN018,
    JOBGEN019,
    JOBGEN020,
    JOBGEN021,
    JOBGEN022,
    JOBGEN023,
    POSITIONAL_OPTION,
    UNKNOWN_OPTION,
)

__all__ = [
    "ARGUMENTS_NEEDED",
    "ARGUMENTS_NO_CLASS",
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
    "JOBGEN013",
    "JOBGEN014",
    "JOBGEN015",
    "JOBGEN016",
    "JOBGEN017",
    "JOBGEN018",
    "JOBGEN019",
    "JOBGEN020",
    "JOBGEN021",
    "JOBGEN022",
    "JOBGEN023",
    "JOBGEN024",
    "JOBGEN025",
    "JOBGEN026",
    "JOBGEN027",
    "JOBGEN028",
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
    "JOBGEN074",
    "JOB_TYPE_MISSING",
    "NAME_TAKEN",
    "NOT_A_HANDLER",
    "OPEN_TYPE",
    "POSITIONAL_OPTION",
    "RECURRING_BARE",
    "RECURRING_NOT_ON_CLASS",
    "RECURRING_NOT_ON_HANDLER",
    "RULES",
    "UNKNOWN_OPTION",
    "Rule",
]

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {rule.code: rule for rule in (*handlers.TABLE, *sources.TABLE, *recurring.TABLE, *contract.TABLE)}
)
"""All rules by code, in order."""
