"""Plans the stub of a decorated module: its public surface, and what the decorator adds to its handlers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence

from beskar_codegen.model import ProjectModel
from beskar_codegen.plan.expressions import modernised
from beskar_codegen.plan.plans import HandlerAddition, PlanSettings, StubPlan
from beskar_codegen.read.surface import ClassSurface, ConditionSurface, FunctionSurface, Item, ModuleSurface
from beskar_codegen.read.surface_values import last_name
from beskar_codegen.read.syntax import dotted_name

_HANDLER_BASES = {"JobHandler", "JobHandlerWithResult", "HandlerBase"}


def plan_stub(
    surface: ModuleSurface,
    model: ProjectModel,
    settings: PlanSettings,
    *,
    is_module: Callable[[str], bool] = lambda _: False,
) -> StubPlan:
    """The stub of the module that *surface* was read from; *model* tells its handlers.

    Args:
        is_module: whether the project has a module of that dotted name.
    """
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
        abstract=_abstract(surface),
        modules=tuple(
            (imported.bound, f"{imported.module}.{imported.name}")
            for imported in surface.imports
            if imported.name and is_module(f"{imported.module}.{imported.name}")
        ),
        line_length=settings.line_length,
        first_party=settings.first_party,
    )


def stub_modules(handler_modules: Iterable[str]) -> tuple[str, ...]:
    """The modules to write stubs of: those with handlers, and the packages they are in.

    A type checker takes the module of a regular package from a folder of stubs only if the package itself has a stub
    there. A package without an ``__init__.py`` needs none.
    """
    found = set(handler_modules)
    for module in tuple(found):
        parts = module.split(".")
        found.update(".".join(parts[:count]) for count in range(1, len(parts)))
    return tuple(sorted(found))


def stub_path(module: str, settings: PlanSettings, *, is_package: bool = False) -> str:
    """Where the stub of *module* goes, relative to the root of the project."""
    inner = module.replace(".", "/") + ("/__init__.pyi" if is_package else ".pyi")
    return f"{settings.stubs.rstrip('/')}/{inner}"


def _abstract(surface: ModuleSurface) -> tuple[str, ...]:
    """Classes that leave abstract methods open, their own or those of a handler base, and have not ABC as a base."""
    homes = {imported.bound: imported.name or imported.module for imported in surface.imports}
    open_methods: dict[str, frozenset[str]] = {}
    found = []
    for name, item in _classes(surface.items, ""):
        inherited = frozenset[str]()
        says_so = any("ABCMeta" in ast.unparse(keyword.value) for keyword in item.keywords)
        for base in item.bases:
            spelled = dotted_name(base.value if isinstance(base, ast.Subscript) else base) or ""
            head, _, rest = spelled.partition(".")
            home = (rest or homes.get(head, head)).rpartition(".")[2]
            says_so = says_so or "ABC" in home or home == "Protocol"
            inherited |= {"execute"} if home in _HANDLER_BASES else open_methods.get(spelled, frozenset())
        open_methods[name] = (inherited - _defined(item)) | _left_open(item)
        if open_methods[name] and not says_so:
            found.append(name)
    return tuple(sorted(found))


def _classes(items: Sequence[Item], within: str) -> Iterator[tuple[str, ClassSurface]]:
    for item in items:
        if isinstance(item, ClassSurface):
            yield within + item.name, item
            yield from _classes(item.body, f"{within}{item.name}.")


def _defined(item: ClassSurface) -> frozenset[str]:
    return frozenset(each.name for each in item.body if not isinstance(each, ConditionSurface))


def _left_open(item: ClassSurface) -> frozenset[str]:
    return frozenset(
        each.name
        for each in item.body
        if isinstance(each, FunctionSurface) and any(last_name(d) == "abstractmethod" for d in each.decorators)
    )
