"""Declarations to diagnostics, by the one table of rules, and to the model of the handlers that are valid."""

from beskar_codegen.validate.project import build_project

__all__ = ["build_project"]
