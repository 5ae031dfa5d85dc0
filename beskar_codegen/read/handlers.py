"""Finds what ``@job_handler`` stands on, anywhere in a module, and reads it as a HandlerDeclaration.

Every decorator's name is followed; those that mean ``job_handler`` count, whatever they are called here. A use that is
no decorator (``wrap = partial(job_handler, queue="mail")``, ``job_handler("x")(Cls)``) cannot be followed and is told.
So is ``@recurring`` on what is no handler.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from beskar_codegen.breaches import breach
from beskar_codegen.model import Argument, Diagnostic, HandlerDeclaration, RecurringUse
from beskar_codegen.read.bases import BaseReader
from beskar_codegen.read.docs import docstring
from beskar_codegen.read.executes import ExecuteReader
from beskar_codegen.read.modules import ClassSite, ModuleScope, bindings_of
from beskar_codegen.read.scopes import Binding, ClassBinding, Collector, ImportBinding, Scope, ValueBinding
from beskar_codegen.read.symbols import External, Resolver, known_home
from beskar_codegen.read.syntax import FUNCTIONS, Function, dotted_name, type_parameters
from beskar_codegen.read.types import TypeReader
from beskar_codegen.read.values import static_value
from beskar_jobs.handlers import rules

_SIMPLE: Final = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.Raise, ast.Pass, ast.Delete)
DECORATOR: Final = ("beskar_jobs", "job_handler")
RECURRING: Final = ("beskar_jobs", "recurring")
_DECORATOR_LINES: Final = re.compile(r"^[ \t]*(?:@|from [\w.]+ import [^(\n]*$).*", re.MULTILINE)


def is_decorator(resolver: Resolver, scope: Scope, dotted: str, wanted: tuple[str, str] = DECORATOR) -> bool:
    """Whether *dotted* means ``job_handler``, or the other name of the library that is *wanted*, in *scope*."""
    symbol = resolver.resolve(scope, dotted)
    return isinstance(symbol, External) and known_home(symbol) == wanted


def spellings(resolver: Resolver, module: ModuleScope, names: frozenset[str]) -> frozenset[str]:
    """Names at the top of *module* that mean the decorator; those that they were made from are among *names*."""
    scope = Scope(module)
    return frozenset(
        name
        for name, binding in module.names.bound.items()
        if _source_name(binding) in names and is_decorator(resolver, scope, name)
    )


def _source_name(binding: Binding) -> str | None:
    """The name that *binding* gives another name to."""
    if isinstance(binding, ImportBinding):
        return binding.name
    if isinstance(binding, ValueBinding) and binding.value is not None:
        return (dotted_name(binding.value) or "").rpartition(".")[2]
    return None


def _mentions(names: frozenset[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, names)))})\b")


class HandlerReader:
    """Reads the handlers of modules. *names* are those that lead to the decorator anywhere in the project."""

    def __init__(self, resolver: Resolver, types: TypeReader, names: frozenset[str]) -> None:
        self._resolver = resolver
        self._names = names
        self._types = types
        self._bases = BaseReader(types)
        self._executes = ExecuteReader(types, self._bases)
        self._found: list[HandlerDeclaration] = []
        self._problems: list[Diagnostic] = []

    def read(self, module: ModuleScope) -> tuple[tuple[HandlerDeclaration, ...], tuple[Diagnostic, ...]]:
        """The handlers of *module*, in the order of the file, and uses of the decorator that cannot be followed."""
        self._found, self._problems = [], []
        scope = Scope(module)
        known = self._names | {RECURRING[1]}
        mentioned = _mentions(known | spellings(self._resolver, module, self._names))
        for statement in module.body:
            text = _whole_lines(module, statement)
            if mentioned.search(text):
                self._walk([statement], scope, (), None)
                if mentioned.search(_DECORATOR_LINES.sub("", text)):
                    self._loose_uses(statement, scope)
        handlers = tuple(sorted(self._found, key=lambda each: each.place))
        return handlers, tuple(sorted(set(self._problems)))

    # -- finding -----------------------------------------------------------------------------------------------------

    def _walk(
        self, body: Iterable[ast.stmt], scope: Scope, enclosing: tuple[str, ...], outer: ClassSite | None
    ) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                self._class(node, scope, enclosing, outer)
            elif isinstance(node, FUNCTIONS):
                self._function(node, scope, enclosing)
            else:
                for block in _blocks(node):
                    self._walk(block, scope, enclosing, outer)

    def _class(self, node: ast.ClassDef, scope: Scope, enclosing: tuple[str, ...], outer: ClassSite | None) -> None:
        name = ".".join([*enclosing, node.name])
        if outer is None and not enclosing:
            site = scope.module.site(name, ClassBinding(node))
        else:
            site = ClassSite(scope, name, node)
        decorators = [each for each in node.decorator_list if self._decorates(scope, each)]
        recurring = [each for each in node.decorator_list if self._decorates(scope, each, RECURRING)]
        if decorators:
            self._found.append(self._declaration(site, enclosing, decorators, recurring))
        elif recurring:
            self._stray(scope.module, recurring[0], name, rules.RECURRING_NOT_ON_HANDLER)
        self._walk(node.body, site.body_scope, (*enclosing, node.name), site)

    def _function(self, node: Function, scope: Scope, enclosing: tuple[str, ...]) -> None:
        for decorator in node.decorator_list:
            if self._decorates(scope, decorator):
                self._found.append(self._on_function(scope.module, enclosing, node, decorator))
            elif self._decorates(scope, decorator, RECURRING):
                self._stray(scope.module, decorator, node.name, rules.RECURRING_NOT_ON_CLASS)
        compound = [each for each in node.body if not isinstance(each, _SIMPLE)]
        if compound:
            names = Collector(scope.module.package).collect(node.body)
            parameters = bindings_of(type_parameters(node))
            inner = Scope(scope.module, None, (*scope.functions, names), parameters)
            self._walk(compound, inner, (*enclosing, node.name, "<locals>"), None)

    def _decorates(self, scope: Scope, decorator: ast.expr, wanted: tuple[str, str] = DECORATOR) -> bool:
        dotted = dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
        return dotted is not None and is_decorator(self._resolver, scope, dotted, wanted)

    def _stray(self, module: ModuleScope, decorator: ast.expr, name: str, problem: str) -> None:
        """Tell of a ``@recurring`` that stands on no handler."""
        place = module.positions.place(decorator)
        self._problems.append(breach(rules.JOBGEN024, place, handler=name, problem=problem))

    def _loose_uses(self, statement: ast.stmt, scope: Scope) -> None:
        """Calls of the decorator that are no decorators: nobody can say which class they are for."""
        finder = _LooseUseFinder()
        finder.visit(statement)
        for node in finder.found:
            dotted = dotted_name(node)
            if dotted is not None and is_decorator(self._resolver, scope, dotted):
                place = scope.module.positions.place(node)
                self._problems.append(breach(rules.JOBGEN021, place, text=dotted))

    # -- reading -----------------------------------------------------------------------------------------------------

    def _declaration(
        self,
        site: ClassSite,
        enclosing: tuple[str, ...],
        decorators: Sequence[ast.expr],
        recurring: Sequence[ast.expr],
    ) -> HandlerDeclaration:
        decorator = decorators[-1]  # the one that is applied first
        call = decorator if isinstance(decorator, ast.Call) else None
        arguments = self._arguments(site.scope, call)
        bound = self._bases.bound(site)
        args_type, result_type = bound.arguments if bound.arguments is not None else (None, None)
        return HandlerDeclaration(
            site.module.name,
            site.name,
            site.place,
            site.module.positions.place(decorator),
            job_type=arguments.pop("job_type", None),
            queue=arguments.pop("queue", None),
            version=arguments.pop("version", None),
            other_arguments=tuple(arguments.values()),
            base=bound.base,
            args_type=args_type,
            result_type=result_type,
            execute=self._executes.read(site),
            is_called=call is not None,
            enclosing=enclosing,
            doc=docstring(site.node),
            is_decorated_twice=len(decorators) > 1,
            base_problem=bound.problem,
            open_base=bound.open_base,
            recurring=tuple(self._recurring(site.scope, each) for each in recurring),
        )

    def _recurring(self, scope: Scope, decorator: ast.expr) -> RecurringUse:
        call = decorator if isinstance(decorator, ast.Call) else None
        arguments = tuple(self._arguments(scope, call, "schedule").values())
        return RecurringUse(scope.module.positions.place(decorator), arguments, is_called=call is not None)

    def _on_function(
        self, module: ModuleScope, enclosing: tuple[str, ...], node: Function, decorator: ast.expr
    ) -> HandlerDeclaration:
        return HandlerDeclaration(
            module.name,
            ".".join([*enclosing, node.name]),
            module.positions.name_place(node),
            module.positions.place(decorator),
            is_class=False,
            is_called=isinstance(decorator, ast.Call),
            enclosing=enclosing,
        )

    def _arguments(self, scope: Scope, call: ast.Call | None, first: str = "job_type") -> dict[str, Argument]:
        """By name, in the order of the source; positional ones behind the *first* as ``#2``, spread ones as written."""
        if call is None:
            return {}
        given: list[tuple[str, ast.expr]] = []
        for index, argument in enumerate(call.args):
            name = first if index == 0 else f"#{index + 1}"
            if isinstance(argument, ast.Starred):
                given.append(("*", argument.value))
            else:
                given.append((name, argument))
        given += [(keyword.arg or "**", keyword.value) for keyword in call.keywords]
        given.sort(key=lambda each: (each[1].lineno, each[1].col_offset))
        return {each.name: each for each in (self._argument(scope, name, value) for name, value in given)}

    def _argument(self, scope: Scope, name: str, value: ast.expr) -> Argument:
        positions = scope.module.positions
        place = positions.place(value)
        text = " ".join(positions.code(value).split())
        if name in ("*", "**"):
            return Argument(f"{name}{text}", place, None, is_static=False, text=text)
        static = static_value(self._resolver, scope, value)
        if static is None or isinstance(static.value, bytes):
            return Argument(name, place, None, is_static=False, text=text)
        return Argument(name, place, static.value, text=text)


def _whole_lines(module: ModuleScope, statement: ast.stmt) -> str:
    """The lines that *statement* stands in, those of its decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(each.lineno for each in decorators)])
    return "\n".join(module.positions.lines[first - 1 : statement.end_lineno])


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement that is no class and no function; an ``elif`` is one of one statement."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list):
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


class _LooseUseFinder(ast.NodeVisitor):
    """Gathers names in expressions that are neither decorators nor a plain ``other = name``."""

    def __init__(self) -> None:
        self.found: list[ast.expr] = []

    def _definition(self, node: ast.AST) -> None:
        """Decorators do not count, but for their arguments; nor do annotations."""
        for decorator in getattr(node, "decorator_list", ()):
            if isinstance(decorator, ast.Call):
                for argument in (*decorator.args, *decorator.keywords):
                    self.visit(argument)
        for field, value in ast.iter_fields(node):
            if field not in ("decorator_list", "returns"):
                for each in value if isinstance(value, list) else [value]:
                    if isinstance(each, ast.AST):
                        self.visit(each)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:  # the name that ast looks for
        self._definition(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._definition(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._definition(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if dotted_name(node.value) is None:
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """An annotation at most."""

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if dotted_name(node) is None:
            self.visit(node.value)
        else:
            self.found.append(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.found.append(node)
