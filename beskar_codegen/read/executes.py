"""The ``execute`` method of a handler, as far as the rules ask about it."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from beskar_codegen.model import ExecuteModel, TypeExpression
from beskar_codegen.read.bases import BaseReader
from beskar_codegen.read.modules import ClassSite
from beskar_codegen.read.trees import dotted_name
from beskar_codegen.read.types import TypeReader, code

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
        for statement in site.node.body.body:
            if isinstance(statement, cst.FunctionDef) and statement.name.value == "execute":
                found = self._function(site, statement)
            elif isinstance(statement, cst.SimpleStatementLine):
                for small in statement.body:
                    value = _assigned(small)
                    if value is not None:
                        is_constant = isinstance(value, cst.BaseNumber | cst.BaseString | cst.List | cst.Dict)
                        is_constant = is_constant or code(value) in ("None", "True", "False")
                        place = site.tree.place(small)
                        found = ExecuteModel(place, False, is_method=not is_constant, is_known=is_constant)
        if found is None and "execute" in site.names.bound:  # in a branch
            return ExecuteModel(site.tree.place(site.node.name), False, is_known=False)
        return found

    def _function(self, site: ClassSite, node: cst.FunctionDef) -> ExecuteModel:
        decorators = [(dotted_name(each.decorator) or "?").rpartition(".")[2] for each in node.decorators]
        params = node.params
        positional = [*params.posonly_params, *params.params]
        return ExecuteModel(
            site.tree.place(node.name),
            node.asynchronous is not None,
            parameters=tuple((each.name.value, self._annotation(site, each.annotation)) for each in positional[1:]),
            returns=self._annotation(site, node.returns),
            is_plain=len(positional) == 2 and not params.kwonly_params and not isinstance(params.star_arg, cst.Param),
            is_method=not _NO_METHODS.intersection(decorators),
            is_known=all(each in _NO_METHODS | _HARMLESS | {"abstractmethod"} for each in decorators),
            is_abstract="abstractmethod" in decorators,
            is_generator=_is_generator(node),
            takes_context=_takes_context(params, positional),
            text=", ".join(" ".join(code(each).rstrip(", ").split()) for each in _parameters(params)),
        )

    def _annotation(self, site: ClassSite, annotation: cst.Annotation | None) -> TypeExpression | None:
        return None if annotation is None else self._types.read(site.body_scope, annotation.annotation)


def _assigned(small: cst.CSTNode) -> cst.BaseExpression | None:
    if isinstance(small, cst.Assign) and any(dotted_name(each.target) == "execute" for each in small.targets):
        return small.value
    if isinstance(small, cst.AnnAssign) and dotted_name(small.target) == "execute":
        return small.value
    return None


def _parameters(params: cst.Parameters) -> list[cst.Param]:
    star = [params.star_arg] if isinstance(params.star_arg, cst.Param) else []
    kwargs = [params.star_kwarg] if params.star_kwarg is not None else []
    return [*params.posonly_params, *params.params, *star, *params.kwonly_params, *kwargs]


def _takes_context(params: cst.Parameters, positional: Sequence[cst.Param]) -> bool:
    """Whether a call with self and one more positional argument goes through."""
    if any(each.default is None for each in params.kwonly_params):
        return False
    if isinstance(params.star_arg, cst.Param):
        return len([each for each in positional if each.default is None]) <= 2
    return len(positional) >= 2 and all(each.default is not None for each in positional[2:])


class _YieldFinder(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found = False

    def visit_Yield(self, node: cst.Yield) -> None:  # noqa: N802  # libcst's name for it
        self.found = True

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:  # noqa: N802
        return False

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:  # noqa: N802
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool:  # noqa: N802
        return False


def _is_generator(node: cst.FunctionDef) -> bool:
    finder = _YieldFinder()
    node.body.visit(finder)
    return finder.found
