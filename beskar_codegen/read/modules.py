"""Modules of the project: found by name below the import roots, read once, cut, and parsed as far as somebody asks.

A module's name comes from its path, as Python's import would find it. Modules of ``site-packages`` and of the standard
library are not looked for: what comes from there is known by its name alone. ``beskar_jobs`` is never looked for
either, also where its sources lie in the project: its names are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import libcst as cst

from beskar_codegen.model import Diagnostic, StarImport
from beskar_codegen.read.discovery import relative_path
from beskar_codegen.read.outline import Chunk, Outline, Piece, outlined
from beskar_codegen.read.scopes import (
    Binding,
    ClassBinding,
    Collector,
    FunctionBinding,
    Names,
    Scope,
    TypeParameterBinding,
    ValueBinding,
)
from beskar_codegen.read.texts import SourceText, decoded, read_bytes
from beskar_codegen.read.trees import Tree, parse_chunk, parse_piece

LIBRARY = "beskar_jobs"


class ClassSite:
    """One class statement: where it stands, and the names that its body binds."""

    def __init__(self, scope: Scope, name: str, node: cst.ClassDef, tree: Tree) -> None:
        self.scope = scope
        self.module = scope.module
        self.name = name
        self.node = node
        self.tree = tree
        self._names: Names | None = None

    @property
    def names(self) -> Names:
        if self._names is None:
            self._names = Collector(self.tree, self.module.package).collect(self.node.body.body)
        return self._names

    @property
    def body_scope(self) -> Scope:
        """Where names within the body are looked up: not in an enclosing class."""
        return Scope(self.module, self.names, self.scope.functions, type_parameters(self.node))

    @property
    def base_scope(self) -> Scope:
        """Where names of the bases are looked up."""
        parameters = (*self.scope.parameters, *type_parameters(self.node))
        return Scope(self.module, self.scope.block, self.scope.functions, parameters)

    def inner(self, name: str, binding: ClassBinding) -> ClassSite:
        """The class *name* within."""
        return ClassSite(self.body_scope, f"{self.name}.{name}", binding.node, binding.tree)


def type_parameters(node: cst.ClassDef | cst.TypeAlias | cst.FunctionDef) -> tuple[tuple[str, Binding], ...]:
    """The type parameters that stand in brackets after the name (PEP 695)."""
    if node.type_parameters is None:
        return ()
    names = [each.param.name.value for each in node.type_parameters.params]
    return tuple((name, TypeParameterBinding(name)) for name in names)


class ModuleScope:
    """One module of the project."""

    def __init__(self, name: str, is_package: bool, source: SourceText) -> None:
        self.name = name
        self.is_package = is_package
        self.path = source.path
        self.source = source
        self.outline = outlined(source.path, source.text) if source.problem is None else Outline(Piece.of(""), ())
        self.problem: Diagnostic | None = source.problem or self.outline.problem
        self.hiding: dict[StarImport, None] = {}
        self._chunks = {chunk.name: chunk for chunk in self.outline.chunks}
        self._trees: dict[Chunk, Tree | None] = {}
        self._sites: dict[str, ClassSite] = {}
        self._skeleton: Tree | None = None
        self._names: Names | None = None

    @property
    def package(self) -> str:
        """The package that relative imports count from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @property
    def skeleton(self) -> Tree:
        if self._skeleton is None:
            empty = Tree(self.path, Piece.of(""), cst.Module([]))
            self._skeleton = parse_piece(self.path, self.outline.skeleton) or empty
        return self._skeleton

    @property
    def names(self) -> Names:
        """What the module binds outside its chunks, and what it imports."""
        if self._names is None:
            tree = self.skeleton
            self._names = Collector(tree, self.package).collect(tree.module.body)
        return self._names

    def find(self, name: str) -> Binding | None:
        """What the module binds *name* to."""
        chunk = self._chunks.get(name)
        if chunk is None:
            return self.names.bound.get(name)
        if chunk.kind == "function":
            return FunctionBinding()
        tree = self.tree_of(chunk)
        if tree is None:
            return ValueBinding(None, None, self.skeleton)
        node = tree.module.body[0]
        assert isinstance(node, cst.ClassDef)
        return ClassBinding(node, tree)

    def bound_names(self) -> Iterator[str]:
        """All names that the module binds itself."""
        yield from self._chunks
        yield from self.names.bound

    def tree_of(self, chunk: Chunk) -> Tree | None:
        """The parsed *chunk*, from the second time on the same."""
        if chunk not in self._trees:
            self._trees[chunk] = parse_chunk(self.path, chunk)
        return self._trees[chunk]

    def site(self, name: str, binding: ClassBinding) -> ClassSite:
        """The class of the module that *binding* tells of; the same one each time."""
        site = self._sites.get(name)
        if site is None or site.node is not binding.node:
            site = self._sites[name] = ClassSite(Scope(self), name, binding.node, binding.tree)
        return site

    def exported(self) -> frozenset[str] | None:
        """The names in ``__all__``; ``None`` if there is none that can be read."""
        binding = self.names.bound.get("__all__")
        if not isinstance(binding, ValueBinding) or not isinstance(binding.value, cst.List | cst.Tuple):
            return None
        return frozenset(
            str(each.value.evaluated_value)
            for each in binding.value.elements
            if isinstance(each.value, cst.SimpleString)
        )

    def star_place(self, module: str, node: cst.ImportFrom, name: str) -> StarImport:
        return StarImport(self.skeleton.place(node), module, name)


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
