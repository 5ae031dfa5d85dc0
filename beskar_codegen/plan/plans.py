"""What goes into which generated file, decided and not yet written.

A plan holds types, not text: which import a type needs, and under which name, is settled by the emitter. The module of
a type is empty where the generated file itself defines it (stand-alone mode). Plans are equal where the files are.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import attrs

from beskar_codegen.model import DeclaredType, TypeExpression
from beskar_codegen.read.surface import ModuleSurface

HERE = ""
"""The module of a type that the generated file defines."""


NAMES_IN_CLASS: Final = frozenset(
    {"job_type", "queue", "priority", "args_type", "result_type", "arguments", "self", "super"}
)
"""Names that mean something else inside a descriptor class, where the annotations of parameters are looked up."""


class Mode(StrEnum):
    """Where descriptors have the types of arguments and results from."""

    IMPORT = "import"
    STANDALONE = "standalone"


@attrs.frozen
class PlanSettings:
    """The settings that decide about the contents of generated files.

    Attributes:
        mode: see :class:`Mode`.
        descriptors: path of the descriptor module, relative to the root of the project, with forward slashes.
        stubs: folder of the stubs; empty: none are wanted.
        line_length: of the formatter that the project uses (Ruff's default is 88).
        first_party: top-level packages of the project itself, which sorted imports keep apart from those of others.
        root: folder that the modules' names start below (``src``), empty for the root of the project.
    """

    mode: Mode = Mode.IMPORT
    descriptors: str = "app/jobs.py"
    stubs: str = "stubs"
    line_length: int = 88
    first_party: frozenset[str] = frozenset()
    root: str = ""


class Shape(StrEnum):
    """How a descriptor takes its arguments and makes the value of them.

    ``FIELDS``: as parameters, passed on to a class. ``MAPPING``: as parameters, made into a TypedDict. ``WHOLE``: as
    one value, where the type has no fields of its own. ``NOTHING``: there are none.
    """

    FIELDS = "fields"
    MAPPING = "mapping"
    WHOLE = "whole"
    NOTHING = "nothing"


@attrs.frozen
class ParameterPlan:
    """One keyword-only parameter of a descriptor.

    Attributes:
        name: of the parameter: that of the argument, unless no parameter can be called so.
        argument: what the constructor (or the key of the TypedDict) is called.
        default: source text; ``None``: there is none to write.
        default_names: as in :class:`beskar_codegen.model.Field`.
        is_omittable: may be left out although no default is written.
        is_passed_unchecked: type checkers disagree about what the constructor calls it (attrs takes ``_size`` as
            ``size``, which pyright does not know).
    """

    name: str
    argument: str
    type: TypeExpression
    default: str | None = None
    default_names: tuple[tuple[str, str, str], ...] = ()
    is_omittable: bool = False
    is_passed_unchecked: bool = False
    doc: str = ""

    @property
    def is_required(self) -> bool:
        return self.default is None and not self.is_omittable


@attrs.frozen
class DescriptorPlan:
    """One descriptor class; *handler* is the dotted name of the class it stands for."""

    name: str
    handler: str
    job_type: str
    queue: str
    priority: int
    args_type: TypeExpression
    result_type: TypeExpression | None
    shape: Shape
    parameters: tuple[ParameterPlan, ...] = ()
    doc: str = ""


@attrs.frozen
class WrittenType:
    """A type that a stand-alone module defines for itself.

    Attributes:
        name: in the module; ``Holder.Name`` where two types have one name, for the name of a class is on the wire.
        declared: the type, with the types in it pointing to what the module defines.
        is_recursive: it refers to itself, directly or through others; of importance to aliases.
    """

    name: str
    declared: DeclaredType
    is_recursive: bool = False


@attrs.frozen
class DescriptorModulePlan:
    """The descriptor module: classes sorted by name, types in an order that defines them."""

    path: str
    module: str
    descriptors: tuple[DescriptorPlan, ...] = ()
    types: tuple[WrittenType, ...] = ()
    line_length: int = 88
    first_party: frozenset[str] = frozenset()


@attrs.frozen
class HandlerAddition:
    """What the decorator adds to the class *name* of a stub."""

    name: str
    job_type: str
    args_type: TypeExpression
    result_type: TypeExpression | None


@attrs.frozen
class StubPlan:
    """The stub of one decorated module.

    Attributes:
        abstract: classes that stay abstract without saying so themselves, which in a stub is an error.
        modules: what of the imports are modules of the project, as (name in the surface, module). A stub imports from
            them and not them, for pyright finds no module by ``from package import module`` once the package itself
            has a stub.
    """

    path: str
    surface: ModuleSurface
    additions: tuple[HandlerAddition, ...] = ()
    abstract: tuple[str, ...] = ()
    modules: tuple[tuple[str, str], ...] = ()
    line_length: int = 88
    first_party: frozenset[str] = frozenset()
