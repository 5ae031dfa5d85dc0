"""Finds the source files of a project and the names of their modules. It needs no parser, so that it loads at once.

Hidden folders, virtual environments and installed packages are left out; loops of links are walked once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import attrs

from beskar_codegen.breaches import breach
from beskar_codegen.model import Diagnostic, Place
from beskar_jobs.handlers import rules

_SKIPPED_FOLDERS: Final = frozenset({"__pycache__", "node_modules", "site-packages"})


@attrs.frozen
class SourceFile:
    """A file of the project, and the module that it is."""

    name: str
    """Absolute, as the system spells it."""
    path: str
    module: str
    is_package: bool

    @property
    def file(self) -> Path:
        """Made when somebody reads it: a project has thousands of files, and paths are slow."""
        return Path(self.name)


def source_files(root: Path, source: Sequence[str]) -> list[SourceFile]:
    """The files below the folders (or files) *source* of the project in *root*, each once."""
    found: dict[str, SourceFile] = {}
    for entry in source:
        start = root / entry
        base = import_root(root, start)
        # Thousands of files: strings are cut, for paths are slow.
        inside, below = f"{root}{os.sep}", f"{base}{os.sep}"
        for name in python_files(start):
            if name not in found:
                path = name.removeprefix(inside) if name.startswith(inside) else relative_path(root, Path(name))
                inner = name.removeprefix(below) if name.startswith(below) else relative_path(base, Path(name))
                found[name] = SourceFile(name, path.replace(os.sep, "/"), *module_name(inner))
    return list(found.values())


def missing_entries(root: Path, source: Sequence[str]) -> list[Diagnostic]:
    """A diagnostic for each entry of *source* that is not there."""
    return [
        breach(rules.JOBGEN019, Place(entry), path=entry, problem="is not there")
        for entry in source
        if not (root / entry).exists()
    ]


def module_name(path: str) -> tuple[str, bool]:
    """The name of the module in *path*, relative to its import root, and whether it is a package."""
    name = path.replace(os.sep, "/").removesuffix(".py").replace("/", ".")
    if name == "__init__" or name.endswith(".__init__"):
        return name.removesuffix("__init__").rstrip("."), True
    return name, False


def import_roots(root: Path, source: Sequence[str]) -> tuple[Path, ...]:
    """Folders that top-level modules of the project lie in: those of the *source* entries, then *root*."""
    return tuple(dict.fromkeys([*(import_root(root, root / entry) for entry in source), root]))


def import_root(root: Path, start: Path) -> Path:
    """The folder from which names of modules below *start* count: the first one above that is no package.

    A folder called ``src`` that is no package holds packages and is none; any other folder that is given is one.
    """
    folder = Path(os.path.abspath(start))
    if folder.is_file():
        folder = folder.parent
    elif folder == root or (folder.name == "src" and not (folder / "__init__.py").is_file()):
        return folder
    else:
        folder = folder.parent
    while folder != root and (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return folder


def python_files(start: Path) -> Iterator[str]:
    """The ``.py`` files below *start*, sorted; hidden folders and installed packages left out, links followed once."""
    if start.is_file():
        yield os.path.abspath(start)
        return
    seen: set[str] = set()
    for folder, folders, files in os.walk(os.path.abspath(start), followlinks=True):
        real = os.path.realpath(folder)
        if real in seen or os.path.exists(os.path.join(folder, "pyvenv.cfg")):
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(each for each in folders if not each.startswith(".") and each not in _SKIPPED_FOLDERS)
        for name in sorted(files):
            if name.endswith(".py"):
                yield os.path.join(folder, name)


def relative_path(root: Path, file: Path) -> str:
    """*file* relative to *root*, with forward slashes; outside of it with as many ``..`` as it takes."""
    try:
        return file.relative_to(root).as_posix()
    except ValueError:
        return _upward(root, file)


def _upward(root: Path, file: Path) -> str:
    common = 0
    for one, other in zip(root.parts, file.parts, strict=False):
        if one != other:
            break
        common += 1
    return "/".join([".."] * (len(root.parts) - common) + list(file.parts[common:]))
