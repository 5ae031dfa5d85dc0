"""The steps in a row, for tests: sources of a project in, texts of the generated files out."""

from __future__ import annotations

from pathlib import Path

import attrs

from beskar_codegen.emit import emit_descriptors, emit_stub
from beskar_codegen.model import ProjectModel
from beskar_codegen.plan import Mode, PlanSettings, plan_descriptors, plan_stub, stub_modules
from beskar_codegen.read import read_project
from beskar_codegen.read.surfacing import read_surface
from beskar_codegen.read.syntax import parse_source
from beskar_codegen.validate import build_project

VERSION = "1.2.3"


def model_of(root: Path, *, standalone: bool = False) -> ProjectModel:
    """The handlers of the package ``app`` in *root*, which has to be without mistakes."""
    sources = read_project(root, ["app"])
    assert not sources.problems
    model, diagnostics = build_project(sources, standalone=standalone)
    assert not diagnostics
    return model


def descriptors(root: Path, settings: PlanSettings) -> str:
    """The descriptor module."""
    model = model_of(root, standalone=settings.mode is Mode.STANDALONE)
    return emit_descriptors(plan_descriptors(model, settings), version=VERSION)


def stubs(root: Path, settings: PlanSettings) -> dict[str, str]:
    """The stubs by path."""
    model = model_of(root)
    texts = {}
    for module in stub_modules(handler.module for handler in model.handlers):
        path = root / (module.replace(".", "/") + ".py")
        is_package = not path.exists()
        if is_package:
            path = path.with_suffix("") / "__init__.py"
        surface = read_surface(parse_source(path.read_text()), module, is_package=is_package)
        plan = plan_stub(
            surface, model, settings, is_module=lambda name: (root / f"{name.replace('.', '/')}.py").exists()
        )
        texts[plan.path] = emit_stub(plan, version=VERSION)
    return texts


def write(root: Path, texts: dict[str, str]) -> None:
    """Write *texts* below *root*."""
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def generate_all(root: Path, settings: PlanSettings) -> None:
    """Descriptors of both modes (``app/jobs.py``, ``client/jobs.py``) and stubs, written into *root*."""
    standalone = attrs.evolve(settings, mode=Mode.STANDALONE, descriptors="client/jobs.py")
    texts = {settings.descriptors: descriptors(root, settings), standalone.descriptors: descriptors(root, standalone)}
    write(root, {**texts, **stubs(root, settings), "client/__init__.py": ""})
