"""Static checks and code generation for Beskar Jobs handlers."""
