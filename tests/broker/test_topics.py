"""Names, filters and the two trees, against the plain reading of MQTT 5.0 section 4.7."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beskar_jobs.broker.topics import MAX_LEVELS, RetainedTree, SubscriptionTree, filter_fault, name_fault

level = st.sampled_from(["", "a", "b", "$x", "ä"])
names = st.lists(level, min_size=1, max_size=4).map("/".join).filter(bool)
filters = st.builds(
    lambda levels, tail: "/".join(levels + tail),
    st.lists(st.one_of(level, st.just("+")), min_size=0, max_size=3),
    st.sampled_from([[], ["#"]]),
).filter(bool)


def matches(topic_filter: str, name: str) -> bool:
    """The rules, one level at a time."""
    wanted, levels = topic_filter.split("/"), name.split("/")
    if name.startswith("$") and wanted[0] in {"+", "#"}:
        return False
    for position, part in enumerate(wanted):
        if part == "#":
            return True
        if position >= len(levels) or part not in {"+", levels[position]}:
            return False
    return len(levels) == len(wanted)


def parent_matches(topic_filter: str, name: str) -> bool:
    """``a/#`` matches ``a`` too (4.7.1.2)."""
    return topic_filter.endswith("/#") and matches(topic_filter[:-2], name)


@given(st.lists(filters, max_size=8), st.lists(filters, max_size=4), names)
def test_subscriptions_match_as_the_rules_say_after_any_puts_and_removals(
    put: list[str], removed: list[str], name: str
) -> None:
    tree: SubscriptionTree[str] = SubscriptionTree()
    present: dict[str, str] = {}
    for text in put:
        assert tree.put(text, "owner", text) == present.get(text)
        present[text] = text
    for text in removed:
        assert tree.remove(text, "owner") == present.pop(text, None)
    expected = [text for text in present if matches(text, name) or parent_matches(text, name)]
    assert Counter(tree.match(name)) == Counter(expected)


@given(st.lists(names, max_size=8), st.lists(names, max_size=4), filters)
def test_retained_match_as_the_rules_say_after_any_puts_and_removals(
    put: list[str], removed: list[str], topic_filter: str
) -> None:
    tree: RetainedTree[str] = RetainedTree()
    present: set[str] = set()
    for name in put:
        tree.put(name, name)
        present.add(name)
    for name in removed:
        assert (tree.remove(name) is not None) == (name in present)
        present.discard(name)
    expected = {name for name in present if matches(topic_filter, name) or parent_matches(topic_filter, name)}
    found = tree.match(topic_filter)
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert len(tree) == len(present)


def test_removal_leaves_no_branch_behind() -> None:
    subscriptions: SubscriptionTree[int] = SubscriptionTree()
    retained: RetainedTree[int] = RetainedTree()
    for number in range(100):
        subscriptions.put(f"a/{number}/+/#", 1, 1)
        retained.put(f"a/{number}/b", 1)
    for number in range(100):
        subscriptions.remove(f"a/{number}/+/#", 1)
        retained.remove(f"a/{number}/b")
    assert not subscriptions._root.children
    assert not retained._root.children


@pytest.mark.parametrize("name", ["", "a/+", "#", "a\0b", "/" * MAX_LEVELS])
def test_bad_names_are_named(name: str) -> None:
    assert name_fault(name)


@pytest.mark.parametrize("text", ["", "a/#/b", "a#", "a/b+", "+a", "\0", "/" * MAX_LEVELS])
def test_bad_filters_are_named(text: str) -> None:
    assert filter_fault(text)


@pytest.mark.parametrize("text", ["#", "+", "/", "+/+", "a/#", "a//b", "$SYS/#", "/+", "/" * (MAX_LEVELS - 1)])
def test_good_filters_pass(text: str) -> None:
    assert filter_fault(text) is None
