"""What a rule is: texts, and templates that whoever finds a breach fills. Codes are public and never change meaning."""

from __future__ import annotations

import textwrap

import attrs

from beskar_jobs.model.errors import JobDefinitionError


def _block(text: str) -> str:
    return textwrap.dedent(text).strip()


@attrs.frozen
class Rule:
    """One rule.

    Attributes:
        code: ``JOBGEN`` and three digits.
        title: a few words.
        rule: the rule in one sentence.
        explanation: why it is a rule, and what to do.
        message: what a breach says; a template for :meth:`str.format`.
        hint: the way out; a template over the same fields.
        example: code that breaks the rule.
        remedy: the same code, put right.
    """

    code: str
    title: str
    rule: str
    explanation: str = attrs.field(converter=_block)
    message: str
    hint: str
    example: str = attrs.field(converter=_block)
    remedy: str = attrs.field(converter=_block)

    def error(self, **fields: str) -> JobDefinitionError:
        """The error for one breach; *fields* fill both templates."""
        return JobDefinitionError(self.code, self.message.format(**fields), self.hint.format(**fields))
