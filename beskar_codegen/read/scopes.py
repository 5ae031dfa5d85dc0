"""What names are bound to, statement by statement, without running one.

Where branches bind one name differently, the first counts (``try`` before ``except``, ``if`` before ``else``): it is
the one that type checkers mostly see, too. Across statements the last counts. A name that only an import under
``TYPE_CHECKING`` binds is marked: at run time it is not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Union

import attrs
import libcst as cst

from beskar_codegen.read.trees import Tree, dotted_name

if TYPE_CHECKING:
    from beskar_codegen.read.modules import ModuleScope


@attrs.frozen(eq=False)
class ImportBinding:
    """``import module`` (*name* is ``None``) or ``from module import name``."""

    module: str
    name: str | None
    only_for_checkers: bool


@attrs.frozen(eq=False)
class ClassBinding:
    node: cst.ClassDef
    tree: Tree


@attrs.frozen(eq=False)
class ValueBinding:
    """``name = value``, ``name: annotation = value``, or neither, as for the target of a ``for``."""

    value: cst.BaseExpression | None
    annotation: cst.BaseExpression | None
    tree: Tree


@attrs.frozen(eq=False)
class AliasBinding:
    """``type name[parameters] = value``."""

    node: cst.TypeAlias
    tree: Tree


@attrs.frozen(eq=False)
class FunctionBinding:
    """A function; never looked into."""


@attrs.frozen(eq=False)
class TypeParameterBinding:
    """``T`` of ``class X[T]``."""

    name: str


Binding = Union[ImportBinding, ClassBinding, ValueBinding, AliasBinding, FunctionBinding, TypeParameterBinding]  # noqa: UP007  # a union of classes, evaluated


@attrs.define(eq=False)
class Names:
    """What a block binds, and what it imports.

    Attributes:
        stars: ``from module import *`` as (module, statement).
        imports: modules that running the block imports.
        checked: those that only type checkers import.
        sites: the trees in which the stars stand.
    """

    bound: dict[str, Binding] = attrs.Factory(dict)
    stars: list[tuple[str, cst.ImportFrom]] = attrs.Factory(list)
    imports: list[str] = attrs.Factory(list)
    checked: list[str] = attrs.Factory(list)


class Collector:
    """Gathers the names of one block."""

    def __init__(self, tree: Tree, package: str) -> None:
        self._tree = tree
        self._package = package
        self.names = Names()
        self._only_for_checkers = False

    def collect(self, body: Iterable[cst.CSTNode]) -> Names:
        for statement in body:
            for name, binding in self._bindings(statement):
                self.names.bound[name] = binding
        return self.names

    def _bindings(self, node: cst.CSTNode) -> Iterator[tuple[str, Binding]]:  # noqa: PLR0912  # one case a statement
        if isinstance(node, cst.SimpleStatementLine):
            for small in node.body:
                yield from self._simple(small)
        elif isinstance(node, cst.ClassDef):
            yield node.name.value, ClassBinding(node, self._tree)
        elif isinstance(node, cst.FunctionDef):
            yield node.name.value, FunctionBinding()
        elif isinstance(node, cst.If):
            yield from self._if(node)
        elif isinstance(node, cst.Try | cst.TryStar):
            branches: list[Sequence[cst.CSTNode]] = [node.body.body]
            if node.orelse is not None:
                branches[0] = [*node.body.body, *node.orelse.body.body]
            branches.extend(handler.body.body for handler in node.handlers)
            yield from self._first_of(branches)
            if node.finalbody is not None:
                yield from self._block(node.finalbody.body.body)
        elif isinstance(node, cst.With):
            for item in node.items:
                if item.asname is not None:
                    yield from self._targets(item.asname.name, None)
            yield from self._block(node.body.body)
        elif isinstance(node, cst.For | cst.While):
            if isinstance(node, cst.For):
                yield from self._targets(node.target, None)
            yield from self._block(node.body.body)
        elif isinstance(node, cst.Match):
            yield from self._first_of([case.body.body for case in node.cases])

    def _block(self, body: Iterable[cst.CSTNode]) -> Iterator[tuple[str, Binding]]:
        for statement in body:
            yield from self._bindings(statement)

    def _first_of(self, branches: Iterable[Iterable[cst.CSTNode]]) -> Iterator[tuple[str, Binding]]:
        found: dict[str, Binding] = {}
        for branch in branches:
            mine = dict(self._block(branch))
            for name, binding in mine.items():
                earlier = found.get(name)
                if earlier is None:
                    found[name] = binding
                elif isinstance(earlier, ImportBinding) and earlier.only_for_checkers:
                    found[name] = attrs.evolve(earlier, only_for_checkers=False)
        yield from found.items()

    def _if(self, node: cst.If) -> Iterator[tuple[str, Binding]]:
        checking = _checks_types(node.test)
        branches: list[Iterable[cst.CSTNode]] = [node.body.body]
        rest = node.orelse
        if isinstance(rest, cst.Else):
            branches.append(rest.body.body)
        elif isinstance(rest, cst.If):
            branches.append([rest])
        if checking is None:
            yield from self._first_of(branches)
            return
        before = self._only_for_checkers
        if not checking:  # "if not TYPE_CHECKING": the other branch is the checkers'
            branches = [branches[1] if len(branches) > 1 else [], branches[0]]
        found: dict[str, Binding] = {}
        for branch, hidden in zip(branches, (True, before), strict=False):
            self._only_for_checkers = hidden
            for name, binding in self._block(branch):
                earlier = found.get(name)
                if hidden or earlier is None:
                    found[name] = binding
                elif isinstance(earlier, ImportBinding):
                    found[name] = attrs.evolve(earlier, only_for_checkers=before)
        self._only_for_checkers = before
        yield from found.items()

    def _simple(self, small: cst.CSTNode) -> Iterator[tuple[str, Binding]]:
        if isinstance(small, cst.Import):
            yield from self._import(small)
        elif isinstance(small, cst.ImportFrom):
            yield from self._import_from(small)
        elif isinstance(small, cst.Assign):
            for target in small.targets:
                yield from self._targets(target.target, small.value)
        elif isinstance(small, cst.AnnAssign):
            if isinstance(small.target, cst.Name):
                yield small.target.value, ValueBinding(small.value, small.annotation.annotation, self._tree)
        elif isinstance(small, cst.TypeAlias):
            yield small.name.value, AliasBinding(small, self._tree)

    def _targets(self, target: cst.BaseExpression, value: cst.BaseExpression | None) -> Iterator[tuple[str, Binding]]:
        if isinstance(target, cst.Name):
            yield target.value, ValueBinding(value, None, self._tree)
        elif isinstance(target, cst.Tuple | cst.List):
            for element in target.elements:
                yield from self._targets(element.value, None)

    def _imported(self, module: str) -> None:
        (self.names.checked if self._only_for_checkers else self.names.imports).append(module)

    def _import(self, node: cst.Import) -> Iterator[tuple[str, Binding]]:
        for alias in node.names:
            module = dotted_name(alias.name) or ""
            self._imported(module)
            bound = alias.asname.name if alias.asname is not None else None
            if isinstance(bound, cst.Name):
                yield bound.value, ImportBinding(module, None, self._only_for_checkers)
            else:
                head = module.partition(".")[0]
                yield head, ImportBinding(head, None, self._only_for_checkers)

    def _import_from(self, node: cst.ImportFrom) -> Iterator[tuple[str, Binding]]:
        module = self.absolute(node)
        if isinstance(node.names, cst.ImportStar):
            self._imported(module)
            self.names.stars.append((module, node))
            return
        self._imported(module)
        for alias in node.names:
            name = dotted_name(alias.name) or ""
            self._imported(f"{module}.{name}")  # if that is a module; who follows imports finds out
            bound = alias.asname.name if alias.asname is not None else alias.name
            if isinstance(bound, cst.Name):
                yield bound.value, ImportBinding(module, name, self._only_for_checkers)

    def absolute(self, node: cst.ImportFrom) -> str:
        """The module that is imported from; dots too many leave a name that no module has."""
        name = dotted_name(node.module) or "" if node.module is not None else ""
        level = len(node.relative)
        if level == 0:
            return name
        parts = self._package.split(".") if self._package else []
        if level - 1 > len(parts) or not parts:
            return "." * level + name
        parts = parts[: len(parts) - (level - 1)]
        return ".".join([*parts, name] if name else parts)


def _checks_types(test: cst.BaseExpression) -> bool | None:
    """``True`` for ``TYPE_CHECKING``, ``False`` for ``not TYPE_CHECKING``, ``None`` for another test."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        inner = _checks_types(test.expression)
        return None if inner is None else not inner
    name = dotted_name(test)
    return True if name is not None and name.rpartition(".")[2] == "TYPE_CHECKING" else None


@attrs.frozen(eq=False)
class Scope:
    """Where a name is looked up: in the class whose body it stands in, the functions around, and the module."""

    module: ModuleScope
    block: Names | None = None
    functions: tuple[Names, ...] = ()
    parameters: tuple[tuple[str, Binding], ...] = ()

    def find(self, name: str) -> Binding | None:
        """The binding of *name*, innermost first; ``None`` if none of these has one."""
        if self.block is not None and name in self.block.bound:
            return self.block.bound[name]
        for known, binding in self.parameters:
            if known == name:
                return binding
        for names in reversed(self.functions):
            if name in names.bound:
                return names.bound[name]
        return self.module.find(name)
