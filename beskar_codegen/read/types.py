"""Annotations and base-class arguments as :data:`~beskar_codegen.model.TypeExpression`.

Aliases made by an assignment are seen through, as Python sees through them; ``type`` statements and NewTypes stay, for
they have a name at run time. ``Annotated`` and ``Final`` say nothing about values and are dropped. Every class, NewType
and alias of the project that is met is noted, so that its declaration can be read afterwards.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from beskar_codegen.model import (
    EllipsisType,
    LiteralType,
    NamedType,
    NoneType,
    TypeExpression,
    TypeVariable,
    UnionType,
    UnresolvedType,
)
from beskar_codegen.read.modules import ClassSite
from beskar_codegen.read.scopes import Scope
from beskar_codegen.read.symbols import (
    AliasSymbol,
    External,
    FunctionSymbol,
    Missing,
    Resolver,
    Symbol,
    TypeParameterSymbol,
    ValueSymbol,
    known_home,
)
from beskar_codegen.read.syntax import dotted_name, parse_expression

Used = ClassSite | ValueSymbol | AliasSymbol

_VARIABLES: Final = {"TypeVar", "ParamSpec", "TypeVarTuple"}
_FACTORIES: Final = {
    "namedtuple",
    "NamedTuple",
    "TypedDict",
    "Enum",
    "IntEnum",
    "StrEnum",
    "Flag",
    "make_class",
    "make_dataclass",
}
_MAX_DEPTH: Final = 50
_STRING: Final = "beskar_string"
"""On nodes that were read from a string: the string."""


class TypeReader:
    """Reads type expressions. *used* gathers the declarations met, by home."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.used: dict[tuple[str, str], Used] = {}

    def read(self, scope: Scope, node: ast.expr, *, quoted: bool = False, depth: int = 0) -> TypeExpression:
        """The type that *node* means in *scope*.

        Args:
            quoted: it stands in a string, or is the value of an alias that does.
        """
        if depth > _MAX_DEPTH:
            return UnresolvedType(_shown(scope, node), "refers to itself without end", exists=True, is_quoted=quoted)
        match node:
            case ast.Name() | ast.Attribute():
                return self._named(scope, node, (), quoted, depth)
            case ast.Constant(value=None):
                return NoneType()
            case ast.Constant(value=str(value)):
                return self._quoted(scope, value, _shown(scope, node), depth)
            case ast.Subscript():
                return self._subscript(scope, node, quoted, depth)
            case ast.BinOp(left=one, op=ast.BitOr(), right=other):
                left = self.read(scope, one, quoted=quoted, depth=depth + 1)
                return union((left, self.read(scope, other, quoted=quoted, depth=depth + 1)))
            case ast.Constant(value=value) if value is Ellipsis:
                return EllipsisType()
            case _:
                return UnresolvedType(_shown(scope, node), "is no type", is_quoted=quoted)

    def _quoted(self, scope: Scope, value: str, text: str, depth: int) -> TypeExpression:
        try:
            expression = parse_expression(value.strip())
        except SyntaxError:
            return UnresolvedType(text, "is no type: it cannot be parsed", is_quoted=True)
        for node in ast.walk(expression):
            setattr(node, _STRING, value.strip())
        return self.read(scope, expression, quoted=True, depth=depth + 1)

    def _named(
        self, scope: Scope, node: ast.expr, arguments: tuple[TypeExpression, ...], quoted: bool, depth: int
    ) -> TypeExpression:
        dotted = dotted_name(node)
        if dotted is None:
            return UnresolvedType(_shown(scope, node), "is no name", exists=True, is_quoted=quoted)
        return self._meant(dotted, self.resolver.resolve(scope, dotted), arguments, quoted, depth)

    def _meant(
        self, text: str, symbol: Symbol, arguments: tuple[TypeExpression, ...], quoted: bool, depth: int
    ) -> TypeExpression:
        def unresolved(reason: str, *, exists: bool = False) -> UnresolvedType:
            return UnresolvedType(text, reason, exists=exists, is_quoted=quoted)

        if isinstance(symbol, Missing):
            return unresolved(symbol.reason, exists=symbol.exists)
        if isinstance(symbol, ClassSite):
            return self._note(symbol.module.name, symbol.name, symbol, arguments)
        if isinstance(symbol, AliasSymbol):
            return self._note(symbol.scope.module.name, symbol.name, symbol, arguments)
        if isinstance(symbol, TypeParameterSymbol):
            return TypeVariable(symbol.name)
        if isinstance(symbol, External):
            if not symbol.name:
                return unresolved("is a module")
            module, name = known_home(symbol)
            return NamedType(module, name, arguments)
        if isinstance(symbol, ValueSymbol):
            return self._value(text, symbol, arguments, quoted, depth)
        return unresolved("is no type")

    def _note(self, module: str, name: str, used: Used, arguments: tuple[TypeExpression, ...]) -> NamedType:
        self.used.setdefault((module, name), used)
        return NamedType(module, name, arguments)

    def _value(
        self, text: str, symbol: ValueSymbol, arguments: tuple[TypeExpression, ...], quoted: bool, depth: int
    ) -> TypeExpression:
        value = symbol.binding.value
        if isinstance(value, ast.Call):
            made_by = self._callee(symbol.scope, value)
            if made_by == ("typing", "NewType"):
                return self._note(symbol.scope.module.name, symbol.name, symbol, ())
            if made_by[1] in _VARIABLES:
                return TypeVariable(symbol.name)
            reason = "is made by a call, which cannot be read without running it"
            return UnresolvedType(text, reason, exists=True, is_quoted=quoted)
        if value is None:
            return UnresolvedType(text, "has no value that can be read", exists=True, is_quoted=quoted)
        if not _may_be_type(value, symbol.binding.annotation):
            return UnresolvedType(text, "is no type", is_quoted=quoted)
        target = self.read(symbol.scope, value, quoted=quoted, depth=depth + 1)
        if arguments:
            known = dict(zip(variables(target), arguments, strict=False))
            target = filled(target, known)
        return target

    def _callee(self, scope: Scope, call: ast.Call) -> tuple[str, str]:
        dotted = dotted_name(call.func)
        if dotted is None:
            return "", ""
        symbol = self.resolver.resolve(scope, dotted)
        return known_home(symbol) if isinstance(symbol, External) else ("", "")

    def _subscript(self, scope: Scope, node: ast.Subscript, quoted: bool, depth: int) -> TypeExpression:
        dotted = dotted_name(node.value)
        if dotted is None:
            return UnresolvedType(_shown(scope, node), "is no name", exists=True, is_quoted=quoted)
        symbol = self.resolver.resolve(scope, dotted)
        form = known_home(symbol) if isinstance(symbol, External) else ("", "")
        items = subscripted(node)
        if form == ("typing", "Literal"):
            return self._literal(scope, items)
        if form in (("typing", "Annotated"), ("typing", "Final"), ("typing", "ClassVar")) and items:
            inner = self.read(scope, items[0], quoted=quoted, depth=depth + 1)
            return NamedType(*form, (inner,)) if form[1] == "ClassVar" else inner
        arguments = tuple(self._argument(scope, item, quoted, depth) for item in items)
        if form == ("typing", "Optional"):
            return union((*arguments, NoneType()))
        if form == ("typing", "Union"):
            return union(arguments)
        return self._meant(dotted, symbol, arguments, quoted, depth)

    def _argument(self, scope: Scope, item: ast.expr, quoted: bool, depth: int) -> TypeExpression:
        if isinstance(item, ast.List):  # the parameters of a Callable
            parts = [self.read(scope, each, quoted=quoted, depth=depth + 1) for each in item.elts]
            return NamedType("", "", tuple(parts))
        if isinstance(item, ast.Tuple) and not item.elts:  # tuple[()]
            return NamedType("typing", "Never")
        return self.read(scope, item, quoted=quoted, depth=depth + 1)

    def _literal(self, scope: Scope, items: Sequence[ast.expr]) -> TypeExpression:
        values: list[str] = []
        names: list[tuple[str, str, str]] = []
        for item in items:
            dotted = dotted_name(item)
            if dotted is None:
                values.append(_text(scope, item))
                continue
            symbol = self.resolver.resolve(scope, dotted)
            found = home_of(symbol)
            if isinstance(symbol, ValueSymbol) and isinstance(symbol.binding.value, ast.Subscript):
                nested = self.read(symbol.scope, symbol.binding.value)  # Literal[Shorter] of another Literal
                if isinstance(nested, LiteralType):
                    values.extend(nested.values)
                    names.extend(nested.names)
                    continue
            values.append(dotted)
            if found is not None:
                names.append((dotted, *found))
                self._note_owner(scope, dotted)
        return LiteralType(tuple(dict.fromkeys(values)), tuple(dict.fromkeys(names)))

    def _note_owner(self, scope: Scope, dotted: str) -> None:
        """The enum that a literal's member belongs to is used as well."""
        owner = self.resolver.resolve(scope, dotted.rpartition(".")[0] or dotted)
        if isinstance(owner, ClassSite):
            self.used.setdefault((owner.module.name, owner.name), owner)


def home_of(symbol: Symbol) -> tuple[str, str] | None:
    """Module and qualified name of what *symbol* is, if it has them."""
    if isinstance(symbol, ClassSite):
        return symbol.module.name, symbol.name
    if isinstance(symbol, ValueSymbol | AliasSymbol):
        return symbol.scope.module.name, symbol.name
    if isinstance(symbol, External) and symbol.name:
        return known_home(symbol)
    return (symbol.module, symbol.name) if isinstance(symbol, FunctionSymbol) else None


def subscripted(node: ast.Subscript) -> list[ast.expr]:
    """What stands in the brackets of *node*, one by one."""
    if isinstance(node.slice, ast.Tuple) and node.slice.elts:
        return node.slice.elts
    return [node.slice]


def _text(scope: Scope, node: ast.expr) -> str:
    """*node* as written, in the module or in a string there."""
    string: str | None = getattr(node, _STRING, None)
    if string is None:
        return scope.module.positions.code(node)
    return ast.get_source_segment(f"({string}\n)", node) or ast.unparse(node)


def _shown(scope: Scope, node: ast.expr) -> str:
    """*node* as written, for a message."""
    return _text(scope, node)[:80]


def _may_be_type(value: ast.expr, annotation: ast.expr | None) -> bool:
    match value:
        case ast.Constant(value=str()):
            return annotation is not None and (dotted_name(annotation) or "").endswith("TypeAlias")
        case ast.Constant(value=None) | ast.Name() | ast.Attribute() | ast.Subscript() | ast.BinOp(op=ast.BitOr()):
            return True
        case _:
            return False


def union(members: Sequence[TypeExpression]) -> TypeExpression:
    """The union of *members*: flat, each once."""
    flat: dict[TypeExpression, None] = {}
    for member in members:
        for each in member.members if isinstance(member, UnionType) else (member,):
            flat[each] = None
    return next(iter(flat)) if len(flat) == 1 else UnionType(tuple(flat))


def variables(expression: TypeExpression) -> tuple[str, ...]:
    """The open type variables in *expression*, in order."""
    if isinstance(expression, TypeVariable):
        return (expression.name,)
    if isinstance(expression, NamedType):
        parts: Sequence[TypeExpression] = expression.arguments
    elif isinstance(expression, UnionType):
        parts = expression.members
    else:
        return ()
    return tuple(dict.fromkeys(name for part in parts for name in variables(part)))


def filled(expression: TypeExpression, known: Mapping[str, TypeExpression]) -> TypeExpression:
    """*expression* with the type variables in *known* filled in."""
    if not known:
        return expression
    if isinstance(expression, TypeVariable):
        return known.get(expression.name, expression)
    if isinstance(expression, NamedType) and expression.arguments:
        return attrs.evolve(expression, arguments=tuple(filled(part, known) for part in expression.arguments))
    if isinstance(expression, UnionType):
        return union(tuple(filled(part, known) for part in expression.members))
    return expression
