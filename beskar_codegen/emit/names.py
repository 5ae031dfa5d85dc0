"""Imports follow use: a file refers to things by their homes, and its imports come out of that.

While a text is made, :class:`Names` answers each reference with the bare name and notes it down; then it allots names.
Two things of one name, or a name that the file uses itself, get an alias made from the module's name. If there is one,
the text is made a second time, with the allotted names. The import block is sorted as isort and Ruff sort it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Final

# Modules of whose names one speaks with the module's name before them.
_SPOKEN_WHOLE: Final = frozenset({"attr", "attrs", "dataclasses", "enum"})
# What typing got after Python 3.11, the oldest that runs the text; typing_extensions has it for all.
_NEWER_TYPING: Final = frozenset(
    {
        "NoDefault",
        "ReadOnly",
        "TypeAliasType",
        "TypeForm",
        "TypeIs",
        "get_protocol_members",
        "is_protocol",
        "override",
    }
)
_NUMBERS: Final = re.compile(r"(\d+)")
_FUTURE, _STANDARD, _THIRD, _FIRST = range(4)


class Names:
    """The names of one file.

    Args:
        module: dotted name of the file; references to it need no import.
        reserved: names that the file uses for something else.
        first_party: top-level packages whose imports stand last.
    """

    def __init__(self, module: str, reserved: Iterable[str], first_party: frozenset[str]) -> None:
        self._module = module
        self._reserved = frozenset(reserved)
        self._first_party = first_party
        self._used: set[tuple[str, str]] = set()
        self._offered: dict[tuple[str, str], str] = {}
        self._kept: set[tuple[str, str, str]] = set()
        self._exported: set[tuple[str, str]] = set()
        self._allotted: dict[tuple[str, str], str] = {}

    def __call__(self, module: str, name: str) -> str:
        """How the file calls *name* (qualified, as in ``Outer.Inner``) of *module*."""
        if module in {"", "builtins", self._module}:
            return name
        head, dot, rest = name.partition(".")
        if (module, head) in self._offered:
            bound = self._offered[module, head]
            self._kept.add((module, head, bound))
            return bound + dot + rest
        if module == "typing" and head in _NEWER_TYPING:
            module = "typing_extensions"
        if module in _SPOKEN_WHOLE:
            self._used.add((module, ""))
            return f"{self._allotted.get((module, ''), module)}.{name}"
        self._used.add((module, head))
        return self._allotted.get((module, head), head) + dot + rest

    def offer(self, module: str, name: str, bound: str) -> None:
        """A reference to *name* of *module* is to use the name *bound*, which the file has for it."""
        self._offered.setdefault((module, name), bound)

    def export(self, module: str, name: str) -> None:
        """Import *name* as itself: a stub gives it on to those who import the stub's module."""
        self._kept.add((module, name, name))
        self._exported.add((module, name))

    def keep(self, module: str, name: str, bound: str) -> None:
        """Import *name* of *module* as *bound*: the text uses it as it is."""
        self._kept.add((module, name, bound))

    def settle(self) -> bool:
        """Allot a name to everything used so far; whether everything has the name it was called by so far."""
        taken = set(self._reserved)
        for module, name in sorted(self._used):
            own = name or module
            candidates = (_alias(module, name, depth) for depth in range(1, module.count(".") + 2))
            chosen = next((each for each in chain((own,), candidates) if each not in taken), None)
            while chosen is None or chosen in taken:
                chosen = (chosen or own) + "_"
            taken.add(chosen)
            self._allotted[module, name] = chosen
        return all(chosen == (name or module) for (module, name), chosen in self._allotted.items())

    def import_lines(self, limit: int) -> list[str]:
        """The import block, without ``from __future__``; sections are separated by an empty line."""
        sections: dict[int, list[tuple[tuple[object, ...], list[str]]]] = {}
        together: dict[str, list[str]] = {}
        allotted = {(module, name, alias) for (module, name), alias in self._allotted.items()}
        for module, name, alias in sorted(allotted | self._kept):
            section = sections.setdefault(self._section(module), [])
            if not name:
                renamed = "" if alias in {module, module.partition(".")[0]} else f" as {alias}"
                section.append(((0, _natural(module), ()), [f"import {module}{renamed}"]))
            elif alias != name or (module, name) in self._exported:
                statement = _from_lines(module, [f"{name} as {alias}"], limit)
                section.append(((1, _natural(module), member_order(name)), statement))
            else:
                together.setdefault(module, []).append(name)
        for module, names in together.items():
            ordered = sorted(names, key=member_order)
            key = (1, _natural(module), member_order(ordered[0]))
            sections.setdefault(self._section(module), []).append((key, _from_lines(module, ordered, limit)))
        lines: list[str] = []
        for number in sorted(sections):
            if lines:
                lines.append("")
            for _, statement in sorted(sections[number]):
                lines.extend(statement)
        return lines

    def _section(self, module: str) -> int:
        top = module.partition(".")[0]
        if top == "__future__":
            return _FUTURE
        if top in self._first_party:
            return _FIRST
        return _STANDARD if top in sys.stdlib_module_names else _THIRD


def with_names(
    module: str, reserved: Iterable[str], first_party: frozenset[str], write: Callable[[Names], list[str]]
) -> tuple[Names, list[str]]:
    """What *write* writes once all names are known, and the names."""
    names = Names(module, reserved, first_party)
    written = write(names)
    return names, written if names.settle() else write(names)


def member_order(name: str) -> tuple[int, tuple[tuple[int, int, str], ...], str]:
    """Sorts names as import sorters do: constants, classes, the rest; numbers by value."""
    if len(name) > 1 and name.isupper():
        kind = 0
    elif name[:1].isupper():
        kind = 1
    else:
        kind = 2
    return kind, _natural(name), name


def _natural(name: str) -> tuple[tuple[int, int, str], ...]:
    return tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part) for part in _NUMBERS.split(name.lower()) if part
    )


def _alias(module: str, name: str, depth: int) -> str:
    parts = [part for piece in module.split(".")[-depth:] for part in piece.split("_") if part]
    if not name:
        return "_".join(["_", *parts]).lower()
    if len(name) > 1 and name.isupper():
        return "_".join([*parts, name]).upper()
    if name[:1].isupper():
        return "".join(part[:1].upper() + part[1:] for part in parts) + name
    return "_".join([*parts, name])


def _from_lines(module: str, names: list[str], limit: int) -> list[str]:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= limit:
        return [line]
    return [f"from {module} import (", *(f"    {name}," for name in names), ")"]
