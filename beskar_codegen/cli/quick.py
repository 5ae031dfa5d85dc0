"""Keeps commands that are run without options quick to start.

typer converts values with a validation library that takes longer to load than a check without changes takes, and it
asks that library also about options that were not given, among them its own ``--help``. A hook at each commit runs
``check`` just so, without options; where nothing was given there is nothing to convert.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup


class QuickGroup(TyperGroup):
    """A group whose help option needs no conversion."""

    def get_help_option(self, ctx: Any) -> Any:
        return _with_default(super().get_help_option(ctx))


class QuickCommand(TyperCommand):
    """A command whose defaults need no conversion, and whose options come from nowhere but the command line."""

    def get_help_option(self, ctx: Any) -> Any:
        return _with_default(super().get_help_option(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args or any(each.required for each in self.params):
            return super().parse_args(ctx, args)
        ctx.params.update({each.name: each.default for each in self.params if each.name and each.expose_value})
        return []


def _with_default(help_option: Any) -> Any:
    """*help_option* with the value of a flag that was not given, which is taken as it is; typer leaves it open."""
    if help_option is not None:
        help_option.default = False
    return help_option
