"""Diagnostics for people and machines: text, GitHub annotations, JSON, SARIF 2.1.0.

Whatever the format, diagnostics are sorted by place and code, and each is told once.
"""

from beskar_codegen.report.formats import FORMATS, ReportFormat, report, sorted_once

__all__ = ["FORMATS", "ReportFormat", "report", "sorted_once"]
