"""Sources to declarations, by libcst. Names are followed to what they mean; user code is never imported."""

from beskar_codegen.read.project import ProjectSources, read_module, read_project

__all__ = ["ProjectSources", "read_module", "read_project"]
