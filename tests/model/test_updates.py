"""The one number that orders the updates of a job."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from beskar_jobs.model.job import JobStatus
from beskar_jobs.model.updates import PROGRESS_BITS, update_sequence

versions = st.integers(1, 2**40)
reports = st.integers(0, 2**30)


@given(versions, reports, reports)
def test_a_later_version_comes_after_all_progress_of_the_one_before(version: int, before: int, after: int) -> None:
    assert update_sequence(version, before) < update_sequence(version + 1, after)


@given(versions, st.integers(0, (1 << PROGRESS_BITS) - 2))
def test_progress_within_a_version_grows(version: int, count: int) -> None:
    assert update_sequence(version, count) < update_sequence(version, count + 1)


@given(versions, st.integers(1 << PROGRESS_BITS, 2**60))
def test_endless_progress_shares_the_last_number(version: int, count: int) -> None:
    assert update_sequence(version, count) == update_sequence(version, (1 << PROGRESS_BITS) - 1)


def test_terminal_and_active_statuses() -> None:
    assert [status.value for status in JobStatus if status.is_terminal] == ["succeeded", "dead_lettered", "cancelled"]
    assert [status.value for status in JobStatus if status.is_active] == ["dispatched", "running"]
