"""Reads a project: which files there are, which of them can hold handlers, and what those declare.

A file takes part if it has the decorator's name in it. Where a module gives the decorator another name
(``from beskar_jobs import job_handler as task``, ``task = job_handler``), files with that name take part as well, and
so on until nothing new turns up: who uses the decorator under any name has to write a name that leads to it. Everything
else is parsed only if something leads there, a type or a base class.

Failure modes: what cannot be read is a diagnostic of its file; loops of links are walked once; a module whose imports
run in a circle is read like any other, for nothing is run.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs

from beskar_codegen.model import DeclaredType, Diagnostic, SourceModule
from beskar_codegen.read.classes import DeclarationReader
from beskar_codegen.read.discovery import SourceFile, import_roots, missing_entries, module_name, source_files
from beskar_codegen.read.handlers import HandlerReader, spellings
from beskar_codegen.read.modules import ModuleFinder, ModuleScope
from beskar_codegen.read.registrations import registered_types
from beskar_codegen.read.symbols import Resolver, star_imports
from beskar_codegen.read.texts import decoded, read_bytes
from beskar_codegen.read.types import TypeReader


@attrs.frozen
class ProjectSources:
    """What the sources of a project declare.

    Attributes:
        modules: those that were parsed, by path; modules without handlers are here for their imports.
        problems: of files that are no module (unreadable, not there).
        files: how many there are, parsed or not.
    """

    modules: tuple[SourceModule, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    files: int = 0


def read_project(root: Path, source: Sequence[str]) -> ProjectSources:
    """Read the handlers below the folders (or files) *source* of the project in *root*, and all types they use.

    Nothing is imported, and nothing is raised for what is in the files.
    """
    root = Path(os.path.abspath(root))  # not resolved: paths are told as they were given
    with _without_collections():
        return _ProjectReader(root, source).read()


def read_module(path: str, text: str, *, root: Path | None = None) -> SourceModule:
    """Read one module from its *text*, as if it were the file *path* (relative to *root*).

    Without *root* the module stands alone: what it imports is known by name only.
    """
    base = Path(os.path.abspath(root)) if root is not None else Path(os.path.abspath(os.sep)) / "nowhere"
    finder = ModuleFinder(base, (base,) if root is not None else ())
    name, is_package = module_name(Path(path))
    module = finder.add(name, is_package, decoded(path, text.encode("utf-8", "surrogatepass")))
    return _ModuleReader(finder).read(module)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Syntax trees are many small objects that stay: looking through them for garbage again and again finds none, and
    takes half the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class _ModuleReader:
    """Reads modules one by one, each with what it uses."""

    def __init__(self, finder: ModuleFinder) -> None:
        self.finder = finder
        self.resolver = Resolver(finder)
        self.names = frozenset({"job_handler"})

    def read(self, module: ModuleScope) -> SourceModule:
        if module.problem is not None:
            return _summary(module, problems=(module.problem,))
        self.finder.consulted.clear()
        types = TypeReader(self.resolver)
        handlers, problems = HandlerReader(self.resolver, types, self.names).read(module)
        declarations = _declarations(types)
        consulted = tuple(sorted(self.finder.consulted - {module.name}))
        return attrs.evolve(
            _summary(module, problems=problems),
            handlers=handlers,
            types=declarations,
            consulted=consulted,
            registered=registered_types(self.resolver, module),
        )


def _declarations(types: TypeReader) -> tuple[DeclaredType, ...]:
    reader = DeclarationReader(types)
    read: dict[tuple[str, str], DeclaredType] = {}
    while True:
        missing = [home for home in types.used if home not in read]
        if not missing:
            break
        for home in missing:
            read[home] = reader.read(types.used[home])
    return tuple(read[home] for home in sorted(read))


def _summary(module: ModuleScope, *, problems: tuple[Diagnostic, ...]) -> SourceModule:
    return SourceModule(
        module.name,
        module.path,
        module.source.digest,
        star_imports=star_imports(module),
        imports=tuple(sorted(set(module.names.imports))),
        problems=problems,
    )


class _ProjectReader:
    def __init__(self, root: Path, source: Sequence[str]) -> None:
        self._root = root
        self._problems = missing_entries(root, source)
        self._files = source_files(root, source)
        self._reader = _ModuleReader(ModuleFinder(root, import_roots(root, source)))

    def read(self) -> ProjectSources:
        finder = self._reader.finder
        candidates = self._candidates()
        modules = {module.path: self._reader.read(module) for module in candidates}
        self._follow_imports(modules)
        for module in finder.modules:
            if module.path not in modules:
                problems = (module.problem,) if module.problem is not None else ()
                modules[module.path] = _summary(module, problems=problems)
            else:  # a later module may have looked through its star imports
                modules[module.path] = attrs.evolve(modules[module.path], star_imports=star_imports(module))
        ordered = tuple(modules[path] for path in sorted(modules))
        return ProjectSources(ordered, tuple(sorted(self._problems)), len(self._files))

    def _candidates(self) -> list[ModuleScope]:
        """Modules that have the decorator's name in them, or a name that leads to it; the reader learns these names."""
        reader = self._reader
        waiting: dict[SourceFile, bytes] = {}
        for each in self._files:
            data = read_bytes(each.file, each.path)
            if isinstance(data, bytes):
                waiting[each] = data
            else:
                self._problems.append(data)
        found: list[ModuleScope] = []
        new = {*reader.names, "register_type"}
        while new:
            wanted = re.compile(b"|".join(re.escape(name.encode()) for name in sorted(new)))
            for each in [each for each, data in waiting.items() if wanted.search(data)]:
                text = decoded(each.path, waiting.pop(each))
                found.append(reader.finder.add(each.module, each.is_package, text))
            known = reader.names
            readable = [module for module in found if module.problem is None]
            reader.names = known.union(*(spellings(reader.resolver, module, known) for module in readable))
            new = set(reader.names - known)
        return found

    def _follow_imports(self, modules: dict[str, SourceModule]) -> None:
        """Read the imports of whatever the modules with types bring along."""
        finder = self._reader.finder
        homes = {declared.module for module in modules.values() for declared in module.types}
        pending = sorted(homes)
        seen = set(pending)
        while pending:
            module = finder.find(pending.pop())
            if module is None or module.problem is not None:
                continue
            for name in (*module.names.imports, *_packages(module.name)):
                if name not in seen:
                    seen.add(name)
                    pending.append(name)


def _packages(name: str) -> Iterable[str]:
    """The packages around the module *name*, which are imported before it."""
    parts = name.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts)))
