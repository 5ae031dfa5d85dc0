"""Operations on types as written: walking, replacing, bringing old spellings up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from beskar_codegen.model import NamedType, TypeExpression, TypeVariable, UnionType

# The classes in typing that only repeat another one are deprecated, and linters say so.
_TODAY = {
    **{("typing", name): ("builtins", name.lower()) for name in ("List", "Dict", "Set", "FrozenSet", "Tuple", "Type")},
    ("typing", "Text"): ("builtins", "str"),
    ("typing", "Deque"): ("collections", "deque"),
    ("typing", "DefaultDict"): ("collections", "defaultdict"),
    ("typing", "OrderedDict"): ("collections", "OrderedDict"),
    ("typing", "Counter"): ("collections", "Counter"),
    ("typing", "AbstractSet"): ("collections.abc", "Set"),
    **{
        ("typing", name): ("collections.abc", name)
        for name in (
            "Collection",
            "Container",
            "Iterable",
            "Iterator",
            "Mapping",
            "MutableMapping",
            "MutableSequence",
            "MutableSet",
            "Sequence",
        )
    },
    ("typing_extensions", "Literal"): ("typing", "Literal"),
    ("typing_extensions", "Any"): ("typing", "Any"),
    ("typing_extensions", "NotRequired"): ("typing", "NotRequired"),
    ("typing_extensions", "Required"): ("typing", "Required"),
}
_ANNOTATED = {("typing", "Annotated"), ("typing_extensions", "Annotated")}
_FINAL = {("typing", "Final"), ("typing_extensions", "Final")}


def walk(expression: TypeExpression) -> Iterator[TypeExpression]:
    """*expression* and all its parts, outermost first."""
    yield expression
    for part in _parts(expression):
        yield from walk(part)


def replaced(expression: TypeExpression, by: Callable[[TypeExpression], TypeExpression | None]) -> TypeExpression:
    """*expression* with each part for which *by* has an answer replaced; what it answers is left as it is."""
    answer = by(expression)
    if answer is not None:
        return answer
    match expression:
        case NamedType(module=module, name=name, arguments=[_, *_] as arguments):
            return NamedType(module, name, tuple([replaced(part, by) for part in arguments]))
        case UnionType(members=members):
            return UnionType(tuple([replaced(part, by) for part in members]))
        case _:
            return expression


def filled(expression: TypeExpression, variables: Mapping[str, TypeExpression]) -> TypeExpression:
    """*expression* with type variables filled in."""
    if not variables:
        return expression
    return replaced(expression, lambda e: variables.get(e.name) if isinstance(e, TypeVariable) else None)


def modernised(expression: TypeExpression) -> TypeExpression:
    """*expression* in the spelling of today; metadata of ``Annotated`` and the qualifier ``Final`` left out."""
    if isinstance(expression, NamedType):
        home = (expression.module, expression.name)
        if home in _ANNOTATED or (home in _FINAL and expression.arguments):
            return modernised(expression.arguments[0])
        module, name = _TODAY.get(home, home)
        return NamedType(module, name, tuple([modernised(part) for part in expression.arguments]))
    if isinstance(expression, UnionType):
        return UnionType(tuple([modernised(part) for part in expression.members]))
    return expression


def _parts(expression: TypeExpression) -> tuple[TypeExpression, ...]:
    match expression:
        case NamedType():
            return expression.arguments
        case UnionType():
            return expression.members
        case _:
            return ()
