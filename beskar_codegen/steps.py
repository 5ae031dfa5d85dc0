"""Read, validate, plan, emit, in this order, with all modules that this takes. Loaded only if something has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from beskar_codegen.cache import Cache
from beskar_codegen.contract import contract_of, dump
from beskar_codegen.emit import emit_descriptors
from beskar_codegen.generation import surroundings_are_as_they_were
from beskar_codegen.known_modules import keep_modules, load_known, same_meaning
from beskar_codegen.model import GeneratedJobHandlerModel, Place, ProjectModel, SourceModule
from beskar_codegen.outcome import Generation, JobRow, Kept, from_plain
from beskar_codegen.plan import Mode, PlanSettings, plan_descriptors
from beskar_codegen.read import ProjectSources, read_project
from beskar_codegen.read.discovery import import_roots, relative_path, source_files
from beskar_codegen.read.project import read_again, without_collections
from beskar_codegen.settings import Settings
from beskar_codegen.stub_files import stub_files
from beskar_codegen.validate import build_project
from beskar_codegen.version import VERSION

_MAX_CHANGED: Final = 20
"""Changed files up to which it is worth a try whether only bodies have changed."""


def run(settings: Settings, kept: Kept, digests: Mapping[str, str], cache: Cache) -> tuple[Generation, Kept]:
    """What the sources come to, and what to keep of it for the next run besides.

    Args:
        kept: what the last run has kept.
        digests: of all source files, by path.
        cache: of the modules that were read.
    """
    with without_collections():
        return _with_other_bodies(settings, kept, digests) or _anew(settings, kept, digests, cache)


def _anew(settings: Settings, kept: Kept, digests: Mapping[str, str], cache: Cache) -> tuple[Generation, Kept]:
    known = load_known(settings, digests, cache)
    sources = read_project(settings.root, settings.source, known=known.modules)
    model, diagnostics = build_project(sources, standalone=settings.mode == Mode.STANDALONE)
    keep = _consulted(settings, sources.modules)
    keep["meanings"] = keep_modules(sources.modules, known, keep, digests, cache)
    keep["names"] = list(sources.names)
    if diagnostics:
        return Generation(_rows(model), diagnostics=tuple(diagnostics)), keep
    plan_settings = _plan_settings(settings)
    files = {}
    if model.handlers:
        files[settings.descriptors] = emit_descriptors(plan_descriptors(model, plan_settings), version=VERSION)
    if settings.stubs:
        texts, keep["stubs"], problems = stub_files(settings.root, model, plan_settings, kept.get("stubs"))
        if problems:
            return Generation(_rows(model), diagnostics=tuple(problems)), keep
        files.update(texts)
    return Generation(_rows(model), files, dump(contract_of(model))), keep


def _with_other_bodies(settings: Settings, kept: Kept, digests: Mapping[str, str]) -> tuple[Generation, Kept] | None:
    """The outcome of a project in which nothing has changed but what no declaration says: bodies, comments, places.

    Everything that was generated holds then, but for the stubs of the changed modules. ``None`` if more has changed.
    """
    outcome, meanings, stubs, names = from_plain(kept), kept.get("meanings"), kept.get("stubs", {}), kept.get("names")
    before = kept.get("digests")
    if outcome is None or outcome.diagnostics or not isinstance(before, dict) or set(before) != set(digests):
        return None
    if not (isinstance(meanings, dict) and isinstance(stubs, dict) and isinstance(names, list)):
        return None
    changed = {path for path, each in digests.items() if before[path] != each}
    if len(changed) > _MAX_CHANGED or not surroundings_are_as_they_were(settings.root, kept, digests):
        return None
    modules = {meanings[path][0] for path in changed if path in meanings}
    affected = {path for path, (_, _, consulted) in meanings.items() if not modules.isdisjoint(consulted)}
    found = read_again(settings.root, settings.source, changed | affected, names, known=meanings)
    if found is None or not all(same_meaning(module, meanings) for module in found.values()):
        return None
    read = [module for module in found.values() if module.handlers]
    if any(path in stubs for path in changed.difference(module.path for module in read)):
        return None  # the file of a package, which has a stub for the sake of others
    model, _ = build_project(ProjectSources(tuple(read)), standalone=True)
    places = {(module.module, each.name): each.place for module in read for each in module.handlers}
    rows = tuple(_moved(row, places) for row in outcome.jobs)
    files = dict(outcome.files)
    if settings.stubs:
        texts, fresh, problems = stub_files(settings.root, model, _plan_settings(settings), stubs)
        if problems:
            return None
        files.update(texts)
        stubs = {**stubs, **fresh}
    keep: Kept = {key: kept[key] for key in ("absent", "names", "meanings") if key in kept}
    keep["consulted"] = {**kept["consulted"], **{path: digests[path] for path in changed if path in kept["consulted"]}}
    return attrs.evolve(outcome, jobs=rows, files=files, from_cache=False), {**keep, "stubs": stubs}


def _moved(row: JobRow, places: Mapping[tuple[str, str], Place]) -> JobRow:
    for (module, name), place in places.items():
        if row.handler == f"{module}.{name}":
            return attrs.evolve(row, line=place.line, column=place.column)
    return row


def _plan_settings(settings: Settings) -> PlanSettings:
    names = {each.module for each in source_files(settings.root, settings.source)}
    return PlanSettings(
        mode=Mode(settings.mode),
        descriptors=settings.descriptors,
        stubs=settings.stubs,
        line_length=settings.line_length,
        first_party=frozenset(name.partition(".")[0] for name in names),
        root=settings.descriptors_root,
    )


def _rows(model: ProjectModel) -> tuple[JobRow, ...]:
    from beskar_codegen.contract.schema import type_text  # noqa: PLC0415

    def row(handler: GeneratedJobHandlerModel) -> JobRow:
        place = handler.place
        return JobRow(
            job_type=handler.job_type,
            queue=handler.queue,
            version=handler.version,
            handler=f"{handler.module}.{handler.name}",
            descriptor=handler.descriptor,
            arguments=type_text(handler.args_type),
            result="None" if handler.result_type is None else type_text(handler.result_type),
            path=place.path,
            line=place.line,
            column=place.column,
        )

    return tuple(row(handler) for handler in model.handlers)


def _consulted(settings: Settings, modules: Sequence[SourceModule]) -> Kept:
    """The files that were read, by digest, and those that were looked for in vain."""
    present = {module.module for module in modules}
    absent = sorted({name for module in modules for name in module.consulted}.difference(present))
    roots = import_roots(settings.root, settings.source)
    candidates = [
        relative_path(settings.root, root / name)
        for root in roots
        for module in absent
        for name in (module.replace(".", "/") + ".py", module.replace(".", "/") + "/__init__.py")
    ]
    return {
        "consulted": {module.path: module.digest for module in modules if module.digest},
        "absent": [path for path in candidates if not (settings.root / path).exists()],
    }
