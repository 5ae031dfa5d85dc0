"""Topic names, topic filters, and the two trees that match them (MQTT 5.0, section 4.7).

A *name* is what a message is published to; a *filter* is what a session subscribes to, and may hold ``+`` (one level)
and a final ``#`` (all levels from there on, the parent included). A filter that starts with a wildcard does not match
names that start with ``$`` (4.7.2).

Both trees keep one dict per level, so that a match costs the depth of the name and never the number of
subscriptions (or, the other way round, of retained messages) that do not match. Nothing recurses, and a
name or filter may have 200 levels at most: without that bound a retained message of 64 KB could cost megabytes of tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

V = TypeVar("V")

MAX_LEVELS = 200
"""Levels that a name or a filter may have, unless told otherwise."""


def name_fault(name: str, levels: int = MAX_LEVELS) -> str | None:
    """Why *name* cannot be published to; ``None`` if it can. *levels*: as many it may have."""
    if not name:
        return "a topic name is not empty"
    if "+" in name or "#" in name:
        return f"topic name {name[:80]!r} holds a wildcard"
    if "\0" in name:
        return f"topic name {name[:80]!r} holds NUL"
    if name.count("/") >= levels:
        return f"topic name {name[:80]!r} has more than {levels} levels"
    return None


def filter_fault(text: str, most: int = MAX_LEVELS) -> str | None:
    """Why *text* cannot be subscribed to; ``None`` if it can. *most*: as many levels it may have."""
    if not text:
        return "a topic filter is not empty"
    if "\0" in text:
        return f"topic filter {text[:80]!r} holds NUL"
    levels = text.split("/")
    if len(levels) > most:
        return f"topic filter {text[:80]!r} has more than {most} levels"
    for position, level in enumerate(levels):
        if "#" in level and (level != "#" or position != len(levels) - 1):
            return f"topic filter {text[:80]!r}: '#' stands alone in the last level"
        if "+" in level and level != "+":
            return f"topic filter {text[:80]!r}: '+' stands alone in its level"
    return None


class _Branch(Generic[V]):
    __slots__ = ("children", "values")

    def __init__(self) -> None:
        self.children: dict[str, _Branch[V]] = {}
        self.values: dict[object, V] = {}


class SubscriptionTree(Generic[V]):
    """Values under filters: a filter holds one value per owner; a name finds the values of all filters it matches."""

    def __init__(self) -> None:
        self._root: _Branch[V] = _Branch()

    def put(self, topic_filter: str, owner: object, value: V) -> V | None:
        """Set the value of *owner* under *topic_filter*; the value it replaces."""
        branch = self._root
        for level in topic_filter.split("/"):
            child = branch.children.get(level)
            if child is None:
                child = branch.children[level] = _Branch()
            branch = child
        previous = branch.values.get(owner)
        branch.values[owner] = value
        return previous

    def get(self, topic_filter: str, owner: object) -> V | None:
        branch = self._root
        for level in topic_filter.split("/"):
            child = branch.children.get(level)
            if child is None:
                return None
            branch = child
        return branch.values.get(owner)

    def remove(self, topic_filter: str, owner: object) -> V | None:
        """Take the value of *owner* away, and the branches that are bare without it; the value removed."""
        path: list[tuple[_Branch[V], str]] = []
        branch = self._root
        for level in topic_filter.split("/"):
            child = branch.children.get(level)
            if child is None:
                return None
            path.append((branch, level))
            branch = child
        value = branch.values.pop(owner, None)
        for parent, level in reversed(path):
            child = parent.children[level]
            if child.values or child.children:
                break
            del parent.children[level]
        return value

    def match(self, name: str) -> list[V]:
        """The values of every filter that matches *name*, in no particular order."""
        found: list[V] = []
        levels = name.split("/")
        wildcards = not name.startswith("$")
        front = [self._root]
        for level in levels:
            following: list[_Branch[V]] = []
            for branch in front:
                children = branch.children
                if wildcards:
                    rest = children.get("#")
                    if rest is not None:
                        found.extend(rest.values.values())
                    single = children.get("+")
                    if single is not None:
                        following.append(single)
                exact = children.get(level)
                if exact is not None:
                    following.append(exact)
            if not following:
                return found
            wildcards = True
            front = following
        for branch in front:
            found.extend(branch.values.values())
            rest = branch.children.get("#")  # "a/#" matches "a" as well
            if rest is not None:
                found.extend(rest.values.values())
        return found


class _Leaf(Generic[V]):
    __slots__ = ("children", "name")

    def __init__(self) -> None:
        self.children: dict[str, _Leaf[V]] = {}
        self.name: str | None = None


class RetainedTree(Generic[V]):
    """Values under names: a name holds one value; a filter finds the values of all names that it matches."""

    def __init__(self) -> None:
        self._root: _Leaf[V] = _Leaf()
        self._values: dict[str, V] = {}

    def __len__(self) -> int:
        return len(self._values)

    def items(self) -> Iterator[tuple[str, V]]:
        return iter(self._values.items())

    def get(self, name: str) -> V | None:
        return self._values.get(name)

    def put(self, name: str, value: V) -> None:
        if name not in self._values:
            leaf = self._root
            for level in name.split("/"):
                child = leaf.children.get(level)
                if child is None:
                    child = leaf.children[level] = _Leaf()
                leaf = child
            leaf.name = name
        self._values[name] = value

    def remove(self, name: str) -> V | None:
        value = self._values.pop(name, None)
        if value is None:
            return None
        path: list[tuple[_Leaf[V], str]] = []
        leaf = self._root
        for level in name.split("/"):
            path.append((leaf, level))
            leaf = leaf.children[level]
        leaf.name = None
        for parent, level in reversed(path):
            child = parent.children[level]
            if child.name is not None or child.children:
                break
            del parent.children[level]
        return value

    def match(self, topic_filter: str) -> list[V]:
        """The values of every name that *topic_filter* matches, each branch in the order of its first use."""
        if "+" not in topic_filter and "#" not in topic_filter:
            value = self._values.get(topic_filter)
            return [] if value is None else [value]
        front = [self._root]
        for depth, level in enumerate(topic_filter.split("/")):
            if level == "#":
                return self._all_below(front, from_root=depth == 0)
            if level == "+":
                # 4.7.2: a leading wildcard leaves "$…" alone
                front = [
                    child for leaf in front for key, child in leaf.children.items() if depth or not key.startswith("$")
                ]
            else:
                front = [child for leaf in front if (child := leaf.children.get(level)) is not None]
        return [self._values[leaf.name] for leaf in front if leaf.name is not None]

    def _all_below(self, leaves: list[_Leaf[V]], *, from_root: bool) -> list[V]:
        found: list[V] = []
        stack = list(reversed(leaves))
        at_root = from_root
        while stack:
            leaf = stack.pop()
            if leaf.name is not None:
                found.append(self._values[leaf.name])
            children = leaf.children
            if at_root:
                stack.extend(reversed([child for key, child in children.items() if not key.startswith("$")]))
                at_root = False
            else:
                stack.extend(reversed(children.values()))
        return found
