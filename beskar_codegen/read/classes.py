"""Class statements as :class:`~beskar_codegen.model.DeclaredType`: what kind of class, which fields, which defaults.

Fields come in the order of the constructor. An attrs class that declares an inherited field anew moves it to the end, a
dataclass leaves it where it was; both as the libraries do it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

import attrs

from beskar_codegen.model import DeclaredType, Field, NamedType, Place, TypeExpression, TypeKind, UnresolvedType
from beskar_codegen.read.defaults import Default, FieldCall, default_of
from beskar_codegen.read.docs import docstring, field_docs
from beskar_codegen.read.modules import ClassSite, bindings_of
from beskar_codegen.read.scopes import Scope
from beskar_codegen.read.symbols import AliasSymbol, External, ValueSymbol, known_home
from beskar_codegen.read.syntax import FUNCTIONS, dotted_name, type_parameters
from beskar_codegen.read.types import TypeReader, Used, filled, variables

_ENUMS: Final = {"Enum", "StrEnum", "IntEnum", "Flag", "IntFlag", "ReprEnum"}
_FIELD_KINDS: Final = (TypeKind.ATTRS, TypeKind.DATACLASS)


class DeclarationReader:
    """Reads declarations, each once."""

    def __init__(self, types: TypeReader) -> None:
        self._types = types
        self._resolver = types.resolver
        self._kinds: dict[int, TypeKind] = {}
        self._open: list[ast.ClassDef] = []

    def read(self, used: Used) -> DeclaredType:
        """The declaration of what *used* is."""
        if isinstance(used, ClassSite):
            return self._class(used)
        if isinstance(used, AliasSymbol):
            return self._alias(used)
        return self._new_type(used)

    def _alias(self, used: AliasSymbol) -> DeclaredType:
        statement = used.binding.statement
        parameters = bindings_of(statement.parameters)
        scope = Scope(used.scope.module, used.scope.block, used.scope.functions, parameters)
        return DeclaredType(
            used.scope.module.name,
            used.name,
            TypeKind.ALIAS,
            used.scope.module.positions.place(statement.name),
            target=self._types.read(scope, statement.value),
            type_parameters=tuple(name for name, _ in parameters),
        )

    def _new_type(self, used: ValueSymbol) -> DeclaredType:
        call = used.binding.value
        assert isinstance(call, ast.Call)
        positions = used.scope.module.positions
        target: TypeExpression = UnresolvedType(positions.code(call)[:80], "does not say of which type it is")
        given = [*call.args, *(each.value for each in call.keywords)]
        if len(given) == 2:
            target = self._types.read(used.scope, given[1])
        place = positions.place(call)
        return DeclaredType(used.scope.module.name, used.name, TypeKind.NEW_TYPE, place, target=target)

    def _class(self, site: ClassSite) -> DeclaredType:
        kind = self.kind(site)
        fields: tuple[Field, ...] = ()
        if kind in (*_FIELD_KINDS, TypeKind.TYPED_DICT, TypeKind.NAMED_TUPLE):
            fields = tuple(self._fields(site, kind).values())
        decorator = next((each for each in site.node.decorator_list if self._decorator_kind(site, each)), None)
        bases = tuple(self._base_types(site))
        return DeclaredType(
            site.module.name,
            site.name,
            kind,
            site.place,
            fields=_in_order(fields),
            members=tuple(self._members(site)) if kind is TypeKind.ENUM else (),
            bases=bases,
            type_parameters=self._parameters(site),
            decorator=site.module.positions.code(decorator) if decorator is not None else "",
            total=self._total(site),
            doc=docstring(site.node),
            misfits=self._misfits(site, kind, fields),
            open_bases=tuple(each for each in bases if isinstance(each, UnresolvedType)),
        )

    # -- what kind ---------------------------------------------------------------------------------------------------

    def kind(self, site: ClassSite) -> TypeKind:
        """What kind of class *site* is, also by inheritance."""
        key = id(site.node)
        if key not in self._kinds:
            self._kinds[key] = TypeKind.PLAIN  # where a class inherits from itself
            self._kinds[key] = self._kind(site)
        return self._kinds[key]

    def _kind(self, site: ClassSite) -> TypeKind:
        for decorator in site.node.decorator_list:
            kind = self._decorator_kind(site, decorator)
            if kind is not None:
                return kind
        for base in self._resolver.bases(site):
            if isinstance(base, External):
                module, name = known_home(base)
                if module == "enum" and name in _ENUMS:
                    return TypeKind.ENUM
                if (module, name) == ("typing", "TypedDict"):
                    return TypeKind.TYPED_DICT
                if (module, name) == ("typing", "NamedTuple"):
                    return TypeKind.NAMED_TUPLE
            elif isinstance(base, ClassSite):
                kind = self.kind(base)
                if kind is not TypeKind.PLAIN:
                    return kind
        return TypeKind.PLAIN

    def _decorator_kind(self, site: ClassSite, decorator: ast.expr) -> TypeKind | None:
        dotted = dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
        symbol = self._resolver.resolve(site.scope, dotted) if dotted is not None else None
        if not isinstance(symbol, External):
            return None
        home = known_home(symbol)
        if home == ("dataclasses", "dataclass"):
            return TypeKind.DATACLASS
        return TypeKind.ATTRS if home in (("attrs", "define"), ("attrs", "frozen")) else None

    def _keyword(self, site: ClassSite, name: str) -> bool:
        """Whether the class's own decorator says ``name=True``."""
        for decorator in site.node.decorator_list:
            if isinstance(decorator, ast.Call) and self._decorator_kind(site, decorator):
                for keyword in decorator.keywords:
                    if keyword.arg == name:
                        return _is_constant(keyword.value, True)
        return False

    # -- bases and parameters ----------------------------------------------------------------------------------------

    def _base_types(self, site: ClassSite) -> Iterator[TypeExpression]:
        for each in site.node.bases:
            base = self._types.read(site.base_scope, each)
            if base != NamedType("builtins", "object"):
                yield base

    def _parameters(self, site: ClassSite) -> tuple[str, ...]:
        own = type_parameters(site.node)
        if own:
            return tuple(each.name for each in own)
        return open_parameters(tuple(self._base_types(site)))

    def _total(self, site: ClassSite) -> bool:
        return not any(each.arg == "total" and _is_constant(each.value, False) for each in site.node.keywords)

    # -- fields ------------------------------------------------------------------------------------------------------

    def _fields(self, site: ClassSite, kind: TypeKind) -> dict[str, Field]:
        if any(node is site.node for node in self._open):
            return {}
        self._open.append(site.node)
        try:
            fields = self._inherited(site, kind)
            decorated = any(self._decorator_kind(site, each) for each in site.node.decorator_list)
            if decorated or kind in (TypeKind.TYPED_DICT, TypeKind.NAMED_TUPLE):
                for field in self._own(site, kind):
                    if kind is TypeKind.ATTRS:
                        fields.pop(field.name, None)
                    fields[field.name] = field
            return fields
        finally:
            self._open.pop()

    def _inherited(self, site: ClassSite, kind: TypeKind) -> dict[str, Field]:
        fields: dict[str, Field] = {}
        for argument, base in reversed(list(zip(site.node.bases, self._resolver.bases(site), strict=True))):
            if not isinstance(base, ClassSite) or self.kind(base) is not kind:
                continue
            expression = self._types.read(site.base_scope, argument)
            arguments = expression.arguments if isinstance(expression, NamedType) else ()
            known = dict(zip(self._parameters(base), arguments, strict=False))
            for name, field in self._fields(base, kind).items():
                if kind is TypeKind.ATTRS:
                    fields.pop(name, None)
                declared = filled(field.type, known)
                if kind is TypeKind.TYPED_DICT and self._total(base) is not self._total(site):
                    declared = _kept_total(declared, is_total=self._total(base))
                fields[name] = attrs.evolve(field, type=declared)
        return fields

    def _own(self, site: ClassSite, kind: TypeKind) -> Iterator[Field]:
        keyword_only = self._keyword(site, "kw_only")
        docs = field_docs(site.node, site.module.positions.lines)
        factories = set(_default_methods(site.node))
        for node in _annotated(site.node):
            assert isinstance(node.target, ast.Name)
            name = node.target.id
            annotation = node.annotation
            if kind is TypeKind.DATACLASS and _ends_with(annotation, "KW_ONLY"):
                keyword_only = True
                continue
            declared = self._types.read(site.body_scope, annotation)
            if isinstance(declared, NamedType) and (declared.module, declared.name) == ("typing", "ClassVar"):
                continue
            if kind in _FIELD_KINDS:
                call = default_of(self._resolver, site.body_scope, node.value)
            else:
                call = FieldCall(default_of(self._resolver, site.body_scope, node.value).default)
            field = self._field(site.module.positions.place(node.target), name, declared, call=call, kind=kind)
            yield attrs.evolve(
                field,
                has_factory=field.has_factory or name in factories,
                keyword_only=keyword_only if call.keyword_only is None else call.keyword_only,
                doc=docs.get(name, ""),
            )

    def _field(self, place: Place, name: str, declared: TypeExpression, *, call: FieldCall, kind: TypeKind) -> Field:
        default: Default = call.default
        alias = call.alias
        if kind is TypeKind.ATTRS and not alias and name.startswith("_"):
            alias = name.lstrip("_")
        return Field(
            name,
            declared,
            place,
            default=default.text,
            default_names=default.names,
            has_factory=default.has_factory,
            keyword_only=bool(call.keyword_only),
            in_init=call.in_init,
            factory=default.factory,
            alias="" if alias == name else alias,
            is_compared=call.is_compared,
            is_mutable_default=default.is_mutable,
        )

    def _misfits(self, site: ClassSite, kind: TypeKind, fields: tuple[Field, ...]) -> tuple[str, ...]:
        """Where a constructor of the class's own, or an InitVar, wants other arguments than the fields."""
        if kind not in _FIELD_KINDS:
            return ()
        variables_ = tuple(
            field.name
            for field in fields
            if isinstance(field.type, NamedType)
            and (field.type.module, field.type.name) == ("dataclasses", "InitVar")
            and field.is_required
        )
        own = next((each for each in site.node.body if isinstance(each, FUNCTIONS) and each.name == "__init__"), None)
        if own is None or own.args.kwarg is not None:
            return variables_
        positional = [*own.args.posonlyargs, *own.args.args]
        required = [each.arg for each in positional[1 : len(positional) - len(own.args.defaults)]]  # without self
        pairs = zip(own.args.kwonlyargs, own.args.kw_defaults, strict=True)
        required += [each.arg for each, default in pairs if default is None]
        names = {each.arg for each in (*positional[1:], *own.args.kwonlyargs)}
        wanted = [field.alias or field.name for field in fields if field.in_init]
        lacking = [name for name in wanted if name not in names]
        return (*lacking, *(name for name in required if name not in wanted))

    # -- enums -------------------------------------------------------------------------------------------------------

    def _members(self, site: ClassSite) -> Iterator[tuple[str, str]]:
        for statement in site.node.body:
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name) and not target.id.startswith("_"):
                        yield target.id, site.module.positions.one_line(statement.value)


def open_parameters(bases: tuple[TypeExpression, ...]) -> tuple[str, ...]:
    """The type parameters of a class with these *bases*, in order: those of ``Generic`` if it is there."""
    for base in bases:
        home = (base.module, base.name) if isinstance(base, NamedType) and base.arguments else None
        if home in (("typing", "Generic"), ("typing", "Protocol")):
            return variables(base)
    return tuple(dict.fromkeys(name for base in bases for name in variables(base)))


def _kept_total(declared: TypeExpression, *, is_total: bool) -> TypeExpression:
    """The type of an inherited key, saying itself what the totality of its own class said of it (PEP 655)."""
    inner = declared
    while isinstance(inner, NamedType) and inner.arguments and inner.name in ("ReadOnly", "Required", "NotRequired"):
        if inner.name != "ReadOnly":
            return declared
        inner = inner.arguments[0]
    return NamedType("typing", "Required" if is_total else "NotRequired", (declared,))


def _in_order(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """Keyword-only fields come after the others in a constructor."""
    return tuple(sorted(fields, key=lambda field: field.keyword_only))


def _annotated(node: ast.ClassDef) -> Iterator[ast.AnnAssign]:
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement


def _default_methods(node: ast.ClassDef) -> Iterator[str]:
    """Fields whose default a method makes: ``@field.default``."""
    for statement in node.body:
        if isinstance(statement, FUNCTIONS):
            for decorator in statement.decorator_list:
                dotted = dotted_name(decorator) or ""
                if dotted.endswith(".default"):
                    yield dotted.partition(".")[0]


def _ends_with(annotation: ast.expr, name: str) -> bool:
    return (dotted_name(annotation) or "").rpartition(".")[2] == name


def _is_constant(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
