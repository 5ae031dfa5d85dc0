"""The stubs of all decorated modules. One stub depends on one source and its handlers, so that an old one can be kept.

A stub takes some milliseconds, most of them for parsing the module. From some number of modules on the work is shared
out among processes; below, starting them would cost more than they save.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from beskar_codegen.cache import digest
from beskar_codegen.emit import emit_stub
from beskar_codegen.model import Diagnostic, GeneratedJobHandlerModel, ProjectModel
from beskar_codegen.plan import PlanSettings, plan_stub, stub_modules
from beskar_codegen.processes import process_pool, usable_processes
from beskar_codegen.read.modules import nested_too_deeply
from beskar_codegen.read.surfacing import read_surface
from beskar_codegen.read.syntax import parse_source
from beskar_codegen.read.texts import decoded
from beskar_codegen.version import VERSION

PARALLEL_FROM: Final = 150
"""Stubs to be made from which on several processes do it: to start them costs as much as some forty stubs."""
_CHUNK: Final = 16


@attrs.frozen
class StubTask:
    """One decorated module whose stub is to be written."""

    root: Path
    path: str
    module: str
    is_package: bool
    data: bytes
    handlers: tuple[GeneratedJobHandlerModel, ...]
    settings: PlanSettings

    @property
    def key(self) -> str:
        """All that the stub depends on; where in the file a handler stands is not of it."""
        handlers = [attrs.evolve(each, place=attrs.evolve(each.place, line=0, column=0)) for each in self.handlers]
        return digest(b"\0".join((digest(self.data).encode(), repr(handlers).encode())))


def stub_files(
    root: Path, model: ProjectModel, settings: PlanSettings, kept: object
) -> tuple[dict[str, str], dict[str, Any], list[Diagnostic]]:
    """The stubs by path, what to keep so that those of unchanged modules need not be made again, and what is too deep.

    Args:
        kept: what an earlier call has given to keep, or anything else.
    """
    known = kept if isinstance(kept, dict) else {}
    keep: dict[str, Any] = {}
    tasks: list[tuple[str, StubTask]] = []
    for task in _tasks(root, model, settings):
        key = task.key
        entry = known.get(task.path)
        if isinstance(entry, list) and len(entry) == 3 and entry[0] == key:
            keep[task.path] = entry
        else:
            tasks.append((key, task))
    problems: list[Diagnostic] = []
    for (key, task), made in zip(tasks, _made([task for _, task in tasks]), strict=True):
        if isinstance(made, Diagnostic):
            problems.append(made)
        else:
            keep[task.path] = [key, *made]
    return {entry[1]: entry[2] for _, entry in sorted(keep.items())}, dict(sorted(keep.items())), sorted(problems)


def _tasks(root: Path, model: ProjectModel, settings: PlanSettings) -> Iterable[StubTask]:
    by_path: dict[str, list[GeneratedJobHandlerModel]] = defaultdict(list)
    for handler in model.handlers:
        by_path[handler.place.path].append(handler)
    modules = {handlers[0].module: path for path, handlers in by_path.items()}
    for module in stub_modules(modules):
        path = modules.get(module) or _package_path(module, modules)
        if not (root / path).is_file():
            continue  # a package without a file of its own
        is_package = path.endswith("__init__.py")
        yield StubTask(
            root, path, module, is_package, (root / path).read_bytes(), tuple(by_path.get(path, ())), settings
        )


def _package_path(package: str, modules: Mapping[str, str]) -> str:
    """Where the package around one of *modules* has its file."""
    module, path = next((module, path) for module, path in sorted(modules.items()) if module.startswith(package + "."))
    folder = path.removesuffix("/__init__.py") if path.endswith("/__init__.py") else path.rpartition("/")[0]
    depth = module.count(".") - package.count(".") - (0 if path.endswith("/__init__.py") else 1)
    parts = folder.split("/")
    return "/".join([*parts[: len(parts) - depth], "__init__.py"])


def _made(tasks: list[StubTask]) -> list[tuple[str, str] | Diagnostic]:
    processes = usable_processes()
    if len(tasks) < PARALLEL_FROM or processes == 1:
        return [make_stub(task) for task in tasks]
    with process_pool(processes) as pool:
        return list(pool.map(make_stub, tasks, chunksize=_CHUNK))


def make_stub(task: StubTask) -> tuple[str, str] | Diagnostic:
    """The path and the text of one stub, or why there can be none."""
    try:
        return _stub(task)
    except RecursionError:
        return nested_too_deeply(task.path)


def _stub(task: StubTask) -> tuple[str, str]:
    tree = parse_source(decoded(task.path, task.data).text)
    surface = read_surface(tree, task.module, is_package=task.is_package)
    inner = task.module.replace(".", "/") + ("/__init__.py" if task.is_package else ".py")
    folder = os.path.join(task.root, task.path.removesuffix(inner))

    def is_module(name: str) -> bool:
        place = os.path.join(folder, name.replace(".", os.sep))
        return os.path.isfile(f"{place}.py") or os.path.isfile(os.path.join(place, "__init__.py"))

    plan = plan_stub(surface, ProjectModel(handlers=task.handlers), task.settings, is_module=is_module)
    return plan.path, emit_stub(plan, version=VERSION)
