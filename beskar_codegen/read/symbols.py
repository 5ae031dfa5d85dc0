"""From a name as written to what it means: through imports, re-exports, aliases, nested classes and star imports."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, Union

import attrs

from beskar_codegen.model import StarImport
from beskar_codegen.read.homes import LIBRARY_NAMES, home
from beskar_codegen.read.modules import LIBRARY, ClassSite, ModuleFinder, ModuleScope
from beskar_codegen.read.scopes import (
    AliasBinding,
    Binding,
    ClassBinding,
    FunctionBinding,
    ImportBinding,
    Scope,
    TypeParameterBinding,
    ValueBinding,
)
from beskar_codegen.read.syntax import dotted_name

if TYPE_CHECKING:
    from collections.abc import Iterator


@attrs.frozen
class External:
    """Something of a module that is not followed; *name* is empty for the module itself."""

    module: str
    name: str


@attrs.frozen(eq=False)
class ModuleSymbol:
    module: ModuleScope


@attrs.frozen(eq=False)
class PackageSymbol:
    """A folder of the project without ``__init__.py``."""

    name: str


@attrs.frozen(eq=False)
class ValueSymbol:
    """A name bound by an assignment: an alias, a constant, a TypeVar, a NewType."""

    scope: Scope
    name: str
    binding: ValueBinding


@attrs.frozen(eq=False)
class AliasSymbol:
    """A ``type`` statement."""

    scope: Scope
    name: str
    binding: AliasBinding


@attrs.frozen(eq=False)
class FunctionSymbol:
    module: str
    name: str


@attrs.frozen
class TypeParameterSymbol:
    name: str


@attrs.frozen
class Missing:
    """Nothing: *reason* is the end of a sentence. *exists*: it may well be there, but cannot be seen from here."""

    reason: str
    exists: bool = False


Symbol = Union[  # noqa: UP007  # evaluated, and longer than a line
    External,
    ModuleSymbol,
    PackageSymbol,
    ClassSite,
    ValueSymbol,
    AliasSymbol,
    FunctionSymbol,
    TypeParameterSymbol,
    Missing,
]

_Seen = frozenset[tuple[str, str]]


class Resolver:
    """Follows names. Remembers which star imports names came through, in the modules that have them."""

    def __init__(self, finder: ModuleFinder) -> None:
        self.finder = finder

    def resolve(self, scope: Scope, dotted: str, seen: _Seen = frozenset()) -> Symbol:
        """What *dotted* means in *scope*."""
        head, *rest = dotted.split(".")
        symbol = self._head(scope, head, rest, seen)
        for part in rest:
            symbol = self._attribute(symbol, part, seen)
        return symbol

    def _head(self, scope: Scope, head: str, rest: list[str], seen: _Seen) -> Symbol:
        binding = scope.find(head)
        if binding is None:
            through = self._through_stars(scope.module, head, seen)
            if through is not None:
                return through
            if hasattr(builtins, head):
                return External("builtins", head)
            return Missing("is not defined")
        if isinstance(binding, ImportBinding) and binding.only_for_checkers:
            return Missing("is imported under TYPE_CHECKING, so it is not there at run time")
        symbol = self._follow(scope, head, binding, seen)
        if isinstance(symbol, External) and not symbol.name and rest:
            return _longest(scope, symbol, rest)
        return symbol

    def _follow(self, scope: Scope, name: str, binding: Binding, seen: _Seen) -> Symbol:
        if isinstance(binding, ImportBinding):
            if binding.name is None:
                return self._module(binding.module)
            return self.member(binding.module, binding.name, seen)
        if isinstance(binding, ClassBinding):
            return self._class(scope, name, binding)
        if isinstance(binding, AliasBinding):
            return AliasSymbol(scope, name, binding)
        if isinstance(binding, FunctionBinding):
            return FunctionSymbol(scope.module.name, name)
        if isinstance(binding, TypeParameterBinding):
            return TypeParameterSymbol(binding.name)
        return self._value(scope, name, binding, seen)

    def _class(self, scope: Scope, name: str, binding: ClassBinding) -> ClassSite:
        if scope.module.find(name) is not None and _same_node(scope.module.find(name), binding):
            return scope.module.site(name, binding)
        return ClassSite(scope, name, binding.node)

    def _value(self, scope: Scope, name: str, binding: ValueBinding, seen: _Seen) -> Symbol:
        dotted = dotted_name(binding.value) if binding.value is not None else None
        key = (scope.module.name, f"={name}")
        if dotted is not None and dotted != name and key not in seen:
            meant = self.resolve(scope, dotted, seen | {key})
            if not isinstance(meant, Missing):
                return meant
        return ValueSymbol(scope, name, binding)

    def _module(self, name: str) -> Symbol:
        module = self.finder.find(name)
        if module is not None:
            return ModuleSymbol(module)
        if self.finder.is_package(name):
            return PackageSymbol(name)
        parent = name.rpartition(".")[0]
        if name.startswith(".") or (parent and self._in_project(parent)):
            return Missing(f"comes from the module {name!r}, which is not there")
        return External(name, "")

    def _in_project(self, name: str) -> bool:
        return self.finder.find(name) is not None or self.finder.is_package(name)

    def member(self, module_name: str, name: str, seen: _Seen = frozenset()) -> Symbol:
        """What ``from module_name import name`` brings."""
        module = self.finder.find(module_name)
        key = (module_name, name)
        if key in seen:
            return Missing("is imported in a circle")
        if module is None:
            if self.finder.is_package(module_name):
                return self._module(f"{module_name}.{name}")
            whole = self._module(module_name)
            return whole if isinstance(whole, Missing) else External(module_name, name)
        if module.problem is not None:
            return Missing(f"comes from {module.path}, which cannot be read", exists=True)
        scope = Scope(module)
        binding = module.find(name)
        if binding is not None:
            if isinstance(binding, ImportBinding) and binding.only_for_checkers:
                return Missing(f"is imported under TYPE_CHECKING in {module_name!r}, so it is not there at run time")
            return self._follow(scope, name, binding, seen | {key})
        if self._in_project(f"{module_name}.{name}"):
            return self._module(f"{module_name}.{name}")
        through = self._through_stars(module, name, seen | {key})
        if through is not None:
            return through
        if module.find("__getattr__") is not None:
            return Missing(f"is made by __getattr__ of {module_name!r}", exists=True)
        return Missing(f"is not in the module {module_name!r}")

    def _through_stars(self, module: ModuleScope, name: str, seen: _Seen) -> Symbol | None:
        for source, node in reversed(module.names.stars):
            if (source, name) in seen or (name.startswith("_") and source == LIBRARY):
                continue
            found = self._through_star(source, name, seen)
            if found is not None:
                module.hiding[module.star_place(source, node, name)] = None
                return found
        return None

    def _through_star(self, source: str, name: str, seen: _Seen) -> Symbol | None:
        module = self.finder.find(source)
        if module is None:
            top = source.partition(".")[0]
            if top == LIBRARY:
                return External(source, name) if name in LIBRARY_NAMES else None
            if hasattr(builtins, name) or self.finder.is_package(source):
                return None
            return Missing(f"may come from the star import of {source!r}", exists=True)
        exported = module.exported()
        if (name not in exported) if exported is not None else name.startswith("_"):
            return None
        found = self.member(source, name, seen)
        return None if isinstance(found, Missing) and not found.exists else found

    def _attribute(self, symbol: Symbol, part: str, seen: _Seen) -> Symbol:
        if isinstance(symbol, External):
            return External(symbol.module, f"{symbol.name}.{part}" if symbol.name else part)
        if isinstance(symbol, ModuleSymbol):
            return self.member(symbol.module.name, part, seen)
        if isinstance(symbol, PackageSymbol):
            return self._module(f"{symbol.name}.{part}")
        if isinstance(symbol, ClassSite):
            return self._class_member(symbol, part, seen)
        if isinstance(symbol, Missing):
            return symbol
        return Missing(f"is an attribute {part!r} that cannot be followed", exists=True)

    def _class_member(self, site: ClassSite, name: str, seen: _Seen) -> Symbol:
        binding = site.names.bound.get(name)
        if isinstance(binding, ClassBinding):
            return site.inner(name, binding)
        if binding is not None:
            followed = self._follow(site.body_scope, name, binding, seen | {(site.module.name, f"{site.name}.{name}")})
            if isinstance(followed, ValueSymbol):
                return ValueSymbol(followed.scope, f"{site.name}.{name}", followed.binding)
            return followed
        for base in self.bases(site):
            if isinstance(base, ClassSite) and base.node is not site.node:
                key = (base.module.name, f"{base.name}.{name}")
                if key not in seen:
                    found = self._class_member(base, name, seen | {key})
                    if not isinstance(found, Missing):
                        return found
        return Missing(f"is no attribute of {site.name}")

    def bases(self, site: ClassSite) -> Iterator[Symbol]:
        """What the bases of *site* are, without what stands in their brackets."""
        for base in site.node.bases:
            node = base
            while isinstance(node, ast.Subscript):
                node = node.value
            dotted = dotted_name(node)
            yield Missing("is no name", exists=True) if dotted is None else self.resolve(site.base_scope, dotted)


def _longest(scope: Scope, symbol: External, rest: list[str]) -> External:
    """``import a.b`` binds ``a``, yet of ``a.b.X`` the module is ``a.b``: *rest* loses what is part of the module."""
    imported = scope.module.names.imports
    for count in range(len(rest) - 1, 0, -1):
        module = ".".join([symbol.module, *rest[:count]])
        if module in imported:
            del rest[:count]
            return External(module, "")
    return symbol


def _same_node(binding: Binding | None, other: ClassBinding) -> bool:
    return isinstance(binding, ClassBinding) and binding.node is other.node


def known_home(symbol: External) -> tuple[str, str]:
    """Module and name of *symbol* under which it is known."""
    return home(symbol.module, symbol.name)


def star_imports(module: ModuleScope) -> tuple[StarImport, ...]:
    """The star imports of *module* that a name came through, or may have."""
    return tuple(sorted(module.hiding, key=lambda each: (each.place, each.hides)))
