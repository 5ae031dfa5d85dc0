"""Retry: a value that says when, with the dice brought from outside."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.model.retry import MAX_DELAY_SECONDS, MAX_RETRIES, NO_RETRY, Retry

seconds = st.floats(0, MAX_DELAY_SECONDS)
dice = st.floats(-1, 1)


class Boom(Exception):
    pass


@given(
    delays=st.lists(seconds, min_size=1, max_size=5), jitter=st.floats(-2, 3), retry=st.integers(1, MAX_RETRIES), r=dice
)
def test_a_delay_is_bounded_by_its_jitter(delays: list[float], jitter: float, retry: int, r: float) -> None:
    policy = Retry(MAX_RETRIES, delays=delays, jitter=jitter)
    base = delays[min(retry, len(delays)) - 1]
    delay = policy.delay(retry, r)
    slack = timedelta(microseconds=1)
    assert timedelta(0) <= delay
    assert timedelta(seconds=base * (1 - policy.jitter)) - slack <= delay
    assert delay <= timedelta(seconds=base * (1 + policy.jitter)) + slack


@given(jitter=st.floats(allow_nan=True, allow_infinity=True))
def test_jitter_is_clamped_to_its_range(jitter: float) -> None:
    assert 0.0 <= Retry(1, jitter=jitter).jitter <= 1.0


def test_the_last_delay_repeats() -> None:
    policy = Retry(9, delays=[15, timedelta(minutes=1), 300.0])
    assert [policy.delay(retry, 0.0).total_seconds() for retry in range(1, 7)] == [15, 60, 300, 300, 300, 300]


def test_one_delay_need_not_be_a_list() -> None:
    assert Retry(3, delays=7).delays == Retry(3, delays=timedelta(seconds=7)).delays == (7.0,)


def test_without_delays_a_retry_is_at_once() -> None:
    assert Retry(3).delay(1, 1.0) == timedelta(0)


@given(
    retries=st.integers(0, 200),
    base=st.floats(0.001, 1e6),
    cap=st.floats(0.001, 1e6),
    retry=st.integers(1, 300),
    r=dice,
)
def test_an_exponential_delay_doubles_up_to_its_cap(
    retries: int, base: float, cap: float, retry: int, r: float
) -> None:
    if base > cap:
        base, cap = cap, base
    policy = Retry.exponential(retries, base=base, cap=cap, jitter=0)
    assert policy.max_retries == retries
    if retry <= max(1, retries):
        expected = min(base * 2.0 ** (retry - 1), cap)
        assert policy.delay(retry, r).total_seconds() == pytest.approx(expected, abs=1e-6)
    assert max(policy.delays) <= cap


def test_the_default_exponential_spreads_its_delays() -> None:
    policy = Retry.exponential(5)
    assert policy.delays == (1, 2, 4, 8, 16)
    assert policy.delay(1, -1.0) < policy.delay(1, 0.0) < policy.delay(1, 1.0)


# -- which failures ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "covered"),
    [
        (Retry(1), True),
        (Retry(1, retry_on=[ConnectionError]), True),
        (Retry(1, retry_on=[OSError]), True),
        (Retry(1, retry_on=["builtins.OSError"]), True),
        (Retry(1, retry_on=OSError), True),  # type: ignore[arg-type]  # the converter takes more than the field
        (Retry(1, retry_on=[KeyError]), False),
        (Retry(1, give_up_on=[OSError]), False),
        (Retry(1, give_up_on=[KeyError]), True),
        (Retry(1, retry_on=[ConnectionError], give_up_on=[OSError]), False),
    ],
)
def test_retry_on_and_give_up_on_count_for_subclasses(policy: Retry, covered: bool) -> None:
    names = [f"builtins.{cls.__name__}" for cls in ConnectionResetError.__mro__]
    assert policy.covers(names) is covered


def test_an_exception_class_is_known_by_module_and_name() -> None:
    assert Retry(1, give_up_on=[Boom]).give_up_on == (f"{__name__}.Boom",)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"max_retries": -1}, "max_retries is from 0 to"),
        ({"max_retries": MAX_RETRIES + 1}, "max_retries is from 0 to"),
        ({"max_retries": True}, "max_retries is a whole number, not True"),
        ({"max_retries": 1.5}, "max_retries is a whole number, not 1.5"),
        ({"delays": []}, "delays is empty"),
        ({"delays": [-1]}, "a retry delay is from 0 to"),
        ({"delays": [float("nan")]}, "a retry delay is from 0 to"),
        ({"delays": [float("inf")]}, "a retry delay is from 0 to"),
        ({"delays": [timedelta(days=-1)]}, "a retry delay is from 0 to"),
        ({"delays": ["5"]}, "a retry delay is a number of seconds or a timedelta, not '5'"),
        ({"delays": "15"}, "delays is a number of seconds"),
        ({"delays": None}, "delays is a number of seconds"),
        ({"jitter": "0.5"}, "jitter is a number from 0 to 1, not '0.5'"),
        ({"jitter": None}, "jitter is a number from 0 to 1, not None"),
        ({"retry_on": [5]}, "take exception classes or their names, not 5"),
        ({"retry_on": 5}, "take exception classes or their names, not 5"),
        ({"give_up_on": [int]}, "take exception classes or their names"),
    ],
)
def test_a_bad_value_is_refused_in_words(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        Retry(**{"max_retries": 3, **arguments})
    assert says in str(caught.value)


@pytest.mark.parametrize(("base", "cap"), [(0, 1), (-1, 1), (2, 1), (float("nan"), 1)])
def test_an_exponential_needs_a_base_below_its_cap(base: float, cap: float) -> None:
    with pytest.raises(InvalidValue, match="0 < base <= cap"):
        Retry.exponential(3, base=base, cap=cap)


def test_the_default_never_retries() -> None:
    assert NO_RETRY.max_retries == 0
