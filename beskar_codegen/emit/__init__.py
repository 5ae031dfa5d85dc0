"""A plan -> text. Same plan, same bytes; formatted as Ruff formats, linted clean, without Ruff at hand."""

from beskar_codegen.emit.descriptors import emit_descriptors
from beskar_codegen.emit.header import Header, read_header
from beskar_codegen.emit.stubs import emit_stub

__all__ = ["Header", "emit_descriptors", "emit_stub", "read_header"]
