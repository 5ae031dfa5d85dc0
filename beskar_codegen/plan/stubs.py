"""Plans the stub of a decorated module: its public surface, and what the decorator adds to its handlers."""

from __future__ import annotations

from beskar_codegen.model import ProjectModel
from beskar_codegen.plan.expressions import modernised
from beskar_codegen.plan.plans import HandlerAddition, PlanSettings, StubPlan
from beskar_codegen.read.surface import ModuleSurface


def plan_stub(surface: ModuleSurface, model: ProjectModel, settings: PlanSettings) -> StubPlan:
    """The stub of the module that *surface* was read from; *model* tells its handlers."""
    additions = [
        HandlerAddition(
            name=handler.name,
            job_type=handler.job_type,
            args_type=modernised(handler.args_type),
            result_type=None if handler.result_type is None else modernised(handler.result_type),
        )
        for handler in model.handlers
        if handler.module == surface.module
    ]
    return StubPlan(
        path=stub_path(surface.module, settings, is_package=surface.is_package),
        surface=surface,
        additions=tuple(sorted(additions, key=lambda addition: addition.name)),
        line_length=settings.line_length,
        first_party=settings.first_party,
    )


def stub_path(module: str, settings: PlanSettings, *, is_package: bool = False) -> str:
    """Where the stub of *module* goes, relative to the root of the project."""
    inner = module.replace(".", "/") + ("/__init__.pyi" if is_package else ".pyi")
    return f"{settings.stubs.rstrip('/')}/{inner}"
