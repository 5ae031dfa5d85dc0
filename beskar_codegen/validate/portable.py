"""Which types can make the round trip through JSON, told from the model alone.

The counterpart of :mod:`beskar_jobs.wire.typewalk`, which looks at types as they are at run time: same order, same
verdicts. A class of an installed package is not read here; it is trusted, and the decorator looks at it at import.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from beskar_codegen.model import (
    DeclaredType,
    EllipsisType,
    LiteralType,
    NamedType,
    NoneType,
    TypeExpression,
    TypeKind,
    TypeVariable,
    UnionType,
    UnresolvedType,
)
from beskar_codegen.read.types import filled
from beskar_codegen.validate.spelling import spelled
from beskar_codegen.validate.standard import SCALARS, is_standard, may_be_refused

Home = tuple[str, str]
Shapes = frozenset[str]

_ARRAYS: Final = {
    ("builtins", "list"),
    ("builtins", "tuple"),
    ("builtins", "set"),
    ("builtins", "frozenset"),
    ("collections.abc", "MutableSequence"),
    ("collections.abc", "MutableSet"),
}
_DICTS: Final = {("builtins", "dict"), ("collections.abc", "Mapping"), ("collections.abc", "MutableMapping")}
_VAGUE: Final = {("collections.abc", name) for name in ("Sequence", "Collection", "Iterable", "Set")}
_ANYTHING: Final = {("typing", "Any"), ("builtins", "object")}
_QUALIFIERS: Final = {("typing", name) for name in ("Required", "NotRequired", "ReadOnly", "Final", "Annotated")}
_OPAQUE: Final[Shapes] = frozenset({"?"})


class NotPortable(Exception):
    """A type whose values cannot make the round trip; *steps* lead to the part, innermost first.

    Attributes:
        unresolved: the name that could not be followed, if that is what it was.
    """

    def __init__(self, problem: str, unresolved: UnresolvedType | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.unresolved = unresolved
        self.steps: list[str] = []

    def text(self, root: str) -> str:
        return f"{root}{''.join(reversed(self.steps))} {self.problem}"


@attrs.frozen
class Portability:
    """Answers for the types of one module.

    Attributes:
        known: the declared types, by home.
        registered: types that the project makes portable by ``register_type``.
    """

    known: Mapping[Home, DeclaredType]
    registered: frozenset[Home] = frozenset()

    def problem(self, expression: TypeExpression) -> NotPortable | None:
        """What is wrong with *expression*; ``None`` if nothing is."""
        try:
            self._walk(expression, {})
        except NotPortable as problem:
            return problem
        except RecursionError:
            return NotPortable("is nested too deeply")
        return None

    def bare(self, expression: TypeExpression) -> TypeExpression:
        """What is left of a type without NewType, qualifiers and aliases."""
        for _ in range(100):
            if not isinstance(expression, NamedType):
                return expression
            declared = self.known.get((expression.module, expression.name))
            if (expression.module, expression.name) in _QUALIFIERS and expression.arguments:
                expression = expression.arguments[0]
            elif declared is not None and declared.target is not None:
                variables = dict(zip(declared.type_parameters, expression.arguments, strict=False))
                expression = filled(declared.target, variables)
            else:
                return expression
        raise NotPortable("is an alias that is a part of itself")

    def _walk(self, expression: TypeExpression, made: dict[TypeExpression, Shapes]) -> Shapes:
        expression = self.bare(expression)
        if expression not in made:
            made[expression] = frozenset()
            made[expression] = self._shapes(expression, made)
        return made[expression]

    def _part(self, expression: TypeExpression, step: str, made: dict[TypeExpression, Shapes]) -> Shapes:
        try:
            return self._walk(expression, made)
        except NotPortable as problem:
            problem.steps.append(step)
            raise

    def _shapes(self, expression: TypeExpression, made: dict[TypeExpression, Shapes]) -> Shapes:
        if isinstance(expression, NoneType):
            return frozenset({"null"})
        if isinstance(expression, UnionType):
            return self._union(expression, made)
        if isinstance(expression, LiteralType):
            return self._literal(expression)
        if isinstance(expression, TypeVariable):
            raise NotPortable(f"leaves the type variable {expression.name} open")
        if isinstance(expression, UnresolvedType):
            raise NotPortable(f"names {expression.text}, which {expression.reason}", expression)
        if isinstance(expression, EllipsisType):
            raise NotPortable("is no type whose values can be written as JSON")
        return self._named(expression, made)

    def _named(self, expression: NamedType, made: dict[TypeExpression, Shapes]) -> Shapes:
        home = (expression.module, expression.name)
        if home in self.registered:
            return frozenset({"string"})
        if home in SCALARS:
            return frozenset({SCALARS[home]})
        if home in _ANYTHING:
            raise NotPortable("can be anything; say which types it may have")
        if home in _ARRAYS or home in _DICTS:
            if not expression.arguments:
                raise NotPortable(f"does not say what is in it; say {expression.name}[…]")
            return self._collection(expression, made)
        if home in _VAGUE:
            raise NotPortable("does not say which class comes back; say list, tuple, set or frozenset")
        declared = self.known.get(home)
        if declared is not None:
            return self._declared(expression, declared, made)
        if is_standard(expression.module) and may_be_refused(home):
            raise self._refusal(expression)
        return _OPAQUE  # a class of an installed package: the decorator will look at it

    def _refusal(self, expression: NamedType) -> NotPortable:
        return NotPortable(
            f"is {spelled(expression)}, which is none of the types that can be written as JSON; "
            "make it an attrs class or a dataclass, add it by register_type, or pass a path or an id"
        )

    def _declared(self, expression: NamedType, declared: DeclaredType, made: dict[TypeExpression, Shapes]) -> Shapes:
        if declared.kind is TypeKind.ENUM:
            return frozenset({enum_shape(declared)})
        if declared.kind is TypeKind.PLAIN:
            for base in declared.open_bases:
                if base.exists:
                    raise NotPortable(f"has the base class {base.text}, which {base.reason}", base)
            if self._has_installed_base(declared):
                return _OPAQUE
            raise self._refusal(expression)
        made[expression] = frozenset({"object"})
        self._check_fields(declared)
        variables = dict(zip(declared.type_parameters, expression.arguments, strict=False))
        for field in declared.fields:
            if field.in_init:
                self._part(filled(field.type, variables), f".{field.name}", made)
        return made[expression]

    def _has_installed_base(self, declared: DeclaredType) -> bool:
        for base in declared.bases:
            if isinstance(base, NamedType):
                known = self.known.get((base.module, base.name))
                if known is not None and self._has_installed_base(known):
                    return True
                if known is None and not is_standard(base.module):
                    return True
        return False

    def _check_fields(self, declared: DeclaredType) -> None:
        for field in declared.fields:
            if not field.in_init and field.is_compared:
                raise NotPortable(
                    f"has the field {field.name!r} that its constructor does not take, so that its value would be "
                    "lost; take it out of comparisons (eq=False), or make it a property"
                )
        if declared.misfits:
            names = ", ".join(declared.misfits)
            raise NotPortable(f"has a constructor whose arguments are not its fields: {names}")
        for field in declared.fields:
            missing = first_unresolved(field.type)
            if missing is not None and not missing.exists:
                raise NotPortable(
                    f"has annotations that cannot be resolved ({missing.text} {missing.reason}); what they name has "
                    "to be defined before the handler, and imported outside TYPE_CHECKING",
                    missing,
                )
            if field.name == "_type":
                raise NotPortable("has a field '_type', the name of the tag in unions")

    def _collection(self, expression: NamedType, made: dict[TypeExpression, Shapes]) -> Shapes:
        arguments = expression.arguments
        if (expression.module, expression.name) in _DICTS:
            if len(arguments) != 2:
                raise NotPortable("does not say the types of its keys and values")
            key = self.bare(arguments[0])
            shapes = self._part(key, "[key]", made)
            if key != NamedType("builtins", "int") and shapes not in ({"string"}, _OPAQUE):
                kind = spelled(arguments[0])
                raise NotPortable(f"has keys of type {kind}, which do not stand as a string in JSON")
            self._part(arguments[1], "[value]", made)
            return frozenset({"object"})
        if arguments == (NamedType("typing", "Never"),):  # tuple[()]
            return frozenset({"array"})
        alike = expression.name != "tuple" or arguments[1:] == (EllipsisType(),)
        for place, item in enumerate(arguments[:1] if alike else arguments):
            self._part(item, "[]" if alike else f"[{place}]", made)
        return frozenset({"array"})

    def _members(self, expression: UnionType) -> tuple[TypeExpression, ...]:
        """The members, bare and flat; all literals as one."""
        flat: dict[TypeExpression, None] = {}
        values: list[str] = []
        names: list[tuple[str, str, str]] = []
        pending = list(expression.members)
        for _ in range(1000):
            if not pending:
                break
            member = self.bare(pending.pop(0))
            if member == expression:
                raise NotPortable("is an alias that is a part of itself")
            if isinstance(member, UnionType):
                pending[:0] = member.members
            elif isinstance(member, LiteralType):
                values += member.values
                names += member.names
            else:
                flat[member] = None
        if values:
            flat[LiteralType(tuple(dict.fromkeys(values)), tuple(dict.fromkeys(names)))] = None
        return tuple(flat)

    def _union(self, expression: UnionType, made: dict[TypeExpression, Shapes]) -> Shapes:
        members = self._members(expression)
        first: dict[str, TypeExpression] = {}
        for member in members:
            for shape in sorted(self._walk(member, made) - _OPAQUE):
                other = first.setdefault(shape, member)
                if other is member:
                    continue
                if shape != "object":
                    raise NotPortable(
                        f"is a union with two members that stand as {shape} in JSON and cannot be told apart"
                    )
                if self._tag(other) is None or self._tag(member) is None:
                    raise NotPortable("is a union of a dict with another dict or class, which cannot be told apart")
        tags = [tag for tag in map(self._tag, members) if tag is not None]
        if len(set(tags)) != len(tags):
            raise NotPortable("is a union of two classes of the same name, which cannot be told apart")
        return frozenset(first) or _OPAQUE

    def _tag(self, member: TypeExpression) -> str | None:
        """The name that tells a class with fields from others in a union; ``None`` for all else."""
        declared = self.known.get((member.module, member.name)) if isinstance(member, NamedType) else None
        if declared is None or declared.kind not in (TypeKind.ATTRS, TypeKind.DATACLASS, TypeKind.NAMED_TUPLE):
            return None
        return declared.name.rpartition(".")[2]

    def _literal(self, expression: LiteralType) -> Shapes:
        homes = {text: (module, name) for text, module, name in expression.names}
        shapes: set[str] = set()
        plain: list[tuple[str, object]] = []
        for text in expression.values:
            if text in homes:
                module, name = homes[text]
                declared = self.known.get((module, name.rpartition(".")[0]))
                if declared is None or declared.kind is not TypeKind.ENUM:
                    continue
                shapes.add(enum_shape(declared))
                values = dict(enum_values(declared) or ())
                member = name.rpartition(".")[2]
                plain.append((enum_shape(declared), values.get(member, member)))
                continue
            try:
                value = ast.literal_eval(text)
            except (ValueError, SyntaxError):
                continue
            shape = _LITERAL_SHAPES.get(type(value))
            if shape is None:
                raise NotPortable(f"Literal[{text}] is not a str, int, bool, None or enum member")
            shapes.add(shape)
            plain.append((shape, value))
        if len(set(plain)) != len(plain):
            raise NotPortable("two of the literals look the same in JSON")
        return frozenset(shapes) or _OPAQUE


_LITERAL_SHAPES: Final[Mapping[type, str]] = {str: "string", int: "integer", bool: "boolean", type(None): "null"}


def enum_values(declared: DeclaredType) -> Sequence[tuple[str, object]] | None:
    """Names and values of an enum's members; ``None`` where a value is made by running code."""
    found: list[tuple[str, object]] = []
    for name, text in declared.members:
        try:
            found.append((name, ast.literal_eval(text)))
        except (ValueError, SyntaxError):
            return None
    return found


def enum_shape(declared: DeclaredType) -> str:
    """Whether the members stand in JSON as numbers or as strings: values if all are alike, else names."""
    values = enum_values(declared)
    if values is not None:
        return "integer" if values and {type(value) for _, value in values} == {int} else "string"
    bases = {(base.module, base.name) for base in declared.bases if isinstance(base, NamedType)}
    return "string" if ("enum", "StrEnum") in bases or ("builtins", "str") in bases else "integer"


def first_unresolved(expression: TypeExpression) -> UnresolvedType | None:
    """The first name in *expression* that could not be followed."""
    if isinstance(expression, UnresolvedType):
        return expression
    parts: Sequence[TypeExpression] = ()
    if isinstance(expression, NamedType):
        parts = expression.arguments
    elif isinstance(expression, UnionType):
        parts = expression.members
    return next((found for part in parts if (found := first_unresolved(part)) is not None), None)
