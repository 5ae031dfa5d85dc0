"""The defaults of fields: as text that means the same anywhere, with the homes of the names in it."""

from __future__ import annotations

import ast
import builtins
from typing import Final

import attrs
import libcst as cst

from beskar_codegen.read.scopes import Scope
from beskar_codegen.read.symbols import External, Resolver, known_home
from beskar_codegen.read.trees import dotted_name
from beskar_codegen.read.types import code, home_of

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


def default_of(resolver: Resolver, scope: Scope, value: cst.BaseExpression | None) -> FieldCall:
    """What stands behind the ``=`` of a field."""
    if value is None:
        return FieldCall()
    if not isinstance(value, cst.Call) or _callee(resolver, scope, value) not in _FIELD_CALLS:
        return FieldCall(_default(resolver, scope, value))
    call = FieldCall()
    for argument in value.args:
        name = argument.keyword.value if argument.keyword is not None else "default"
        text = code(argument.value)
        if name == "default":
            call = attrs.evolve(call, default=_default(resolver, scope, argument.value))
        elif name in ("factory", "default_factory"):
            call = attrs.evolve(call, default=_factory(resolver, scope, argument.value))
        elif name == "init":
            call = attrs.evolve(call, in_init=text != "False")
        elif name == "kw_only":
            call = attrs.evolve(call, keyword_only=text == "True")
        elif name == "alias" and isinstance(argument.value, cst.SimpleString):
            call = attrs.evolve(call, alias=str(argument.value.evaluated_value))
        elif name in ("eq", "compare"):
            call = attrs.evolve(call, is_compared=text not in ("False", "None"))
    return call


def _callee(resolver: Resolver, scope: Scope, call: cst.Call) -> tuple[str, str]:
    dotted = dotted_name(call.func)
    symbol = resolver.resolve(scope, dotted) if dotted is not None else None
    return known_home(symbol) if isinstance(symbol, External) else ("", "")


def _default(resolver: Resolver, scope: Scope, value: cst.BaseExpression) -> Default:
    if isinstance(value, cst.Call) and _callee(resolver, scope, value) == ("attrs", "Factory") and value.args:
        return _factory(resolver, scope, value.args[0].value)
    dotted = dotted_name(value)
    symbol = resolver.resolve(scope, dotted) if dotted is not None else None
    if isinstance(symbol, External) and known_home(symbol) in (("attrs", "NOTHING"), ("dataclasses", "MISSING")):
        return Default()
    return Default(_text(value), _names(resolver, scope, value), is_mutable=_is_mutable(value))


def _factory(resolver: Resolver, scope: Scope, value: cst.BaseExpression) -> Default:
    return Default(names=_names(resolver, scope, value), has_factory=True, factory=_text(value))


def _is_mutable(value: cst.BaseExpression) -> bool:
    if isinstance(value, cst.List | cst.Dict | cst.Set | cst.ListComp | cst.DictComp | cst.SetComp):
        return True
    return isinstance(value, cst.Call) and dotted_name(value.func) in _EMPTY_MAKERS


def _text(value: cst.BaseExpression) -> str:
    text = code(value)
    if "\n" not in text:
        return text
    try:
        return ast.unparse(ast.parse(text.strip(), mode="eval"))
    except (SyntaxError, ValueError):
        return text


def _names(resolver: Resolver, scope: Scope, value: cst.BaseExpression) -> tuple[Name, ...]:
    """The names that *value* uses, but for builtins."""
    finder = _NameFinder()
    value.visit(finder)
    found: dict[Name, None] = {}
    for dotted in finder.found:
        head = dotted.partition(".")[0]
        if head in finder.bound or (hasattr(builtins, head) and scope.find(head) is None):
            continue
        module, name = home_of(resolver.resolve(scope, dotted)) or ("", dotted)
        found[dotted, module, name] = None
    return tuple(found)


class _NameFinder(cst.CSTVisitor):
    """Gathers names and dotted names, longest first; *bound* are those that lambdas and comprehensions bind."""

    def __init__(self) -> None:
        self.found: dict[str, None] = {}
        self.bound: set[str] = set()

    def visit_Attribute(self, node: cst.Attribute) -> bool:  # noqa: N802  # libcst's name for it
        dotted = dotted_name(node)
        if dotted is None:
            node.value.visit(self)
            return False
        self.found[dotted] = None
        return False

    def visit_Name(self, node: cst.Name) -> None:  # noqa: N802
        self.found[node.value] = None

    def visit_Arg(self, node: cst.Arg) -> bool:  # noqa: N802
        node.value.visit(self)
        return False

    def visit_Param(self, node: cst.Param) -> bool:  # noqa: N802
        self.bound.add(node.name.value)
        if node.default is not None:
            node.default.visit(self)
        return False

    def visit_CompFor(self, node: cst.CompFor) -> None:  # noqa: N802
        if isinstance(node.target, cst.Name):
            self.bound.add(node.target.value)
