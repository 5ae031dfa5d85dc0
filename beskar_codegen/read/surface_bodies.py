"""What of a function's body shows outside: attributes that a method assigns, whether it yields or returns a value.

Bodies are most of a source. So only statements are gone through, and expressions only where it matters that one yields.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from beskar_codegen.read.surface import VariableSurface
from beskar_codegen.read.surface_values import is_none, last_name, type_of
from beskar_codegen.read.syntax import DEFINITIONS, Function, is_generator

_SCOPES: Final = frozenset({*DEFINITIONS, ast.Lambda})
_BLOCKS: Final = ("body", "handlers", "cases", "orelse", "finalbody")


def _statements(block: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The statements of a body, in order, without those of functions and classes in it."""
    for node in block:
        if type(node) in _SCOPES:
            continue
        yield node
        for field in _BLOCKS:
            inner = getattr(node, field, None)
            if inner:
                yield from _statements(inner)


def self_variables(method: Function) -> Iterator[VariableSurface]:
    """What *method* assigns to attributes of its first parameter."""
    arguments = method.args
    first, *others = [*arguments.posonlyargs, *arguments.args]
    annotations = {each.arg: each.annotation for each in (*others, *arguments.kwonlyargs) if each.annotation}

    def value_type(value: ast.expr) -> ast.expr:
        known = annotations.get(value.id) if isinstance(value, ast.Name) else None
        return known or type_of(value)

    for node in _statements(method.body):
        match node:
            case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id=own), attr=name)) if own == first.arg:
                annotation = node.annotation
                if last_name(annotation) == "Final" and node.value is not None:
                    annotation = ast.Subscript(annotation, value_type(node.value))
                yield VariableSurface(name, annotation)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    match target:
                        case ast.Attribute(value=ast.Name(id=own), attr=name) if own == first.arg:
                            yield VariableSurface(name, value_type(value))
                        case _:
                            pass
            case _:
                pass


def gives_back(function: Function) -> bool:
    """Whether calling it gives anything but ``None``."""
    for node in _statements(function.body):
        if isinstance(node, ast.Return) and node.value is not None and not is_none(node.value):
            return True
    return is_generator(function)
