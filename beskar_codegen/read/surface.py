"""What a module offers, as plain data: the stuff of which its stub is made.

Bodies are gone; signatures, bases and annotations stay as they were written, as text of expressions. Of a value so much
is kept as a type checker needs (defaults of fields, members of enums, aliases). :mod:`beskar_codegen.read.surfacing`
reads it from source.
"""

from __future__ import annotations

import attrs


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


@attrs.frozen
class ParameterSurface:
    """One parameter; *stars* is ``*`` or ``**`` before its name, *name* is ``/`` or empty for the two separators."""

    name: str
    annotation: str = ""
    default: str = ""
    stars: str = ""


@attrs.frozen
class FunctionSurface:
    """A function or method; *type_parameters* with its brackets."""

    name: str
    parameters: tuple[ParameterSurface, ...] = ()
    returns: str = ""
    is_async: bool = False
    decorators: tuple[str, ...] = ()
    type_parameters: str = ""


@attrs.frozen
class VariableSurface:
    """A variable, field, alias or member of an enum: annotation, value, or both."""

    name: str
    annotation: str = ""
    value: str = ""


@attrs.frozen
class StatementSurface:
    """A statement that stays as it is, on one line: ``type X = …``, ``__all__ += …``."""

    name: str
    text: str


@attrs.frozen
class ClassSurface:
    """A class; *bases* include keywords, as text."""

    name: str
    bases: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()
    type_parameters: str = ""
    body: tuple[Item, ...] = ()


@attrs.frozen
class ConditionSurface:
    """A choice by version or platform, which type checkers make for themselves."""

    condition: str
    body: tuple[Item, ...] = ()
    otherwise: tuple[Item, ...] = ()


Item = FunctionSurface | VariableSurface | StatementSurface | ClassSurface | ConditionSurface


@attrs.frozen
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
