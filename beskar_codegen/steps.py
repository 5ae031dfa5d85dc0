"""Read, validate, plan, emit, in this order, with all modules that this takes. Loaded only if something has changed."""

from __future__ import annotations

from collections.abc import Sequence

from beskar_codegen.contract import contract_of, dump
from beskar_codegen.emit import emit_descriptors
from beskar_codegen.model import GeneratedJobHandlerModel, ProjectModel, SourceModule
from beskar_codegen.outcome import Generation, JobRow, Kept
from beskar_codegen.plan import Mode, PlanSettings, plan_descriptors
from beskar_codegen.read import read_project
from beskar_codegen.read.discovery import import_roots, relative_path, source_files
from beskar_codegen.settings import Settings
from beskar_codegen.stub_files import stub_files
from beskar_codegen.validate import build_project
from beskar_codegen.version import VERSION


def run_steps(settings: Settings, kept: Kept) -> tuple[Generation, Kept]:
    """What the sources come to, and what to keep of it for the next run besides."""
    sources = read_project(settings.root, settings.source)
    model, diagnostics = build_project(sources, standalone=settings.mode == Mode.STANDALONE)
    keep = _consulted(settings, sources.modules)
    if diagnostics:
        return Generation(_rows(model), diagnostics=tuple(diagnostics)), keep
    plan_settings = PlanSettings(
        mode=Mode(settings.mode),
        descriptors=settings.descriptors,
        stubs=settings.stubs,
        line_length=settings.line_length,
        first_party=_first_party(settings, sources.modules),
        root=settings.descriptors_root,
    )
    files = {}
    if model.handlers:
        files[settings.descriptors] = emit_descriptors(plan_descriptors(model, plan_settings), version=VERSION)
    if settings.stubs:
        texts, keep["stubs"] = stub_files(settings.root, model, plan_settings, kept.get("stubs"))
        files.update(texts)
    return Generation(_rows(model), files, dump(contract_of(model))), keep


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


def _first_party(settings: Settings, modules: Sequence[SourceModule]) -> frozenset[str]:
    names = {module.module for module in modules}
    names.update(each.module for each in source_files(settings.root, settings.source))
    return frozenset(name.partition(".")[0] for name in names)
