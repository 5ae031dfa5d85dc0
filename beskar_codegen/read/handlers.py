"""Finds what ``@job_handler`` stands on, anywhere in a module, and reads it as a HandlerDeclaration.

Every decorator's name is followed; those that mean ``job_handler`` count, whatever they are called here. A use that is
no decorator (``wrap = partial(job_handler, queue="mail")``, ``job_handler("x")(Cls)``) cannot be followed and is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import libcst as cst

from beskar_codegen.breaches import breach
from beskar_codegen.model import Argument, Diagnostic, HandlerDeclaration, Place
from beskar_codegen.read.bases import BaseReader
from beskar_codegen.read.docs import docstring
from beskar_codegen.read.executes import ExecuteReader
from beskar_codegen.read.modules import ClassSite, ModuleScope, type_parameters
from beskar_codegen.read.positions import blocks
from beskar_codegen.read.scopes import Binding, ClassBinding, Collector, ImportBinding, Scope, ValueBinding
from beskar_codegen.read.symbols import External, Resolver, known_home
from beskar_codegen.read.trees import Tree, dotted_name
from beskar_codegen.read.types import TypeReader, code
from beskar_codegen.read.values import static_value
from beskar_jobs.handlers import rules

DECORATOR: Final = ("beskar_jobs", "job_handler")
_DECORATOR_LINES: Final = re.compile(r"^[ \t]*(?:@|from [\w.]+ import [^(\n]*$).*", re.MULTILINE)


def is_decorator(resolver: Resolver, scope: Scope, dotted: str) -> bool:
    """Whether *dotted* means ``job_handler`` in *scope*."""
    symbol = resolver.resolve(scope, dotted)
    return isinstance(symbol, External) and known_home(symbol) == DECORATOR


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
        mentioned = _mentions(self._names | spellings(self._resolver, module, self._names))
        pieces = [(module.outline.skeleton.text, module.skeleton)]
        for chunk in module.outline.chunks:
            tree = module.tree_of(chunk) if mentioned.search(chunk.text) else None
            if tree is not None:
                pieces.append((chunk.text, tree))
        for text, tree in pieces:
            self._walk(tree, tree.module.body, scope, (), None)
            if mentioned.search(_DECORATOR_LINES.sub("", text)):
                self._loose_uses(tree, scope)
        handlers = tuple(sorted(self._found, key=lambda each: each.place))
        return handlers, tuple(sorted(set(self._problems)))

    # -- finding -----------------------------------------------------------------------------------------------------

    def _is_decorator(self, scope: Scope, dotted: str) -> bool:
        return is_decorator(self._resolver, scope, dotted)

    def _walk(
        self,
        tree: Tree,
        body: Iterable[cst.CSTNode],
        scope: Scope,
        enclosing: tuple[str, ...],
        outer: ClassSite | None,
    ) -> None:
        for node in body:
            if isinstance(node, cst.ClassDef):
                self._class(tree, node, scope, enclosing, outer)
            elif isinstance(node, cst.FunctionDef):
                self._function(tree, node, scope, enclosing)
            elif isinstance(node, cst.BaseCompoundStatement):
                for block in blocks(node):
                    self._walk(tree, block, scope, enclosing, outer)

    def _class(
        self, tree: Tree, node: cst.ClassDef, scope: Scope, enclosing: tuple[str, ...], outer: ClassSite | None
    ) -> None:
        name = ".".join([*enclosing, node.name.value])
        if outer is None and not enclosing:
            site = scope.module.site(name, ClassBinding(node, tree))
        else:
            site = ClassSite(scope, name, node, tree)
        decorators = [each for each in node.decorators if self._decorates(scope, each)]
        if decorators:
            self._found.append(self._declaration(site, enclosing, decorators))
        if any(isinstance(each, cst.BaseCompoundStatement) for each in node.body.body):
            self._walk(tree, node.body.body, site.body_scope, (*enclosing, node.name.value), site)

    def _function(self, tree: Tree, node: cst.FunctionDef, scope: Scope, enclosing: tuple[str, ...]) -> None:
        for decorator in node.decorators:
            if self._decorates(scope, decorator):
                self._found.append(self._on_function(tree, scope.module.name, enclosing, node, decorator))
        compound = [each for each in node.body.body if isinstance(each, cst.BaseCompoundStatement)]
        if compound:
            names = Collector(tree, scope.module.package).collect(node.body.body)
            inner = Scope(scope.module, None, (*scope.functions, names), type_parameters(node))
            self._walk(tree, compound, inner, (*enclosing, node.name.value, "<locals>"), None)

    def _decorates(self, scope: Scope, decorator: cst.Decorator) -> bool:
        node = decorator.decorator
        dotted = dotted_name(node.func if isinstance(node, cst.Call) else node)
        return dotted is not None and self._is_decorator(scope, dotted)

    def _loose_uses(self, tree: Tree, scope: Scope) -> None:
        """Calls of the decorator that are no decorators: nobody can say which class they are for."""
        finder = _LooseUseFinder()
        tree.module.visit(finder)
        for node in finder.found:
            dotted = dotted_name(node)
            if dotted is not None and self._is_decorator(scope, dotted):
                self._problems.append(breach(rules.JOBGEN021, tree.place(node), text=dotted))

    # -- reading -----------------------------------------------------------------------------------------------------

    def _declaration(
        self, site: ClassSite, enclosing: tuple[str, ...], decorators: Sequence[cst.Decorator]
    ) -> HandlerDeclaration:
        decorator = decorators[-1]  # the one that is applied first
        call = decorator.decorator if isinstance(decorator.decorator, cst.Call) else None
        arguments = self._arguments(site.tree, site.scope, call)
        bound = self._bases.bound(site)
        args_type, result_type = bound.arguments if bound.arguments is not None else (None, None)
        return HandlerDeclaration(
            site.module.name,
            site.name,
            site.tree.place(site.node.name),
            site.tree.place(decorator.decorator),
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
        )

    def _on_function(
        self, tree: Tree, module: str, enclosing: tuple[str, ...], node: cst.FunctionDef, decorator: cst.Decorator
    ) -> HandlerDeclaration:
        return HandlerDeclaration(
            module,
            ".".join([*enclosing, node.name.value]),
            tree.place(node.name),
            tree.place(decorator.decorator),
            is_class=False,
            is_called=isinstance(decorator.decorator, cst.Call),
            enclosing=enclosing,
        )

    def _arguments(self, tree: Tree, scope: Scope, call: cst.Call | None) -> dict[str, Argument]:
        found: dict[str, Argument] = {}
        for index, argument in enumerate(call.args if call is not None else ()):
            if argument.star:
                name = f"{argument.star}{code(argument.value)}"
            elif argument.keyword is not None:
                name = argument.keyword.value
            else:
                name = "job_type" if index == 0 else f"#{index + 1}"
            found[name] = self._argument(tree, scope, name, argument)
        return found

    def _argument(self, tree: Tree, scope: Scope, name: str, argument: cst.Arg) -> Argument:
        place: Place = tree.place(argument.value)
        text = " ".join(code(argument.value).split())
        static = static_value(self._resolver, scope, argument.value)
        if argument.star or static is None or isinstance(static.value, bytes):
            return Argument(name, place, None, is_static=False, text=text)
        return Argument(name, place, static.value, text=text)


class _LooseUseFinder(cst.CSTVisitor):
    """Gathers names in expressions that are neither decorators nor a plain ``other = name``."""

    def __init__(self) -> None:
        self.found: list[cst.BaseExpression] = []

    def visit_Decorator(self, node: cst.Decorator) -> bool:  # noqa: N802  # libcst's name for it
        if isinstance(node.decorator, cst.Call):
            for argument in node.decorator.args:
                argument.visit(self)
        return False

    def visit_Assign(self, node: cst.Assign) -> bool:  # noqa: N802
        return dotted_name(node.value) is None

    def visit_Import(self, node: cst.Import) -> bool:  # noqa: N802
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:  # noqa: N802
        return False

    def visit_Annotation(self, node: cst.Annotation) -> bool:  # noqa: N802
        return False

    def visit_Arg(self, node: cst.Arg) -> bool:  # noqa: N802
        node.value.visit(self)
        return False

    def visit_Attribute(self, node: cst.Attribute) -> bool:  # noqa: N802
        if dotted_name(node) is None:
            node.value.visit(self)
        else:
            self.found.append(node)
        return False

    def visit_Name(self, node: cst.Name) -> None:  # noqa: N802
        self.found.append(node)
