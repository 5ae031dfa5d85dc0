"""Reads the surface of a module: a pass over its statements that keeps declarations and drops what they do.

Names are not followed here: a stub imports what its module imports. Branches that only a type checker takes are taken,
choices by version or platform are kept, of other branches the first declaration of a name counts. What has no
annotation gets the type that its value shows, else ``Incomplete``, as stubs by hand do.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from typing import Final

import libcst as cst

from beskar_codegen.read.surface import (
    ClassSurface,
    ConditionSurface,
    FunctionSurface,
    ImportedName,
    Item,
    ModuleSurface,
    ParameterSurface,
    StatementSurface,
    VariableSurface,
)
from beskar_codegen.read.surface_bodies import gives_back, is_generator, self_variables
from beskar_codegen.read.surface_values import (
    INCOMPLETE,
    TYPE_ALIAS,
    called,
    is_alias,
    is_declaring,
    short,
    type_of,
)

_CHECKED_BY_CHECKERS: Final = ("sys.version_info", "sys.platform")
_FIELD_MAKERS: Final = frozenset({"field", "ib", "attrib", "Factory"})
_REPEATABLE: Final = ("overload", "setter", "deleter", "getter", "register", "default", "validator")
_CACHES: Final = frozenset({"lru_cache", "cache"})
_WORD: Final = re.compile(r"\w+")


def read_surface(text: str, module: str, *, is_package: bool = False) -> ModuleSurface:
    """The surface of the module whose source is *text*.

    Raises:
        libcst.ParserSyntaxError: *text* is no Python.
    """
    tree = cst.parse_module(text)
    reader = _Reader(tree, module, is_package=is_package)
    scope = _Scope()
    reader.read(tree.body, scope)
    return ModuleSurface(
        module=module,
        imports=tuple(reader.imports),
        items=tuple(scope.items),
        exported=reader.exported,
        is_package=is_package,
    )


class _Scope:
    """The declarations of a module or class, in order; *kind* tells what an assignment means in it."""

    def __init__(self, kind: str = "") -> None:
        self.kind = kind
        self.items: list[Item] = []
        self.names: dict[str, int] = {}

    def add(self, item: Item, *, first_wins: bool = False) -> None:
        name = "" if isinstance(item, ConditionSurface) else item.name
        repeatable = isinstance(item, FunctionSurface) and _is_repeatable(item)
        place = self.names.get(name)
        if place is None or repeatable or not name or isinstance(item, StatementSurface):
            self.names.setdefault(name, len(self.items))
            self.items.append(item)
        elif not first_wins and place >= 0 and not _is_overloaded(self.items[place]):
            self.items[place] = item  # of overloads, the implementation is no part of a stub


def _is_repeatable(item: FunctionSurface) -> bool:
    return any(decorator.split("(")[0].rpartition(".")[2] in _REPEATABLE for decorator in item.decorators)


def _is_overloaded(item: Item) -> bool:
    return isinstance(item, FunctionSurface) and any(d.rpartition(".")[2] == "overload" for d in item.decorators)


class _Reader:
    def __init__(self, tree: cst.Module, module: str, *, is_package: bool) -> None:
        self._tree = tree
        self._package = module.split(".") if is_package else module.split(".")[:-1]
        self.imports: list[ImportedName] = []
        self.exported: tuple[str, ...] | None = None
        self._classes: set[str] = set()

    def read(self, statements: Iterable[cst.CSTNode], scope: _Scope, *, first_wins: bool = False) -> None:
        for statement in statements:
            match statement:
                case cst.SimpleStatementLine(body=parts):
                    for part in parts:
                        self._simple(part, scope, first_wins)
                case cst.FunctionDef():
                    scope.add(self._function(statement, scope), first_wins=first_wins)
                case cst.ClassDef():
                    scope.add(self._class(statement), first_wins=first_wins)
                    self._classes.add(statement.name.value)
                case cst.If():
                    self._if(statement, scope, first_wins)
                case cst.Try() | cst.TryStar():
                    self.read(statement.body.body, scope, first_wins=first_wins)
                    for handler in statement.handlers:
                        self.read(handler.body.body, scope, first_wins=True)
                    if statement.orelse is not None:
                        self.read(statement.orelse.body.body, scope, first_wins=True)
                case cst.With():
                    self.read(statement.body.body, scope, first_wins=first_wins)
                case _:
                    pass

    def _code(self, node: cst.CSTNode) -> str:
        return self._tree.code_for_node(node).strip()

    # -- statements ----------------------------------------------------------------------------------------------------

    def _if(self, statement: cst.If, scope: _Scope, first_wins: bool) -> None:
        test = self._code(statement.test)
        otherwise: Sequence[cst.CSTNode] = ()
        if isinstance(statement.orelse, cst.Else):
            otherwise = statement.orelse.body.body
        elif isinstance(statement.orelse, cst.If):
            otherwise = [statement.orelse]
        if test.endswith("TYPE_CHECKING"):
            taken = otherwise if test.startswith("not ") else statement.body.body
            self.read(taken, scope, first_wins=first_wins)
        elif "__name__" in test:
            return
        elif any(word in test for word in _CHECKED_BY_CHECKERS):
            body, other = _Scope(scope.kind), _Scope(scope.kind)
            self.read(statement.body.body, body)
            self.read(otherwise, other)
            if body.items or other.items:
                scope.add(ConditionSurface(test, tuple(body.items), tuple(other.items)))
        else:
            self.read(statement.body.body, scope, first_wins=first_wins)
            self.read(otherwise, scope, first_wins=True)

    def _simple(self, part: cst.BaseSmallStatement, scope: _Scope, first_wins: bool) -> None:
        match part:
            case cst.Import(names=names):
                for alias in names:
                    dotted = self._code(alias.name)
                    bound = alias.evaluated_alias or dotted.partition(".")[0]
                    self._imported(ImportedName(bound, dotted), scope)
            case cst.ImportFrom():
                self._import_from(part, scope)
            case cst.TypeAlias():
                self._classes.add(part.name.value)
                scope.add(StatementSurface(part.name.value, " ".join(self._code(part).split())))
            case cst.AnnAssign(target=cst.Name(value=name)):
                value = "" if part.value is None else self._code(part.value)
                item = self._annotated(name, self._code(part.annotation.annotation), value, scope)
                scope.add(item, first_wins=first_wins)
            case cst.Assign():
                for target in part.targets:
                    self._assigned(target.target, self._code(part.value), scope, first_wins)
            case cst.AugAssign(target=cst.Name(value="__all__")):
                self.exported = None
                scope.add(StatementSurface("__all__", self._code(part)))
            case _:
                pass

    def _imported(self, imported: ImportedName, scope: _Scope) -> None:
        if imported.module == "__future__" or imported in self.imports:
            return
        if imported.bound[:1].isupper():
            self._classes.add(imported.bound)
        if any(known.bound == imported.bound and known.name for known in self.imports):
            return  # the other branch of a try: the first one counts
        self.imports.append(imported)
        scope.names.setdefault(imported.bound, -1)

    def _import_from(self, part: cst.ImportFrom, scope: _Scope) -> None:
        module = "" if part.module is None else self._code(part.module)
        if part.relative:
            up = len(part.relative) - 1
            base = self._package[: len(self._package) - up]
            module = ".".join([*base, module] if module else base)
        if isinstance(part.names, cst.ImportStar):
            self._imported(ImportedName("*", module, "*"), scope)
            return
        for alias in part.names:
            name = self._code(alias.name)
            self._imported(ImportedName(alias.evaluated_alias or name, module, name), scope)

    # -- variables -----------------------------------------------------------------------------------------------------

    def _annotated(self, name: str, annotation: str, value: str, scope: _Scope) -> VariableSurface:
        last = annotation.rpartition(".")[2]
        if last == "TypeAlias":
            self._classes.add(name)
            return VariableSurface(name, annotation, value)
        if last == "Final" and value:
            shown = short(value)
            return (
                VariableSurface(name, annotation, shown)
                if shown != "..."
                else VariableSurface(name, f"{annotation}[{type_of(value)}]")
            )
        if scope.kind == "fields" and value:
            return VariableSurface(name, annotation, value if called(value) in _FIELD_MAKERS else short(value))
        return VariableSurface(name, annotation)

    def _assigned(self, target: cst.BaseExpression, value: str, scope: _Scope, first_wins: bool) -> None:
        if isinstance(target, cst.Tuple | cst.List):
            for element in target.elements:
                self._assigned(element.value, "...", scope, first_wins)
            return
        if not isinstance(target, cst.Name):
            return
        name = target.value
        if scope.names.get(name) == -1:
            return  # imported already: the fall-back of a try
        if name == "__all__":
            self.exported = _strings(value)
            item = VariableSurface(
                name, "" if self.exported is not None else "list[str]", value if self.exported is not None else ""
            )
        else:
            item = self._unannotated(name, value, scope)
        scope.add(item, first_wins=first_wins)

    def _unannotated(self, name: str, value: str, scope: _Scope) -> VariableSurface:
        if scope.kind == "enum" and not name.startswith("_"):
            kept = value if called(value) == "auto" else short(value)
            return VariableSurface(name, value=kept)
        if scope.kind == "fields" and called(value) in _FIELD_MAKERS:
            return VariableSurface(name, value=value)
        if name == "__slots__":
            return VariableSurface(name, value=value)
        if is_declaring(value):
            self._classes.add(name)
            return VariableSurface(name, value=value)
        if is_alias(value, frozenset(self._classes)):
            self._classes.add(name)
            return VariableSurface(name, TYPE_ALIAS, value)
        declared = {item.name for item in scope.items if isinstance(item, FunctionSurface)}
        if value in declared:
            return VariableSurface(name, value=value)
        return VariableSurface(name, type_of(value))

    # -- functions and classes -----------------------------------------------------------------------------------------

    def _function(self, node: cst.FunctionDef, scope: _Scope) -> FunctionSurface:
        decorators = tuple(self._code(decorator.decorator) for decorator in node.decorators)
        # What these make keeps no parameters for type checkers, although it has them.
        decorators = tuple(d for d in decorators if d.partition("(")[0].rpartition(".")[2] not in _CACHES)
        in_class = scope.kind != "" and "staticmethod" not in decorators
        if node.returns is not None:
            returns = self._code(node.returns.annotation)
        elif node.name.value == "__init__" or not gives_back(node):
            returns = "None"
        else:
            returns = INCOMPLETE
        return FunctionSurface(
            name=node.name.value,
            parameters=tuple(self._parameters(node.params, has_self=in_class)),
            returns=returns,
            # An async generator is called, not awaited.
            is_async=node.asynchronous is not None and not is_generator(node),
            decorators=decorators,
            type_parameters="" if node.type_parameters is None else self._code(node.type_parameters),
        )

    def _parameters(self, node: cst.Parameters, *, has_self: bool) -> Iterable[ParameterSurface]:
        first = True
        for group in (node.posonly_params, node.params):
            for parameter in group:
                yield self._parameter(parameter, is_self=first and has_self)
                first = False
            if group is node.posonly_params and group:
                yield ParameterSurface("/")
        if isinstance(node.star_arg, cst.Param):
            yield self._parameter(node.star_arg, stars="*")
        elif node.kwonly_params:
            yield ParameterSurface("", stars="*")
        for parameter in node.kwonly_params:
            yield self._parameter(parameter)
        if node.star_kwarg is not None:
            yield self._parameter(node.star_kwarg, stars="**")

    def _parameter(self, node: cst.Param, *, stars: str = "", is_self: bool = False) -> ParameterSurface:
        default = "" if node.default is None else self._code(node.default)
        if node.annotation is not None:
            annotation = self._code(node.annotation.annotation)
        elif is_self:
            annotation = ""
        elif default and default != "None":
            annotation = type_of(default)
        else:
            annotation = INCOMPLETE + (" | None" if default else "")
        return ParameterSurface(node.name.value, annotation, short(default) if default else "", stars)

    def _class(self, node: cst.ClassDef) -> ClassSurface:
        bases = [("*" if base.star else "") + self._code(base.value) for base in node.bases]
        bases += [
            f"{self._code(k.keyword)}={self._code(k.value)}" if k.keyword else f"**{self._code(k.value)}"
            for k in node.keywords
        ]
        decorators = tuple(self._code(decorator.decorator) for decorator in node.decorators)
        scope = _Scope(_kind(bases, decorators))
        if isinstance(node.body, cst.IndentedBlock):
            self.read(node.body.body, scope)
            self._instance_variables(node.body, scope)
        return ClassSurface(
            name=node.name.value,
            bases=tuple(bases),
            decorators=decorators,
            type_parameters="" if node.type_parameters is None else self._code(node.type_parameters),
            body=tuple(scope.items),
        )

    def _instance_variables(self, body: cst.IndentedBlock, scope: _Scope) -> None:
        """What methods assign to attributes of ``self``."""
        for method in body.body:
            if isinstance(method, cst.FunctionDef) and (method.params.posonly_params or method.params.params):
                for item in self_variables(method):
                    scope.add(item, first_wins=True)


def _kind(bases: Sequence[str], decorators: Sequence[str]) -> str:
    """``fields``: defaults matter; ``enum``: values do; ``class``: neither."""
    words = {word for base in bases for word in _WORD.findall(base.partition("[")[0])}
    if any(word.endswith(("Enum", "Flag")) for word in words):
        return "enum"
    called_ = {decorator.split("(")[0].rpartition(".")[2] for decorator in decorators}
    if called_ & {
        "dataclass",
        "define",
        "frozen",
        "mutable",
        "s",
        "attrs",
        "attributes",
        "dataclass_transform",
    } or words & {"NamedTuple"}:
        return "fields"
    return "class"


def _strings(value: str) -> tuple[str, ...] | None:
    try:
        found = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return None
    if isinstance(found, list | tuple) and all(isinstance(each, str) for each in found):
        return tuple(found)
    return None
