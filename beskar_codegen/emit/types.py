"""Types as text, with the names that the file has for what they are made of."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from beskar_codegen.emit.flat import Respelled, flat
from beskar_codegen.emit.names import Names
from beskar_codegen.model import (
    EllipsisType,
    LiteralType,
    NamedType,
    NoneType,
    TypeExpression,
    TypeVariable,
    UnionType,
)
from beskar_codegen.read.syntax import dotted_name


def type_text(expression: TypeExpression, names: Names) -> str:
    """The source text of *expression*; what could not be resolved is ``Any``."""
    match expression:
        case NamedType(module=module, name=name, arguments=arguments):
            inner = ", ".join(type_text(argument, names) for argument in arguments)
            if (module, name) == ("builtins", "tuple") and not arguments:
                return "tuple[()]"
            return names(module, name) + (f"[{inner}]" if inner or not name else "")
        case UnionType(members=members):
            return " | ".join(type_text(member, names) for member in members)
        case LiteralType(values=values, names=references):
            shown = ", ".join(default_text(value, references, names) for value in values)
            return f"{names('typing', 'Literal')}[{shown}]"
        case NoneType():
            return "None"
        case EllipsisType():
            return "..."
        case TypeVariable(name=name):
            return name
        case _:
            return names("typing", "Any")


def default_text(text: str, references: Sequence[tuple[str, str, str]], names: Names) -> str:
    """A default on one line, with the file's own names for what it refers to."""
    if not references:
        return flat(text)
    spelled = {spelling: names(module, name) for spelling, module, name in references}
    return _Renamed(spelled).text(ast.parse(text.strip(), mode="eval").body)


class _Renamed(Respelled):
    def __init__(self, spelled: Mapping[str, str]) -> None:
        self._spelled = spelled

    def spelled(self, node: ast.expr) -> str | None:
        name = dotted_name(node)
        return None if name is None else self._spelled.get(name)
