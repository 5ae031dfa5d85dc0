"""The ``execute`` method of a handler, as far as the rules ask about it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from beskar_codegen.model import ExecuteModel, TypeExpression
from beskar_codegen.read.bases import BaseReader
from beskar_codegen.read.modules import ClassSite
from beskar_codegen.read.syntax import FUNCTIONS, Function, dotted_name, is_generator
from beskar_codegen.read.types import TypeReader

_NO_METHODS = {"staticmethod", "classmethod", "property", "cached_property"}
_HARMLESS = {"override", "final", "no_type_check"}


class ExecuteReader:
    """Finds and reads ``execute``, the class's own or an inherited one."""

    def __init__(self, types: TypeReader, bases: BaseReader) -> None:
        self._types = types
        self._bases = bases

    def read(self, site: ClassSite) -> ExecuteModel | None:
        """The ``execute`` that calls on *site* would reach; ``None`` if the project has none."""
        for owner in self._bases.lineage(site):
            found = self._own(owner)
            if found is not None:
                return found
        return None

    def _own(self, site: ClassSite) -> ExecuteModel | None:
        found: ExecuteModel | None = None
        for statement in site.node.body:
            if isinstance(statement, FUNCTIONS):
                if statement.name == "execute":
                    found = self._function(site, statement)
                continue
            value = _assigned(statement)
            if value is not None:
                is_constant = isinstance(value, ast.JoinedStr | ast.List | ast.Dict) or (
                    isinstance(value, ast.Constant) and value.value is not Ellipsis
                )
                place = site.module.positions.place(statement)
                found = ExecuteModel(place, False, is_method=not is_constant, is_known=is_constant)
        if found is None and "execute" in site.names.bound:  # in a branch
            return ExecuteModel(site.place, False, is_known=False)
        return found

    def _function(self, site: ClassSite, node: Function) -> ExecuteModel:
        decorators = [(dotted_name(each) or "?").rpartition(".")[2] for each in node.decorator_list]
        params = node.args
        positional = [*params.posonlyargs, *params.args]
        return ExecuteModel(
            site.module.positions.name_place(node),
            isinstance(node, ast.AsyncFunctionDef),
            parameters=tuple((each.arg, self._annotation(site, each.annotation)) for each in positional[1:]),
            returns=self._annotation(site, node.returns),
            is_plain=len(positional) == 2 and not params.kwonlyargs and params.vararg is None,
            is_method=not _NO_METHODS.intersection(decorators),
            is_known=all(each in _NO_METHODS | _HARMLESS | {"abstractmethod"} for each in decorators),
            is_abstract="abstractmethod" in decorators,
            is_generator=_yields(site, node),
            takes_context=_takes_context(params),
            text=", ".join(_parameters(site, params)),
        )

    def _annotation(self, site: ClassSite, annotation: ast.expr | None) -> TypeExpression | None:
        return None if annotation is None else self._types.read(site.body_scope, annotation)


def _assigned(statement: ast.stmt) -> ast.expr | None:
    if isinstance(statement, ast.Assign) and any(dotted_name(each) == "execute" for each in statement.targets):
        return statement.value
    if isinstance(statement, ast.AnnAssign) and dotted_name(statement.target) == "execute":
        return statement.value
    return None


def _parameters(site: ClassSite, params: ast.arguments) -> Iterator[str]:
    """Each parameter as written, in one line."""
    code = site.module.positions.code

    def written(parameter: ast.arg, default: ast.expr | None = None, stars: str = "") -> str:
        text = stars + " ".join(code(parameter).split())
        if default is None:
            return text
        return f"{text}{' = ' if parameter.annotation is not None else '='}{' '.join(code(default).split())}"

    positional = [*params.posonlyargs, *params.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(params.defaults))
    yield from map(written, positional, [*missing, *params.defaults])
    if params.vararg is not None:
        yield written(params.vararg, stars="*")
    yield from map(written, params.kwonlyargs, params.kw_defaults)
    if params.kwarg is not None:
        yield written(params.kwarg, stars="**")


def _takes_context(params: ast.arguments) -> bool:
    """Whether a call with self and one more positional argument goes through."""
    if any(default is None for default in params.kw_defaults):
        return False
    positional = len(params.posonlyargs) + len(params.args)
    required = positional - len(params.defaults)
    return required <= 2 and (params.vararg is not None or positional >= 2)


def _yields(site: ClassSite, node: Function) -> bool:
    lines = site.module.positions.lines[node.lineno - 1 : node.end_lineno]
    return any("yield" in line for line in lines) and is_generator(node)  # most bodies need not be gone through
