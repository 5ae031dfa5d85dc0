"""Reads the surface of a module: a pass over its statements that keeps declarations and drops what they do.

Names are not followed here: a stub imports what its module imports. Branches that only a type checker takes are taken,
choices by version or platform are kept, of other branches the first declaration of a name counts. What has no
annotation gets the type that its value shows, else ``Incomplete``, as stubs by hand do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from beskar_codegen.read.surface import (
    ClassSurface,
    ConditionSurface,
    FunctionSurface,
    ImportedName,
    Item,
    ModuleSurface,
    ParameterSurface,
    TypeSurface,
    VariableSurface,
)
from beskar_codegen.read.surface_bodies import gives_back, self_variables
from beskar_codegen.read.surface_values import (
    ELLIPSIS,
    INCOMPLETE,
    NONE,
    TYPE_ALIAS,
    called,
    is_alias,
    is_declaring,
    is_none,
    last_name,
    short,
    type_of,
)
from beskar_codegen.read.syntax import FUNCTIONS, Function, is_generator, type_parameters, type_statement

_CHECKED_BY_CHECKERS: Final = ("sys.version_info", "sys.platform")
_FIELD_MAKERS: Final = frozenset({"field", "ib", "attrib", "Factory"})
_CLASS_MAKERS: Final = frozenset(
    {"dataclass", "define", "frozen", "mutable", "s", "attrs", "attributes", "dataclass_transform"}
)
_REPEATABLE: Final = frozenset({"overload", "setter", "deleter", "getter", "register", "default", "validator"})
_CACHES: Final = frozenset({"lru_cache", "cache"})


def read_surface(tree: ast.Module, module: str, *, is_package: bool = False) -> ModuleSurface:
    """The surface of the *module* whose syntax is *tree*. The surface holds parts of the tree."""
    reader = _Reader(module, is_package=is_package)
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
        is_repeatable = isinstance(item, FunctionSurface) and any(last_name(d) in _REPEATABLE for d in item.decorators)
        is_addition = isinstance(item, TypeSurface) or (isinstance(item, VariableSurface) and item.is_added)
        place = self.names.get(name)
        if place is None or is_repeatable or is_addition or not name:
            self.names.setdefault(name, len(self.items))
            self.items.append(item)
        elif not first_wins and place >= 0 and not _is_overloaded(self.items[place]):
            self.items[place] = item  # of overloads, the implementation is no part of a stub


def _is_overloaded(item: Item) -> bool:
    return isinstance(item, FunctionSurface) and any(last_name(d) == "overload" for d in item.decorators)


class _Reader:
    def __init__(self, module: str, *, is_package: bool) -> None:
        self._package = module.split(".") if is_package else module.split(".")[:-1]
        self.imports: list[ImportedName] = []
        self.exported: tuple[str, ...] | None = None
        self._classes: set[str] = set()

    def read(self, statements: Iterable[ast.stmt], scope: _Scope, *, first_wins: bool = False) -> None:
        for statement in statements:
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    scope.add(_function(statement, scope), first_wins=first_wins)
                case ast.ClassDef():
                    scope.add(self._class(statement), first_wins=first_wins)
                    self._classes.add(statement.name)
                case ast.If():
                    self._if(statement, scope, first_wins)
                case ast.Try() | ast.TryStar():
                    self.read(statement.body, scope, first_wins=first_wins)
                    for handler in statement.handlers:
                        self.read(handler.body, scope, first_wins=True)
                    self.read(statement.orelse, scope, first_wins=True)
                case ast.With():
                    self.read(statement.body, scope, first_wins=first_wins)
                case ast.Import(names=names):
                    for alias in names:
                        bound = alias.asname or alias.name.partition(".")[0]
                        self._imported(ImportedName(bound, alias.name), scope)
                case ast.ImportFrom():
                    self._import_from(statement, scope)
                case _:
                    self._variables(statement, scope, first_wins)

    # -- statements ----------------------------------------------------------------------------------------------------

    def _if(self, statement: ast.If, scope: _Scope, first_wins: bool) -> None:
        test = ast.unparse(statement.test)
        if test.endswith("TYPE_CHECKING"):
            taken = statement.orelse if test.startswith("not ") else statement.body
            self.read(taken, scope, first_wins=first_wins)
        elif "__name__" in test:
            return
        elif any(word in test for word in _CHECKED_BY_CHECKERS):
            body, other = _Scope(scope.kind), _Scope(scope.kind)
            self.read(statement.body, body)
            self.read(statement.orelse, other)
            if body.items or other.items:
                scope.add(ConditionSurface(statement.test, tuple(body.items), tuple(other.items)))
        else:
            self.read(statement.body, scope, first_wins=first_wins)
            self.read(statement.orelse, scope, first_wins=True)

    def _imported(self, imported: ImportedName, scope: _Scope) -> None:
        if imported.module == "__future__" or imported in self.imports:
            return
        if imported.bound[:1].isupper():
            self._classes.add(imported.bound)
        if any(known.bound == imported.bound and known.name for known in self.imports):
            return  # the other branch of a try: the first one counts
        self.imports.append(imported)
        scope.names.setdefault(imported.bound, -1)

    def _import_from(self, statement: ast.ImportFrom, scope: _Scope) -> None:
        module = statement.module or ""
        if statement.level:
            base = self._package[: len(self._package) - (statement.level - 1)]
            module = ".".join([*base, module] if module else base)
        for alias in statement.names:
            self._imported(ImportedName(alias.asname or alias.name, module, alias.name), scope)

    # -- variables -----------------------------------------------------------------------------------------------------

    def _variables(self, statement: ast.stmt, scope: _Scope, first_wins: bool) -> None:
        alias = type_statement(statement)
        if alias is not None:
            self._classes.add(alias.name.id)
            scope.add(TypeSurface(alias.name.id, alias.value, alias.parameters))
            return
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)):
                scope.add(self._annotated(name, statement.annotation, statement.value, scope), first_wins=first_wins)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assigned(target, value, scope, first_wins)
            case ast.AugAssign(target=ast.Name(id="__all__" as name), value=value):
                self.exported = None
                scope.add(VariableSurface(name, value=value, is_added=True))
            case _:
                pass

    def _annotated(self, name: str, annotation: ast.expr, value: ast.expr | None, scope: _Scope) -> VariableSurface:
        last = last_name(annotation)
        if last == "TypeAlias":
            self._classes.add(name)
            return VariableSurface(name, annotation, value)
        if last == "Final" and value is not None:
            shown = short(value)
            if shown is not ELLIPSIS:
                return VariableSurface(name, annotation, shown)
            return VariableSurface(name, ast.Subscript(annotation, type_of(value)))
        if scope.kind == "fields" and value is not None:
            return VariableSurface(name, annotation, value if called(value) in _FIELD_MAKERS else short(value))
        return VariableSurface(name, annotation)

    def _assigned(self, target: ast.expr, value: ast.expr, scope: _Scope, first_wins: bool) -> None:
        match target:
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for element in elements:
                    self._assigned(element, ELLIPSIS, scope, first_wins)
            case ast.Starred(value=inner):
                self._assigned(inner, value, scope, first_wins)
            case ast.Name(id=name) if scope.names.get(name) != -1:  # else imported already: the fall-back of a try
                scope.add(self._unannotated(name, value, scope), first_wins=first_wins)
            case _:
                pass

    def _unannotated(self, name: str, value: ast.expr, scope: _Scope) -> VariableSurface:
        if name == "__all__":
            self.exported = _strings(value)
            if self.exported is None:
                return VariableSurface(name, ast.Subscript(ast.Name("list"), ast.Name("str")))
            return VariableSurface(name, value=value)
        if scope.kind == "enum" and not name.startswith("_"):
            return VariableSurface(name, value=value if called(value) == "auto" else short(value))
        if name == "__slots__" or (scope.kind == "fields" and called(value) in _FIELD_MAKERS):
            return VariableSurface(name, value=value)
        if is_declaring(value):
            self._classes.add(name)
            return VariableSurface(name, value=value)
        if is_alias(value, self._classes):
            self._classes.add(name)
            return VariableSurface(name, TYPE_ALIAS, value)
        if isinstance(value, ast.Name):
            place = scope.names.get(value.id, -1)
            if place >= 0 and isinstance(scope.items[place], FunctionSurface):
                return VariableSurface(name, value=value)
        return VariableSurface(name, type_of(value))

    # -- classes -------------------------------------------------------------------------------------------------------

    def _class(self, node: ast.ClassDef) -> ClassSurface:
        scope = _Scope(_kind(node))
        self.read(node.body, scope)
        for method in node.body:
            if isinstance(method, FUNCTIONS) and (method.args.posonlyargs or method.args.args):
                for item in self_variables(method):
                    scope.add(item, first_wins=True)
        return ClassSurface(
            name=node.name,
            bases=tuple(node.bases),
            keywords=tuple(node.keywords),
            decorators=tuple(node.decorator_list),
            type_parameters=type_parameters(node),
            body=tuple(scope.items),
        )


def _kind(node: ast.ClassDef) -> str:
    """``fields``: defaults matter; ``enum``: values do; ``class``: neither."""
    words = {word for base in node.bases for word in _words(base)}
    if any(word.endswith(("Enum", "Flag")) for word in words):
        return "enum"
    is_made = any(last_name(decorator) in _CLASS_MAKERS for decorator in node.decorator_list)
    return "fields" if is_made or "NamedTuple" in words else "class"


def _words(base: ast.expr) -> Iterator[str]:
    """The names that a base is called by."""
    while True:
        match base:
            case ast.Subscript(value=inner) | ast.Starred(value=inner) | ast.Call(func=inner):
                base = inner
            case ast.Attribute(value=inner, attr=name):
                yield name
                base = inner
            case ast.Name(id=name):
                yield name
                return
            case _:
                return


def _function(node: Function, scope: _Scope) -> FunctionSurface:
    # What a cache makes keeps no parameters for type checkers, although it has them.
    decorators = tuple(each for each in node.decorator_list if last_name(each) not in _CACHES)
    is_static = any(last_name(each) == "staticmethod" for each in decorators)
    if node.returns is not None:
        returns = node.returns
    else:
        returns = NONE if node.name == "__init__" or not gives_back(node) else INCOMPLETE
    return FunctionSurface(
        name=node.name,
        parameters=tuple(_parameters(node.args, has_self=scope.kind != "" and not is_static)),
        returns=returns,
        # An async generator is called, not awaited.
        is_async=isinstance(node, ast.AsyncFunctionDef) and not is_generator(node),
        decorators=decorators,
        type_parameters=type_parameters(node),
    )


def _parameters(node: ast.arguments, *, has_self: bool) -> Iterator[ParameterSurface]:
    positional = [*node.posonlyargs, *node.args]
    required = len(positional) - len(node.defaults)
    for number, parameter in enumerate(positional):
        if number and number == len(node.posonlyargs):
            yield ParameterSurface("/")
        default = node.defaults[number - required] if number >= required else None
        yield _parameter(parameter, default, is_self=has_self and number == 0)
    if node.posonlyargs and not node.args:
        yield ParameterSurface("/")
    if node.vararg is not None:
        yield _parameter(node.vararg, None, stars="*")
    elif node.kwonlyargs:
        yield ParameterSurface("", stars="*")
    for parameter, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
        yield _parameter(parameter, default)
    if node.kwarg is not None:
        yield _parameter(node.kwarg, None, stars="**")


def _parameter(node: ast.arg, default: ast.expr | None, *, stars: str = "", is_self: bool = False) -> ParameterSurface:
    annotation = node.annotation
    if annotation is None and not is_self:
        if default is None:
            annotation = INCOMPLETE
        elif is_none(default):
            annotation = ast.BinOp(INCOMPLETE, ast.BitOr(), NONE)
        else:
            annotation = type_of(default)
    return ParameterSurface(node.arg, annotation, None if default is None else short(default), stars)


def _strings(value: ast.expr) -> tuple[str, ...] | None:
    try:
        found: object = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if isinstance(found, list | tuple) and all(isinstance(each, str) for each in found):
        return tuple(found)
    return None
