"""Modules of the project: found by name below the import roots, read once.

A module's name comes from its path, as Python's import would find it. Modules of ``site-packages`` and of the standard
library are not looked for: what comes from there is known by its name alone. ``beskar_jobs`` is never looked for
either, also where its sources lie in the project: its names are known.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from beskar_codegen.breaches import breach
from beskar_codegen.model import Diagnostic, Place, StarImport
from beskar_codegen.read import syntax
from beskar_codegen.read.discovery import relative_path
from beskar_codegen.read.positions import Positions
from beskar_codegen.read.scopes import (
    Binding,
    ClassBinding,
    Collector,
    Names,
    Scope,
    TypeParameterBinding,
    ValueBinding,
)
from beskar_codegen.read.syntax import DEFINITIONS, TypeParameter
from beskar_codegen.read.texts import SourceText, decoded, read_bytes
from beskar_jobs.handlers import rules

LIBRARY = "beskar_jobs"


class ClassSite:
    """One class statement: where it stands, and the names that its body binds."""

    def __init__(self, scope: Scope, name: str, node: ast.ClassDef) -> None:
        self.scope = scope
        self.module = scope.module
        self.name = name
        self.node = node

    @cached_property
    def names(self) -> Names:
        return Collector(self.module.package).collect(self.node.body)

    @cached_property
    def _parameters(self) -> tuple[tuple[str, Binding], ...]:
        return bindings_of(syntax.type_parameters(self.node))

    @cached_property
    def body_scope(self) -> Scope:
        """Where names within the body are looked up: not in an enclosing class."""
        return Scope(self.module, self.names, self.scope.functions, self._parameters)

    @cached_property
    def base_scope(self) -> Scope:
        """Where names of the bases are looked up."""
        return Scope(self.module, self.scope.block, self.scope.functions, (*self.scope.parameters, *self._parameters))

    @property
    def place(self) -> Place:
        """Where its name stands."""
        return self.module.positions.name_place(self.node)

    def inner(self, name: str, binding: ClassBinding) -> ClassSite:
        """The class *name* within."""
        return ClassSite(self.body_scope, f"{self.name}.{name}", binding.node)


def bindings_of(parameters: Sequence[TypeParameter]) -> tuple[tuple[str, Binding], ...]:
    """Type *parameters* as names that a scope knows."""
    return tuple((each.name, TypeParameterBinding(each.name)) for each in parameters)


class ModuleScope:
    """One module of the project."""

    def __init__(self, name: str, is_package: bool, source: SourceText) -> None:
        self.name = name
        self.is_package = is_package
        self.path = source.path
        self.source = source
        self.positions = Positions(source.path, source.text)
        self.problem: Diagnostic | None = source.problem
        self.body: list[ast.stmt] = []
        if source.problem is None:
            try:
                self.body = syntax.parse_source(source.text).body
            except SyntaxError as error:
                self.problem = _unreadable(source.path, error)
        self.hiding: dict[StarImport, None] = {}
        self._sites: dict[str, ClassSite] = {}

    @property
    def package(self) -> str:
        """The package that relative imports count from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @cached_property
    def names(self) -> Names:
        """What the module binds, and what it imports; its own classes and functions win over what else has their
        name (``Cls = registered(Cls)``)."""
        last = [each for each in self.body if isinstance(each, DEFINITIONS)]
        return Collector(self.package).collect([*self.statements, *last])

    @property
    def statements(self) -> list[ast.stmt]:
        """All at the top but classes and functions."""
        return [each for each in self.body if not isinstance(each, DEFINITIONS)]

    def find(self, name: str) -> Binding | None:
        """What the module binds *name* to."""
        return self.names.bound.get(name)

    def site(self, name: str, binding: ClassBinding) -> ClassSite:
        """The class of the module that *binding* tells of; the same one each time."""
        site = self._sites.get(name)
        if site is None or site.node is not binding.node:
            site = self._sites[name] = ClassSite(Scope(self), name, binding.node)
        return site

    def exported(self) -> frozenset[str] | None:
        """The names in ``__all__``; ``None`` if there is none that can be read."""
        binding = self.names.bound.get("__all__")
        if not isinstance(binding, ValueBinding) or not isinstance(binding.value, ast.List | ast.Tuple):
            return None
        texts = (each.value for each in binding.value.elts if isinstance(each, ast.Constant))
        return frozenset(text for text in texts if isinstance(text, str))

    def star_place(self, module: str, node: ast.ImportFrom, name: str) -> StarImport:
        return StarImport(self.positions.place(node), module, name)


def _unreadable(path: str, error: SyntaxError) -> Diagnostic:
    """Where and why; *error* without a line is of no single place."""
    line, column = error.lineno or 1, max(error.offset or 1, 1)
    problem = f"has a syntax error: {error.msg}" if error.lineno else f"cannot be parsed: {error.msg}"
    return breach(rules.JOBGEN019, Place(path, line, column, line, column + 1), path=path, problem=problem)


def nested_too_deeply(path: str) -> Diagnostic:
    """What is said of the file *path* where Python's own limit of recursion ends the work on it."""
    problem = "cannot be read: an expression or an if with many elif is nested too deeply"
    return breach(rules.JOBGEN019, Place(path), path=path, problem=problem)


class ModuleFinder:
    """Finds modules by name and keeps them.

    Args:
        root: the project's folder; paths are told relative to it.
        import_roots: folders in which top-level modules lie, in the order in which they are searched.

    Attributes:
        consulted: the names asked for, whether found or not, since somebody cleared it.
    """

    def __init__(self, root: Path, import_roots: Sequence[Path]) -> None:
        self._root = root
        self._import_roots = tuple(import_roots)
        self._modules: dict[str, ModuleScope | None] = {}
        self._packages: dict[str, bool] = {}
        self.consulted: set[str] = set()

    @property
    def modules(self) -> tuple[ModuleScope, ...]:
        """All modules read so far."""
        return tuple(module for module in self._modules.values() if module is not None)

    def add(self, name: str, is_package: bool, source: SourceText) -> ModuleScope:
        """The module *name*, whose source is at hand."""
        module = self._modules.get(name)
        if module is None or module.path != source.path:
            module = self._modules[name] = ModuleScope(name, is_package, source)
        return module

    def find(self, name: str) -> ModuleScope | None:
        """The project's module *name*; ``None`` if the project has none of that name."""
        self.consulted.add(name)
        if name not in self._modules:
            self._modules[name] = self._load(name)
        return self._modules[name]

    def is_package(self, name: str) -> bool:
        """Whether *name* is a package of the project, also one without ``__init__.py``."""
        if name not in self._packages:
            folders = [root.joinpath(*name.split(".")) for root in self._import_roots] if _importable(name) else []
            self._packages[name] = any(map(_is_directory, folders))
        return self._packages[name]

    def relative(self, file: Path) -> str:
        """The path of *file* as it is told."""
        return relative_path(self._root, file)

    def _load(self, name: str) -> ModuleScope | None:
        if not _importable(name):
            return None
        parts = name.split(".")
        for root in self._import_roots:
            for file, is_package in (
                (root.joinpath(*parts, "__init__.py"), True),
                (root.joinpath(*parts[:-1], parts[-1] + ".py"), False),
            ):
                if _is_file(file):
                    path = self.relative(file)
                    data = read_bytes(file, path)
                    source = decoded(path, data) if isinstance(data, bytes) else SourceText(path, "", "", data)
                    return ModuleScope(name, is_package, source)
        return None


def _importable(name: str) -> bool:
    parts = name.split(".")
    return parts[0] != LIBRARY and all(part.isidentifier() for part in parts)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, a loop of links
        return False


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
