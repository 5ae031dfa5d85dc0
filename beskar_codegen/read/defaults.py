"""The defaults of fields: as text that means the same anywhere, with the homes of the names in it."""

from __future__ import annotations

import ast
import builtins
from typing import Final

import attrs

from beskar_codegen.read.scopes import Scope
from beskar_codegen.read.symbols import External, Resolver, known_home
from beskar_codegen.read.syntax import dotted_name
from beskar_codegen.read.types import home_of

_FIELD_CALLS: Final = {("attrs", "field"), ("dataclasses", "field")}
_EMPTY_MAKERS: Final = {"list", "dict", "set", "bytearray"}

Name = tuple[str, str, str]


@attrs.frozen
class Default:
    """One default; without text and factory the field is required."""

    text: str | None = None
    names: tuple[Name, ...] = ()
    has_factory: bool = False
    factory: str = ""
    is_mutable: bool = False


@attrs.frozen
class FieldCall:
    """What ``= field(...)``, or ``= default``, says about a field."""

    default: Default = Default()
    in_init: bool = True
    keyword_only: bool | None = None
    alias: str = ""
    is_compared: bool = True


def default_of(resolver: Resolver, scope: Scope, value: ast.expr | None) -> FieldCall:
    """What stands behind the ``=`` of a field."""
    if value is None:
        return FieldCall()
    if not isinstance(value, ast.Call) or _callee(resolver, scope, value) not in _FIELD_CALLS:
        return FieldCall(_default(resolver, scope, value))
    call = FieldCall()
    given = [*(("default", each) for each in value.args), *((each.arg, each.value) for each in value.keywords)]
    for name, argument in given:
        constant = argument.value if isinstance(argument, ast.Constant) else ...
        if name == "default":
            call = attrs.evolve(call, default=_default(resolver, scope, argument))
        elif name in ("factory", "default_factory"):
            call = attrs.evolve(call, default=_factory(resolver, scope, argument))
        elif name == "init":
            call = attrs.evolve(call, in_init=constant is not False)
        elif name == "kw_only":
            call = attrs.evolve(call, keyword_only=constant is True)
        elif name == "alias" and isinstance(constant, str):
            call = attrs.evolve(call, alias=constant)
        elif name in ("eq", "compare"):
            call = attrs.evolve(call, is_compared=constant is not False and constant is not None)
    return call


def _callee(resolver: Resolver, scope: Scope, call: ast.Call) -> tuple[str, str]:
    dotted = dotted_name(call.func)
    symbol = resolver.resolve(scope, dotted) if dotted is not None else None
    return known_home(symbol) if isinstance(symbol, External) else ("", "")


def _default(resolver: Resolver, scope: Scope, value: ast.expr) -> Default:
    if isinstance(value, ast.Call) and _callee(resolver, scope, value) == ("attrs", "Factory") and value.args:
        return _factory(resolver, scope, value.args[0])
    dotted = dotted_name(value)
    symbol = resolver.resolve(scope, dotted) if dotted is not None else None
    if isinstance(symbol, External) and known_home(symbol) in (("attrs", "NOTHING"), ("dataclasses", "MISSING")):
        return Default()
    text = scope.module.positions.one_line(value)
    return Default(text, _names(resolver, scope, value), is_mutable=_is_mutable(value))


def _factory(resolver: Resolver, scope: Scope, value: ast.expr) -> Default:
    text = scope.module.positions.one_line(value)
    return Default(names=_names(resolver, scope, value), has_factory=True, factory=text)


def _is_mutable(value: ast.expr) -> bool:
    if isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp):
        return True
    return isinstance(value, ast.Call) and dotted_name(value.func) in _EMPTY_MAKERS


def _names(resolver: Resolver, scope: Scope, value: ast.expr) -> tuple[Name, ...]:
    """The names that *value* uses, but for builtins."""
    finder = _NameFinder()
    finder.visit(value)
    found: dict[Name, None] = {}
    for dotted in finder.found:
        head = dotted.partition(".")[0]
        if head in finder.bound or (hasattr(builtins, head) and scope.find(head) is None):
            continue
        module, name = home_of(resolver.resolve(scope, dotted)) or ("", dotted)
        found[dotted, module, name] = None
    return tuple(found)


class _NameFinder(ast.NodeVisitor):
    """Gathers names and dotted names, longest first; *bound* are those that lambdas and comprehensions bind."""

    def __init__(self) -> None:
        self.found: dict[str, None] = {}
        self.bound: set[str] = set()

    def visit_Attribute(self, node: ast.Attribute) -> None:  # the name that ast looks for
        dotted = dotted_name(node)
        if dotted is None:
            self.visit(node.value)
        else:
            self.found[dotted] = None

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.found[node.id] = None
        else:
            self.bound.add(node.id)

    def visit_arg(self, node: ast.arg) -> None:
        self.bound.add(node.arg)
