"""What names are bound to, statement by statement, without running one.

Where branches bind one name differently, the first counts (``try`` before ``except``, ``if`` before ``else``): it is
the one that type checkers mostly see, too. Across statements the last counts. A name that only an import under
``TYPE_CHECKING`` binds is marked: at run time it is not there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Union

import attrs

from beskar_codegen.read.syntax import FUNCTIONS, TypeStatement, dotted_name, type_statement

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
    node: ast.ClassDef


@attrs.frozen(eq=False)
class ValueBinding:
    """``name = value``, ``name: annotation = value``, or neither, as for the target of a ``for``."""

    value: ast.expr | None = None
    annotation: ast.expr | None = None


@attrs.frozen(eq=False)
class AliasBinding:
    """``type name[parameters] = value``."""

    statement: TypeStatement


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
    """

    bound: dict[str, Binding] = attrs.Factory(dict)
    stars: list[tuple[str, ast.ImportFrom]] = attrs.Factory(list)
    imports: list[str] = attrs.Factory(list)
    checked: list[str] = attrs.Factory(list)


class Collector:
    """Gathers the names of one block."""

    def __init__(self, package: str) -> None:
        self._package = package
        self.names = Names()
        self._only_for_checkers = False

    def collect(self, body: Iterable[ast.stmt]) -> Names:
        for statement in body:
            is_sure = isinstance(statement, ast.Assign | ast.AnnAssign)
            for name, binding in self._bindings(statement):
                earlier = self.names.bound.get(name)
                if not is_sure and isinstance(binding, ValueBinding) and _is_set(earlier):
                    self.names.bound[name] = ValueBinding()  # one constant or another: only running tells
                else:
                    self.names.bound[name] = binding
        return self.names

    def _bindings(self, node: ast.stmt) -> Iterator[tuple[str, Binding]]:  # one case a statement
        if isinstance(node, ast.ClassDef):
            yield node.name, ClassBinding(node)
        elif isinstance(node, FUNCTIONS):
            yield node.name, FunctionBinding()
        elif isinstance(node, ast.If):
            yield from self._if(node)
        elif isinstance(node, ast.Try | ast.TryStar):
            yield from self._first_of([[*node.body, *node.orelse], *(handler.body for handler in node.handlers)])
            yield from self._block(node.finalbody)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                if item.optional_vars is not None:
                    yield from self._targets(item.optional_vars, None)
            yield from self._block(node.body)
        elif isinstance(node, ast.For | ast.AsyncFor):
            yield from self._targets(node.target, None)
            yield from self._block(node.body)
        elif isinstance(node, ast.While):
            yield from self._block(node.body)
        elif isinstance(node, ast.Match):
            yield from self._first_of([case.body for case in node.cases])
        else:
            yield from self._simple(node)

    def _block(self, body: Iterable[ast.stmt]) -> Iterator[tuple[str, Binding]]:
        for statement in body:
            yield from self._bindings(statement)

    def _first_of(self, branches: Iterable[Iterable[ast.stmt]]) -> Iterator[tuple[str, Binding]]:
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

    def _if(self, node: ast.If) -> Iterator[tuple[str, Binding]]:
        checking = _checks_types(node.test)
        if checking is None:
            yield from self._first_of(_branches(node))
            return
        branches: list[Sequence[ast.stmt]] = [node.body, node.orelse]
        before = self._only_for_checkers
        if not checking:  # "if not TYPE_CHECKING": the other branch is the checkers'
            branches.reverse()
        found: dict[str, Binding] = {}
        for branch, hidden in zip(branches, (True, before), strict=True):
            self._only_for_checkers = hidden
            for name, binding in self._block(branch):
                earlier = found.get(name)
                if hidden or earlier is None:
                    found[name] = binding
                elif isinstance(earlier, ImportBinding):
                    found[name] = attrs.evolve(earlier, only_for_checkers=before)
        self._only_for_checkers = before
        yield from found.items()

    def _simple(self, node: ast.stmt) -> Iterator[tuple[str, Binding]]:
        if isinstance(node, ast.Import):
            yield from self._import(node)
        elif isinstance(node, ast.ImportFrom):
            yield from self._import_from(node)
        elif (statement := type_statement(node)) is not None:
            yield statement.name.id, AliasBinding(statement)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from self._targets(target, node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, ValueBinding(node.value, node.annotation)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id != "__all__":
            yield node.target.id, ValueBinding()

    def _targets(self, target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, Binding]]:
        if isinstance(target, ast.Name):
            yield target.id, ValueBinding(value)
        elif isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                yield from self._targets(element, None)

    def _imported(self, module: str) -> None:
        (self.names.checked if self._only_for_checkers else self.names.imports).append(module)

    def _import(self, node: ast.Import) -> Iterator[tuple[str, Binding]]:
        for alias in node.names:
            self._imported(alias.name)
            if alias.asname is not None:
                yield alias.asname, ImportBinding(alias.name, None, self._only_for_checkers)
            else:
                head = alias.name.partition(".")[0]
                yield head, ImportBinding(head, None, self._only_for_checkers)

    def _import_from(self, node: ast.ImportFrom) -> Iterator[tuple[str, Binding]]:
        module = self._absolute(node)
        self._imported(module)
        for alias in node.names:
            if alias.name == "*":
                self.names.stars.append((module, node))
                continue
            self._imported(f"{module}.{alias.name}")  # if that is a module; who follows imports finds out
            yield alias.asname or alias.name, ImportBinding(module, alias.name, self._only_for_checkers)

    def _absolute(self, node: ast.ImportFrom) -> str:
        """The module that is imported from; dots too many leave a name that no module has."""
        name = node.module or ""
        level = node.level
        if level == 0:
            return name
        parts = self._package.split(".") if self._package else []
        if level - 1 > len(parts) or not parts:
            return "." * level + name
        parts = parts[: len(parts) - (level - 1)]
        return ".".join([*parts, name] if name else parts)


def _branches(node: ast.If) -> Iterator[Sequence[ast.stmt]]:
    """The branches of *node* and of each ``elif``, of which the tree makes an ``if`` within the one before: a chain
    of some hundred would end the recursion.
    """
    yield node.body
    while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If) and _checks_types(node.orelse[0].test) is None:
        node = node.orelse[0]
        yield node.body
    yield node.orelse


def _checks_types(test: ast.expr) -> bool | None:
    """``True`` for ``TYPE_CHECKING``, ``False`` for ``not TYPE_CHECKING``, ``None`` for another test."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _checks_types(test.operand)
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


def _is_set(binding: Binding | None) -> bool:
    """Whether *binding* gives a constant other than ``None``, or one that was already unsure."""
    if not isinstance(binding, ValueBinding):
        return False
    value = binding.value
    return value is None or (isinstance(value, ast.Constant) and value.value is not None)
