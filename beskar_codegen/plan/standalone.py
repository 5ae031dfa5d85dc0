"""Stand-alone mode: which types the descriptor module defines for itself, under which names, in which order.

Everything that the arguments and results are made of, transitively. Classes are written flat, with the fields they
inherit, because a value is read back as exactly its declared class and a base says nothing on the wire. The name of a
class *is* on the wire (it tells the members of a union apart), so of two classes with one name the second stands inside
a holder class and keeps its name.

Annotations are not evaluated when the module is imported, so they may refer forward; bases, defaults and the targets
of aliases may not. The order puts what is needed first, follows annotations as far as it can, and is otherwise that of
the names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count

import attrs

from beskar_codegen.model import DeclaredType, Field, LiteralType, NamedType, TypeExpression, TypeKind
from beskar_codegen.plan.defaults import can_be_copied
from beskar_codegen.plan.expressions import modernised, replaced, walk
from beskar_codegen.plan.plans import HERE, WrittenType

Home = tuple[str, str]

_BUILT_IN_FACTORIES = {"list", "dict", "set", "frozenset", "tuple", "str", "int", "float", "bool", "bytes"}
_EMPTY = {"[]": "list", "{}": "dict", "set()": "set", "list()": "list", "dict()": "dict"}
_HAVE_BASES = {TypeKind.ENUM}


@attrs.frozen
class Relocation:
    """Which types have moved into the module: their home to their name there; empty in import mode."""

    names: Mapping[Home, str]
    types: tuple[WrittenType, ...] = ()
    is_active: bool = True

    @property
    def reachable(self) -> frozenset[Home] | None:
        return frozenset(self.names) if self.is_active else None

    def moved(self, expression: TypeExpression) -> TypeExpression:
        """*expression*, with what has moved under its name there."""
        if not self.names:
            return expression

        def move(part: TypeExpression) -> TypeExpression | None:
            if isinstance(part, LiteralType):
                return attrs.evolve(part, names=self.moved_names(part.names))
            if not isinstance(part, NamedType) or (part.module, part.name) not in self.names:
                return None
            arguments = tuple(self.moved(argument) for argument in part.arguments)
            return NamedType(HERE, self.names[part.module, part.name], arguments)

        return replaced(expression, move)

    def moved_names(self, names: Sequence[tuple[str, str, str]]) -> tuple[tuple[str, str, str], ...]:
        """The references of a default, for the module."""
        return tuple((text, *self._moved_home(module, name)) for text, module, name in names)

    def lacks_default(self, field: Field) -> bool:
        """Whether the type, as written into the module, has to be given this field although the original has not."""
        if not self.is_active:
            return False
        if field.has_factory:
            return not factory_can_be_written(field)
        return field.default is not None and not can_be_copied(field.default, field, frozenset(self.names))

    def _moved_home(self, module: str, name: str) -> Home:
        head = name
        while head:
            if (module, head) in self.names:
                return HERE, self.names[module, head] + name[len(head) :]
            head = head.rpartition(".")[0]
        return module, name


def without_relocation() -> Relocation:
    """Import mode: every type stays where it is."""
    return Relocation({}, is_active=False)


def relocate(roots: Iterable[TypeExpression], known: Mapping[Home, DeclaredType], *, taken: set[str]) -> Relocation:
    """Move what *roots* are made of into the module.

    Args:
        known: the declared types.
        taken: names that the module uses otherwise.
    """
    needed = _closure(roots, known)
    order = _ordered(needed)
    names = _local_names(order, taken)
    relocation = Relocation(names)
    written = [_written(needed[home], relocation, is_recursive=_reaches(home, home, needed)) for home in order]
    return attrs.evolve(relocation, types=tuple(written))


def factory_can_be_written(field: Field) -> bool:
    """Whether the factory of *field* is a built-in one, which means the same in every module."""
    return field.factory in _BUILT_IN_FACTORIES


def with_factory(field: Field) -> Field:
    """*field*, with an empty list, dict or set as its default made by a factory: what a value shares, it may spoil."""
    factory = _EMPTY.get(field.default or "")
    return field if factory is None else attrs.evolve(field, default=None, has_factory=True, factory=factory)


def _closure(roots: Iterable[TypeExpression], known: Mapping[Home, DeclaredType]) -> dict[Home, DeclaredType]:
    needed: dict[Home, DeclaredType] = {}
    waiting = [home for root in roots for home in _homes(root)]
    while waiting:
        home = waiting.pop()
        declared = known.get(home)
        if declared is None or home in needed or declared.kind is TypeKind.PLAIN:
            continue
        needed[home] = declared
        waiting.extend([*_soft(declared), *_hard(declared)])
    return dict(sorted(needed.items()))


def _homes(expression: TypeExpression) -> Iterator[Home]:
    for part in walk(expression):
        if isinstance(part, NamedType):
            yield part.module, part.name
        elif isinstance(part, LiteralType):
            for _, module, name in part.names:
                yield from _homes_around(module, name)


def _homes_around(module: str, name: str) -> Iterator[Home]:
    """The homes that ``Outer.Inner.MEMBER`` may be found in, longest first."""
    parts = name.split(".")
    yield from ((module, ".".join(parts[:count])) for count in range(len(parts), 0, -1))


def _hard(declared: DeclaredType) -> Iterator[Home]:
    """What has to be defined before *declared*."""
    if declared.target is not None:
        yield from _homes(declared.target)
    if declared.kind in _HAVE_BASES:
        for base in declared.bases:
            yield from _homes(base)
    for field in declared.fields:
        for _, module, name in field.default_names:
            yield from _homes_around(module, name)


def _soft(declared: DeclaredType) -> Iterator[Home]:
    for field in declared.fields:
        yield from _homes(field.type)


def _ordered(needed: Mapping[Home, DeclaredType]) -> list[Home]:
    """Depth first; a circle of annotations is entered where it is met, and what must come first does all the same."""
    done: dict[Home, None] = {}
    met: set[Home] = set()
    begun: set[Home] = set()

    def visit(home: Home) -> None:
        if home in needed and home not in met:
            met.add(home)
            for other in (*_soft(needed[home]), *_hard(needed[home])):
                visit(other)
            define(home)

    def define(home: Home) -> None:
        if home in needed and home not in begun:
            begun.add(home)
            for other in _hard(needed[home]):
                define(other)
            done[home] = None

    for home in needed:
        visit(home)
    return list(done)


def _reaches(start: Home, goal: Home, needed: Mapping[Home, DeclaredType]) -> bool:
    seen: set[Home] = set()
    waiting = [start]
    while waiting:
        declared = needed.get(waiting.pop())
        if declared is None:
            continue
        for other in (*_soft(declared), *_hard(declared)):
            if other == goal:
                return True
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return False


def _local_names(order: Sequence[Home], taken: set[str]) -> dict[Home, str]:
    names: dict[Home, str] = {}
    used = set(taken)
    for home in order:
        own = home[1].rpartition(".")[2]
        if own not in used:
            used.add(own)
            names[home] = own
    for module, name in order:
        if (module, name) not in names:
            outer, _, own = name.rpartition(".")
            full = _camel(module) + _camel(outer)
            holder = next(
                each for each in chain((full,), (f"{full}{number}" for number in count(2))) if each not in used
            )
            used.add(holder)
            names[module, name] = f"{holder}.{own}"
    return names


def _camel(dotted: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in dotted.replace("_", ".").split("."))


def _written(declared: DeclaredType, relocation: Relocation, *, is_recursive: bool) -> WrittenType:
    def moved(expression: TypeExpression) -> TypeExpression:
        return relocation.moved(modernised(expression))

    fields = []
    for field in map(with_factory, declared.fields):
        if not field.in_init:
            continue
        lacks = relocation.lacks_default(field)
        names = () if lacks else relocation.moved_names(field.default_names)
        fields.append(
            attrs.evolve(
                field,
                type=moved(field.type) if declared.kind is not TypeKind.TYPED_DICT else relocation.moved(field.type),
                default=None if lacks else field.default,
                has_factory=field.has_factory and not lacks,
                default_names=names,
            )
        )
    return WrittenType(
        name=relocation.names[declared.module, declared.name],
        declared=attrs.evolve(
            declared,
            fields=tuple(fields),
            target=None if declared.target is None else moved(declared.target),
            bases=tuple(moved(base) for base in declared.bases) if declared.kind in _HAVE_BASES else (),
        ),
        is_recursive=is_recursive,
    )
