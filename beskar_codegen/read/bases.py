"""What a handler class fills the type variables of ``JobHandler`` with, through generic classes in between.

The same walk as the decorator's: from base to base along the first that is a handler, filling variables on the way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

import attrs

from beskar_codegen.model import NamedType, NoneType, TypeExpression, UnresolvedType
from beskar_codegen.read.classes import open_parameters
from beskar_codegen.read.modules import ClassSite
from beskar_codegen.read.symbols import External, Missing, Resolver, ValueSymbol, known_home
from beskar_codegen.read.syntax import type_parameters
from beskar_codegen.read.types import TypeReader, filled, subscripted

_COUNTS: Final = {"JobHandler": 1, "JobHandlerWithResult": 2, "HandlerBase": 2}
_HARMLESS: Final = {"typing", "abc", "builtins", "enum", "dataclasses", "collections.abc"}


@attrs.frozen
class BoundBase:
    """The handler base that was found.

    Attributes:
        base: its name, ``None`` if there is none.
        arguments: types of arguments and result; ``None`` where they are not given.
        problem: what is wrong with them.
        open_base: a base that could not be followed.
    """

    base: str | None = None
    arguments: tuple[TypeExpression, TypeExpression] | None = None
    problem: str = ""
    open_base: UnresolvedType | None = None


class BaseReader:
    """Looks through the bases of classes."""

    def __init__(self, types: TypeReader) -> None:
        self._types = types
        self._resolver: Resolver = types.resolver

    def bound(self, site: ClassSite) -> BoundBase:
        """What *site* says as a handler."""
        return self._bound(site, {}, ())

    def _bound(self, site: ClassSite, known: dict[str, TypeExpression], open_: tuple[ast.ClassDef, ...]) -> BoundBase:
        unknown: UnresolvedType | None = None
        for base, symbol in zip(site.node.bases, self._resolver.bases(site), strict=True):
            if isinstance(symbol, External):
                module, name = known_home(symbol)
                if module == "beskar_jobs" and name in _COUNTS:
                    return self._handler(name, self._arguments(site, base, known))
                if module not in _HARMLESS:
                    reason = f"comes from {module!r}, whose classes are not read"
                    unknown = unknown or UnresolvedType(site.module.positions.code(base), reason, exists=True)
            elif isinstance(symbol, ClassSite):
                if symbol.node in (*open_, site.node):
                    continue
                found = self._through(site, base, symbol, known, (*open_, site.node))
                if found.base is not None:
                    return found
                unknown = unknown or found.open_base
            elif isinstance(symbol, Missing):
                unknown = unknown or UnresolvedType(
                    site.module.positions.code(base), symbol.reason, exists=symbol.exists
                )
            elif isinstance(symbol, ValueSymbol):
                aliased = self._aliased(site, base, known)
                if aliased is not None:
                    return aliased
                unknown = unknown or UnresolvedType(
                    site.module.positions.code(base), "is made by running code", exists=True
                )
        return BoundBase(open_base=unknown)

    def _aliased(self, site: ClassSite, node: ast.expr, known: dict[str, TypeExpression]) -> BoundBase | None:
        """A base behind an alias with brackets: ``Base = JobHandler[Args]``."""
        expression = filled(self._types.read(site.base_scope, node), known)
        if isinstance(expression, NamedType) and expression.module == "beskar_jobs" and expression.name in _COUNTS:
            return self._handler(expression.name, expression.arguments)
        return None

    def _through(
        self,
        site: ClassSite,
        node: ast.expr,
        base: ClassSite,
        known: dict[str, TypeExpression],
        open_: tuple[ast.ClassDef, ...],
    ) -> BoundBase:
        arguments = self._arguments(site, node, known)
        parameters = self.parameters(base)
        inner = dict(zip(parameters, arguments, strict=False))
        found = self._bound(base, inner, open_)
        if found.base is not None and arguments and len(arguments) != len(parameters):
            return attrs.evolve(found, problem=f"gives {base.name} {_types(len(arguments))}, not {len(parameters)}")
        return found

    def parameters(self, site: ClassSite) -> tuple[str, ...]:
        """The type parameters of *site*."""
        own = type_parameters(site.node)
        if own:
            return tuple(each.name for each in own)
        return open_parameters(tuple(self._types.read(site.base_scope, each) for each in site.node.bases))

    def _arguments(
        self, site: ClassSite, node: ast.expr, known: dict[str, TypeExpression]
    ) -> tuple[TypeExpression, ...]:
        if not isinstance(node, ast.Subscript):
            return ()
        return tuple(filled(self._types.read(site.base_scope, item), known) for item in subscripted(node))

    def _handler(self, name: str, arguments: tuple[TypeExpression, ...]) -> BoundBase:
        count = _COUNTS[name]
        if not arguments:
            return BoundBase(name)
        if len(arguments) != count:
            return BoundBase(name, problem=f"gives {name} {_types(len(arguments))}, not {count}")
        if count == 1:
            return BoundBase(name, (arguments[0], NoneType()))
        return BoundBase(name, (arguments[0], arguments[1]))

    def lineage(self, site: ClassSite) -> Iterator[ClassSite]:
        """*site* and the project's classes among its bases, nearest first."""
        seen: list[ast.ClassDef] = []
        pending = [site]
        while pending:
            each = pending.pop(0)
            if each.node in seen:
                continue
            seen.append(each.node)
            yield each
            pending[:0] = [base for base in self._resolver.bases(each) if isinstance(base, ClassSite)]


def _types(count: int) -> str:
    return "one type" if count == 1 else f"{count} types"
