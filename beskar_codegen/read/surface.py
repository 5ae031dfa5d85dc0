"""What a module offers, as plain data: the stuff of which its stub is made.

Bodies are gone; signatures, bases and annotations stay as they were written, as nodes of the module's syntax tree,
which nobody changes. Of a value so much is kept as a type checker needs (defaults of fields, members of enums,
aliases). :mod:`beskar_codegen.read.surfacing` reads it from source.
"""

from __future__ import annotations

import ast

import attrs

from beskar_codegen.read.syntax import TypeParameter


@attrs.frozen
class ImportedName:
    """One name that the module imports.

    Attributes:
        bound: the name in the module; of ``import a.b`` it is ``a``; ``*`` for a star import.
        module: absolute.
        name: in that module; empty if the module itself is imported.
    """

    bound: str
    module: str
    name: str = ""


@attrs.frozen(eq=False)
class ParameterSurface:
    """One parameter; *stars* is ``*`` or ``**`` before its name, *name* is ``/`` or empty for the two separators."""

    name: str
    annotation: ast.expr | None = None
    default: ast.expr | None = None
    stars: str = ""


@attrs.frozen(eq=False)
class FunctionSurface:
    """A function or method."""

    name: str
    parameters: tuple[ParameterSurface, ...]
    returns: ast.expr
    is_async: bool = False
    decorators: tuple[ast.expr, ...] = ()
    type_parameters: tuple[TypeParameter, ...] = ()


@attrs.frozen(eq=False)
class VariableSurface:
    """A variable, field, alias or member of an enum: annotation, value, or both. It may add to what it has: ``+=``."""

    name: str
    annotation: ast.expr | None = None
    value: ast.expr | None = None
    is_added: bool = False


@attrs.frozen(eq=False)
class TypeSurface:
    """``type name[…] = value``."""

    name: str
    value: ast.expr
    type_parameters: tuple[TypeParameter, ...] = ()


@attrs.frozen(eq=False)
class ClassSurface:
    """A class; its *keywords* are those behind the bases, ``metaclass`` among them."""

    name: str
    bases: tuple[ast.expr, ...] = ()
    keywords: tuple[ast.keyword, ...] = ()
    decorators: tuple[ast.expr, ...] = ()
    type_parameters: tuple[TypeParameter, ...] = ()
    body: tuple[Item, ...] = ()


@attrs.frozen(eq=False)
class ConditionSurface:
    """A choice by version or platform, which type checkers make for themselves."""

    condition: ast.expr
    body: tuple[Item, ...] = ()
    otherwise: tuple[Item, ...] = ()


Item = FunctionSurface | VariableSurface | TypeSurface | ClassSurface | ConditionSurface


@attrs.frozen(eq=False)
class ModuleSurface:
    """One module.

    Attributes:
        imports: in the order of the source, those of ``TYPE_CHECKING`` blocks included.
        exported: what ``__all__`` lists, ``None`` if there is none or it cannot be read.
    """

    module: str
    imports: tuple[ImportedName, ...] = ()
    items: tuple[Item, ...] = ()
    exported: tuple[str, ...] | None = None
    is_package: bool = False
