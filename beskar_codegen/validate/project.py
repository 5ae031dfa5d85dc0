"""What is wrong between the handlers of a project, and the model of those that are right.

A handler with a diagnostic is left out of the model; the others are not held up by it, so that an editor that asks for
the model of a half-written project gets one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from beskar_codegen.breaches import breach
from beskar_codegen.model import (
    DeclaredType,
    Diagnostic,
    GeneratedJobHandlerModel,
    HandlerDeclaration,
    LiteralType,
    NamedType,
    NoneType,
    ProjectModel,
    TypeExpression,
    UnionType,
)
from beskar_codegen.read.project import ProjectSources
from beskar_codegen.validate.checks import DEFAULT_QUEUE, check_handler
from beskar_codegen.validate.imports import ImportGraph
from beskar_codegen.validate.naming import descriptor_name, is_importable, is_name
from beskar_codegen.validate.options import all_arguments
from beskar_codegen.validate.portable import Home, Portability
from beskar_codegen.validate.recurring import entry_name
from beskar_jobs.handlers import rules


def build_project(sources: ProjectSources, *, standalone: bool = False) -> tuple[ProjectModel, list[Diagnostic]]:
    """The valid handlers of *sources*, and everything that is wrong, sorted.

    Args:
        standalone: types are written into the generated module, so that it does not matter where they are defined.
    """
    return _Builder(sources, standalone).build()


class _Builder:
    def __init__(self, sources: ProjectSources, standalone: bool) -> None:
        self._sources = sources
        self._standalone = standalone
        self._modules = {module.module: module for module in sources.modules}
        self._known: dict[Home, DeclaredType] = {
            (declared.module, declared.name): declared for module in sources.modules for declared in module.types
        }
        registered = frozenset(home for module in sources.modules for home in module.registered)
        self._types = Portability(self._known, registered)
        self._found: list[Diagnostic] = list(sources.problems)
        self._wrong: set[tuple[str, str, int]] = set()

    def build(self) -> tuple[ProjectModel, list[Diagnostic]]:
        handlers = [handler for module in self._sources.modules for handler in module.handlers]
        for module in self._sources.modules:
            self._found += module.problems
            for star in module.star_imports:
                if star.hides:
                    self._found.append(breach(rules.JOBGEN014, star.place, name=star.hides, module=star.module))
        for handler in handlers:
            self._tell(handler, check_handler(handler, self._types))
            self._tell(handler, self._own_problems(handler))
        reachable = [handler for handler in handlers if handler.is_class and "<locals>" not in handler.name]
        self._doubles(reachable)
        self._double_entries(reachable)
        if not self._standalone:
            graph = ImportGraph(self._modules)
            for handler in reachable:
                self._tell(handler, self._dragged(handler, graph))
        valid = {(handler.module, handler.name): handler for handler in handlers if _key(handler) not in self._wrong}
        return self._model(valid.values()), sorted(set(self._found))

    def _tell(self, handler: HandlerDeclaration, problems: Iterable[Diagnostic]) -> None:
        told = list(problems)
        self._found += told
        if told:
            self._wrong.add(_key(handler))

    def _own_problems(self, handler: HandlerDeclaration) -> Iterator[Diagnostic]:
        """Rules about one handler that the decorator has no say in."""
        if not handler.is_class or not handler.is_called or "<locals>" in handler.name:
            return
        descriptor = descriptor_name(handler.name)
        if not is_name(descriptor):
            yield breach(rules.JOBGEN022, handler.place, handler=handler.name, descriptor=descriptor)
        if not is_importable(handler.module):
            yield breach(rules.JOBGEN018, handler.place, name=handler.name, path=handler.place.path)
        for declared in self._used(handler):
            if declared.module != handler.module and not is_importable(declared.module) and not self._standalone:
                yield breach(rules.JOBGEN018, handler.place, name=declared.name, path=declared.place.path)
            for field in declared.fields:
                if field.is_mutable_default:
                    yield breach(
                        rules.JOBGEN020,
                        field.place,
                        type=declared.name,
                        field=field.name,
                        default=field.default or "",
                    )

    def _used(self, handler: HandlerDeclaration) -> list[DeclaredType]:
        """The declared types that arguments and result are made of."""
        found: dict[Home, DeclaredType] = {}
        pending = [each for each in (handler.args_type, handler.result_type) if each is not None]
        while pending:
            for home in named_homes(pending.pop()):
                declared = self._known.get(home)
                if declared is not None and home not in found:
                    found[home] = declared
                    pending += [field.type for field in declared.fields]
                    pending += [declared.target] if declared.target is not None else []
        return [found[home] for home in sorted(found)]

    def _double_entries(self, handlers: list[HandlerDeclaration]) -> None:
        """One recurring entry of a name; a second one of the same class is told with that class."""
        entries: dict[object, HandlerDeclaration] = {}
        for handler in sorted(handlers, key=lambda each: each.place):
            for use in handler.recurring:
                named = entry_name(handler, use)
                first = handler if named is None else entries.setdefault(named.value, handler)
                if named is not None and first is not handler:
                    problem = rules.NAME_TAKEN.format(other=_place(first))
                    fields = {"handler": handler.name, "name": repr(named.value), "problem": problem}
                    self._tell(handler, [breach(rules.JOBGEN027, use.place, **fields)])

    def _doubles(self, handlers: list[HandlerDeclaration]) -> None:
        """One job type, and one descriptor name, for each class; the one that comes first keeps it."""
        types: dict[object, HandlerDeclaration] = {}
        names: dict[str, HandlerDeclaration] = {}
        for handler in sorted(handlers, key=lambda each: each.place):
            value = handler.job_type.value if handler.job_type is not None and handler.job_type.is_static else None
            if isinstance(value, str) and value.strip():
                first = types.setdefault(value, handler)
                if _is_other(first, handler):
                    assert handler.job_type is not None
                    place = handler.job_type.place
                    fields = {"job_type": value, "first": _place(first), "second": _place(handler)}
                    self._tell(handler, [breach(rules.JOBGEN005, place, **fields)])
            descriptor = descriptor_name(handler.name)
            other = names.setdefault(descriptor, handler)
            if (_is_other(other, handler) or _is_redefined(other, handler)) and is_name(descriptor):
                fields = {"handler": handler.name, "descriptor": descriptor, "other": _place(other)}
                self._tell(handler, [breach(rules.JOBGEN016, handler.place, **fields)])

    def _dragged(self, handler: HandlerDeclaration, graph: ImportGraph) -> Iterator[Diagnostic]:
        """Types that a client has to import the handlers for."""
        for declared in self._direct(handler):
            dragged = graph.handlers_behind(declared.module)
            if dragged is not None:
                yield breach(
                    rules.JOBGEN015,
                    handler.place,
                    type=declared.name,
                    handler=handler.name,
                    module=declared.module,
                    dragged=dragged,
                )

    def _direct(self, handler: HandlerDeclaration) -> list[DeclaredType]:
        """What a descriptor in import mode imports: types that the class names, and those of its arguments' fields."""
        found: dict[Home, DeclaredType] = {}
        expressions = [each for each in (handler.args_type, handler.result_type) if each is not None]
        for expression in list(expressions):
            for home in named_homes(expression):
                declared = self._known.get(home)
                if declared is not None and expression is handler.args_type:
                    expressions += [field.type for field in declared.fields]
        for expression in expressions:
            for home in named_homes(expression):
                if home in self._known:
                    found[home] = self._known[home]
        return [found[home] for home in sorted(found)]

    def _model(self, handlers: Iterable[HandlerDeclaration]) -> ProjectModel:
        made = sorted((self._generated(handler) for handler in handlers), key=lambda each: each.job_type)
        used: dict[Home, DeclaredType] = {}
        for handler in handlers:
            used.update({(declared.module, declared.name): declared for declared in self._used(handler)})
        digest = hashlib.sha256()
        for module in self._sources.modules:
            digest.update(f"{module.path}\0{module.digest}\n".encode("utf-8", "surrogateescape"))
        types = tuple(used[home] for home in sorted(used))
        return ProjectModel(tuple(made), types, self._sources.modules, digest.hexdigest())

    def _generated(self, handler: HandlerDeclaration) -> GeneratedJobHandlerModel:
        values = {argument.name: argument.value for argument in all_arguments(handler)}
        args_type = handler.args_type
        assert args_type is not None
        declared = self._known.get((args_type.module, args_type.name)) if isinstance(args_type, NamedType) else None
        result_type = None if isinstance(handler.result_type, NoneType) else handler.result_type
        priority, version = values.get("priority", 0), values.get("version", 1)
        return GeneratedJobHandlerModel(
            descriptor_name(handler.name),
            handler.module,
            handler.name,
            handler.place,
            job_type=str(values["job_type"]),
            queue=str(values.get("queue", DEFAULT_QUEUE)),
            args_type=args_type,
            result_type=result_type,
            priority=priority if isinstance(priority, int) else 0,
            version=version if isinstance(version, int) else 1,
            parameters=declared.fields if declared is not None else (),
            doc=handler.doc,
        )


def _key(handler: HandlerDeclaration) -> tuple[str, str, int]:
    return handler.module, handler.name, handler.place.line


def _is_other(first: HandlerDeclaration, second: HandlerDeclaration) -> bool:
    return (first.module, first.name) != (second.module, second.name)


def _is_redefined(first: HandlerDeclaration, second: HandlerDeclaration) -> bool:
    """Whether *second* takes the name of *first*, whose job type is another and would be lost.

    With one job type it is one handler in two branches (``try`` and ``except``), of which a run takes one.
    """
    values = [each.job_type.value for each in (first, second) if each.job_type is not None and each.job_type.is_static]
    return len(set(values)) == 2


def _place(handler: HandlerDeclaration) -> str:
    return f"{handler.module}.{handler.name} ({handler.place.path}:{handler.place.line})"


def named_homes(expression: TypeExpression) -> Iterator[Home]:
    """Homes of all classes and aliases that *expression* names."""
    if isinstance(expression, NamedType):
        yield expression.module, expression.name
        for argument in expression.arguments:
            yield from named_homes(argument)
    elif isinstance(expression, UnionType):
        for member in expression.members:
            yield from named_homes(member)
    elif isinstance(expression, LiteralType):
        for _, module, name in expression.names:
            yield module, name.rpartition(".")[0] or name
