"""Names that may stand as a level of an MQTT topic."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.model.names import MAX_NAME_BYTES, NAME_PATTERN, checked_name, name_problem


@pytest.mark.parametrize("name", ["a", "media.video.transcode", "Größe", "a b", "名前", "x" * MAX_NAME_BYTES, "a$b"])
def test_a_name_of_any_language_is_taken(name: str) -> None:
    assert checked_name("queue", name) == name


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "is empty or blank"),
        (" \t", "is empty or blank"),
        ("a/b", "'/'"),
        ("a+", "'+'"),
        ("#", "'#'"),
        ("a\0", "'\\x00'"),
        ("a\n", "'\\n'"),
        ("a\ud800", "'\\ud800'"),
        ("a\uffff", "'\\uffff'"),
        ("a\ufdd0", "'\\ufdd0'"),
        ("a\U0001fffe", "'\\U0001fffe'"),
        ("$share", "starts with '$'"),
        (" a", "starts or ends with white space"),
        ("a ", "starts or ends with white space"),
        ("x" * (MAX_NAME_BYTES + 1), "longer than 200 bytes"),
        ("é" * 101, "longer than 200 bytes"),
        (5, "is not a string but int"),
        (None, "is not a string but NoneType"),
    ],
)
def test_what_cannot_stand_in_a_topic_is_refused_by_kind_name_and_rule(name: object, problem: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        checked_name("worker id", name)
    assert str(caught.value).startswith(f"worker id {name!r} ")
    assert problem in str(caught.value)


@given(st.text(max_size=300))
def test_what_is_taken_is_one_level_of_a_topic(name: str) -> None:
    if name_problem(name) is None:
        assert 0 < len(name.encode()) <= MAX_NAME_BYTES
        assert not set("/+#\0") & set(name)


@given(st.text(st.characters() | st.sampled_from("$+#/ \u00a0\ufdd0\uffff\U0001fffe"), min_size=1, max_size=20))
def test_decoders_and_options_take_the_same_names(name: str) -> None:
    assert (re.search(NAME_PATTERN, name) is not None) == (name_problem(name) is None)
