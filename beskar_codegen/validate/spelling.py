"""Types as a reader knows them, for messages."""

from __future__ import annotations

from beskar_codegen.model import (
    LiteralType,
    NamedType,
    NoneType,
    TypeExpression,
    TypeVariable,
    UnionType,
    UnresolvedType,
)


def spelled(expression: TypeExpression) -> str:
    """*expression* in short: names without their modules."""
    if isinstance(expression, NamedType):
        name = expression.name
        if (expression.module, name) == ("typing", "Never"):
            return "()"
        inner = ", ".join(map(spelled, expression.arguments))
        return f"{name}[{inner}]" if inner or not name else name
    if isinstance(expression, UnionType):
        return " | ".join(map(spelled, expression.members))
    if isinstance(expression, LiteralType):
        return f"Literal[{', '.join(expression.values)}]"
    if isinstance(expression, NoneType):
        return "None"
    if isinstance(expression, TypeVariable):
        return expression.name
    return expression.text if isinstance(expression, UnresolvedType) else "..."
