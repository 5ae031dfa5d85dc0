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
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import attrs

from beskar_codegen.model import DeclaredType, Diagnostic, SourceModule
from beskar_codegen.processes import process_pool, usable_processes
from beskar_codegen.read.classes import DeclarationReader
from beskar_codegen.read.discovery import SourceFile, import_roots, missing_entries, module_name, source_files
from beskar_codegen.read.handlers import HandlerReader, spellings
from beskar_codegen.read.modules import ModuleFinder, ModuleScope, nested_too_deeply
from beskar_codegen.read.registrations import registered_types
from beskar_codegen.read.symbols import Resolver, star_imports
from beskar_codegen.read.texts import SourceText, decoded, read_bytes
from beskar_codegen.read.types import TypeReader

PARALLEL_FROM: Final = 100
"""Files to be read from which on several processes do it. Below, one process alone is done within a second, and sooner
than two: they have to be started, what they find comes back as bytes, and each of them reads what both need."""


@attrs.frozen
class ProjectSources:
    """What the sources of a project declare.

    Attributes:
        modules: those that were parsed, by path; modules without handlers are here for their imports.
        problems: of files that are no module (unreadable, not there).
        files: how many there are, parsed or not.
        names: that lead to the decorator.
    """

    modules: tuple[SourceModule, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    files: int = 0
    names: tuple[str, ...] = ()


def read_project(
    root: Path, source: Sequence[str], *, known: Mapping[str, SourceModule] | None = None
) -> ProjectSources:
    """Read the handlers below the folders (or files) *source* of the project in *root*, and all types they use.

    Nothing is imported, and nothing is raised for what is in the files. Many files are shared out among processes.

    Args:
        known: modules by path that an earlier call has read, and that would come out the same now.
    """
    root = Path(os.path.abspath(root))  # not resolved: paths are told as they were given
    with without_collections():
        return _ProjectReader(root, source, known or {}).read()


def read_again(
    root: Path, source: Sequence[str], paths: Iterable[str], names: Sequence[str], *, known: Container[str]
) -> dict[str, SourceModule] | None:
    """Read the files *paths* of the project, by path, with summaries of modules that were looked at on the way.

    Args:
        names: those that lead to the decorator, as :class:`ProjectSources` tells them.
        known: paths of the modules that were read before; the others were of no importance, and stay so without a name.

    Returns:
        ``None`` where that does not do, because other modules may mean something else now as well.
    """
    root = Path(os.path.abspath(root))
    reader = _ModuleReader(ModuleFinder(root, import_roots(root, source)))
    reader.names = frozenset(names)
    wanted, renamed = _any_of([*names, "register_type"]), _renames(names)
    chosen = set(paths)
    decorated = []
    for each in source_files(root, source):
        if each.path in chosen:
            data = read_bytes(each.file, each.path)
            if not isinstance(data, bytes) or renamed.search(data):
                return None
            if each.path not in known:
                if wanted.search(data):
                    return None
            elif wanted.search(data):
                decorated.append(each)
            else:
                reader.finder.add(each.module, each.is_package, decoded(each.path, data))
    return _read_share(reader, decorated)


def read_module(path: str, text: str, *, root: Path | None = None) -> SourceModule:
    """Read one module from its *text*, as if it were the file *path* (relative to *root*).

    Without *root* the module stands alone: what it imports is known by name only.
    """
    base = Path(os.path.abspath(root)) if root is not None else Path(os.path.abspath(os.sep)) / "nowhere"
    finder = ModuleFinder(base, (base,) if root is not None else ())
    name, is_package = module_name(path)
    module = finder.add(name, is_package, decoded(path, text.encode("utf-8", "surrogatepass")))
    return _ModuleReader(finder).read(module)


@contextmanager
def without_collections() -> Iterator[None]:
    """Syntax trees and models are many small objects that stay: looking through them for garbage again and again finds
    none, and takes half the time."""
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
        try:
            return self._read(module)
        except RecursionError:
            return _unread(module)

    def _read(self, module: ModuleScope) -> SourceModule:
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


def _unread(module: ModuleScope) -> SourceModule:
    """What there is to say of a module whose names cannot even be collected."""
    problems = (nested_too_deeply(module.path),)
    return SourceModule(module.name, module.path, module.source.digest, problems=problems)


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
    def __init__(self, root: Path, source: Sequence[str], known: Mapping[str, SourceModule]) -> None:
        self._root = root
        self._known = known
        self._problems = missing_entries(root, source)
        self._files = source_files(root, source)
        self._roots = import_roots(root, source)
        self._reader = _ModuleReader(ModuleFinder(root, self._roots))

    def read(self) -> ProjectSources:
        candidates = self._candidates()
        fresh = [each for each in candidates if each.path not in self._known]
        modules = {each.path: self._known[each.path] for each in candidates if each.path in self._known}
        found = self._read(fresh)
        modules |= {each.path: found[each.path] for each in fresh}
        summaries = {each.module: each for each in (*self._known.values(), *found.values())}
        for name in self._reachable(modules.values(), summaries):
            modules.setdefault(summaries[name].path, summaries[name])
        ordered = tuple(modules[path] for path in sorted(modules))
        return ProjectSources(
            ordered, tuple(sorted(self._problems)), len(self._files), tuple(sorted(self._reader.names))
        )

    def _read(self, files: Sequence[SourceFile]) -> dict[str, SourceModule]:
        """The modules of *files* by path, and summaries of those that were looked at on the way."""
        names = self._reader.names
        processes = usable_processes()
        if len(files) < PARALLEL_FROM or processes == 1:
            return _read_share(self._reader, files)
        # Neighbours often use the same types: so shares are runs of files, a few for each process.
        size = max(1, -(-len(files) // (processes * 4)))
        shares = [(self._root, self._roots, names, files[i : i + size]) for i in range(0, len(files), size)]
        found: dict[str, SourceModule] = {}
        with process_pool(processes) as pool:
            for share in pool.map(_read_apart, shares):
                for path, module in share.items():
                    found[path] = _merged(found[path], module) if path in found else module
        return found

    def _candidates(self) -> list[SourceFile]:
        """Files that have the decorator's name in them, or a name that leads to it; the reader learns these names."""
        reader = self._reader
        waiting: dict[SourceFile, bytes] = {}
        for each in self._files:
            data = read_bytes(each.file, each.path)
            if isinstance(data, bytes):
                waiting[each] = data
            else:
                self._problems.append(data)
        found: dict[SourceFile, bytes] = {}
        new = {*reader.names, "register_type"}
        while new:
            wanted = _any_of(new)
            found.update({each: waiting.pop(each) for each, data in list(waiting.items()) if wanted.search(data)})
            known = reader.names
            renamed = _renames(known)
            for each, data in found.items():
                if renamed.search(data):
                    module = reader.finder.add(each.module, each.is_package, decoded(each.path, data))
                    if module.problem is None:
                        with suppress(RecursionError):  # told when the module is read
                            reader.names |= spellings(reader.resolver, module, known)
            new = set(reader.names - known)
        return sorted(found, key=lambda each: each.path)

    def _reachable(self, modules: Iterable[SourceModule], summaries: dict[str, SourceModule]) -> set[str]:
        """Names of the modules that were consulted, and that whatever the modules with types bring along imports.

        Modules that nobody has looked at yet are added to *summaries*.
        """
        consulted = {name for module in modules for name in module.consulted}
        pending = [*consulted, *{declared.module for module in modules for declared in module.types}]
        homes = set(pending[len(consulted) :])
        followed: set[str] = set()
        while homes:
            name = homes.pop()
            if name in followed:
                continue
            followed.add(name)
            summary = self._summary(name, summaries)
            if summary is not None:
                homes.update(summary.imports, _packages(name))
        return {name for name in consulted | followed if self._summary(name, summaries) is not None}

    def _summary(self, name: str, summaries: dict[str, SourceModule]) -> SourceModule | None:
        if name not in summaries:
            module = self._reader.finder.find(name)
            if module is None:
                return None
            summaries[name] = _summary_of(module)
        return summaries[name]


_Share = tuple[Path, tuple[Path, ...], frozenset[str], Sequence[SourceFile]]


def _read_apart(share: _Share) -> dict[str, SourceModule]:
    """A share of the files, in a process of its own."""
    root, roots, names, files = share
    reader = _ModuleReader(ModuleFinder(root, roots))
    reader.names = names
    with without_collections():
        return _read_share(reader, files)


def _read_share(reader: _ModuleReader, files: Sequence[SourceFile]) -> dict[str, SourceModule]:
    found: dict[str, SourceModule] = {}
    for each in files:
        data = read_bytes(each.file, each.path)
        text = decoded(each.path, data) if isinstance(data, bytes) else SourceText(each.path, "", "", data)
        found[each.path] = reader.read(reader.finder.add(each.module, each.is_package, text))
    for module in reader.finder.modules:
        if module.path in found:  # a later module may have looked through its star imports
            with suppress(RecursionError):  # told already
                found[module.path] = attrs.evolve(found[module.path], star_imports=star_imports(module))
        else:
            found[module.path] = _summary_of(module)
    return found


def _summary_of(module: ModuleScope) -> SourceModule:
    try:
        return _summary(module, problems=(module.problem,) if module.problem is not None else ())
    except RecursionError:
        return _unread(module)


def _merged(first: SourceModule, second: SourceModule) -> SourceModule:
    """What two shares say of one module: one has read it, or both have looked at it."""
    whole = second if second.handlers or second.consulted else first
    stars = {*first.star_imports, *second.star_imports}
    return attrs.evolve(whole, star_imports=tuple(sorted(stars, key=lambda each: (each.place, each.hides))))


def _any_of(names: Iterable[str]) -> re.Pattern[bytes]:
    return re.compile(b"|".join(re.escape(name.encode()) for name in sorted(names)))


def _renames(names: Iterable[str]) -> re.Pattern[bytes]:
    """What stands where a module may give one of *names* another name, or hand a name on that was made elsewhere."""
    any_name = _any_of(names).pattern
    return re.compile(rb"\b(?:%b)\s+as\b|=[\s(\\]*[\w.]*\b(?:%b)\b(?!\s*\()" % (any_name, any_name))


def _packages(name: str) -> Iterable[str]:
    """The packages around the module *name*, which are imported before it."""
    parts = name.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts)))
