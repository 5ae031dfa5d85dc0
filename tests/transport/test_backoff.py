from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from beskar_jobs.transport.backoff import reconnect_delay

JITTER = st.floats(0, 1, exclude_max=True)


@given(st.integers(0, 10**9), st.floats(0.001, 10), st.floats(10, 1000), JITTER)
def test_delay_stays_between_half_the_first_and_the_cap(attempt: int, first: float, cap: float, jitter: float) -> None:
    assert first / 2 <= reconnect_delay(attempt, first=first, cap=cap, jitter=jitter) <= cap


@given(st.integers(0, 30), JITTER)
def test_delay_doubles_until_the_cap(attempt: int, jitter: float) -> None:
    one = reconnect_delay(attempt, first=1.0, cap=2.0**20, jitter=jitter)
    two = reconnect_delay(attempt + 1, first=1.0, cap=2.0**20, jitter=jitter)
    assert two == (one if attempt >= 20 else one * 2)
