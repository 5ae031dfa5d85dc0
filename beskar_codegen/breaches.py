"""Makes a diagnostic of a breached rule. The texts are those of the one rule table."""

from __future__ import annotations

from beskar_codegen.model import Diagnostic, Place
from beskar_jobs.handlers.rules import Rule


def breach(rule: Rule, place: Place, **fields: str) -> Diagnostic:
    """The diagnostic of *rule* at *place*; *fields* fill the rule's templates."""
    return Diagnostic(place, rule.code, rule.message.format(**fields), rule.hint.format(**fields))
