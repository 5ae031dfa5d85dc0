"""What a reply with several jobs leaves out."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from beskar_jobs.model.job import JobStatus
from beskar_jobs.wire.messages import INLINE_RESULT_BYTES, NULL, REPLY_BYTES, JobView, QueryReply
from beskar_jobs.wire.serializer import JsonSerializer
from beskar_jobs.wire.views import ReplyBudget, job_details, status_update

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)


def raw(size: int) -> msgspec.Raw:
    return msgspec.Raw(b'"' + b"x" * (size - 2) + b'"')


def view(arguments: msgspec.Raw, result: msgspec.Raw = NULL) -> JobView:
    return JobView("j", "t", "q", JobStatus.SUCCEEDED, 1, 1, T0, T0, T0, 7, arguments, result=result)


def test_what_is_small_stays() -> None:
    job = view(raw(INLINE_RESULT_BYTES), raw(INLINE_RESULT_BYTES))
    assert ReplyBudget().fit(job) is job


def test_large_arguments_and_results_are_left_out_and_said_to_be() -> None:
    job = ReplyBudget().fit(view(raw(INLINE_RESULT_BYTES + 1), raw(INLINE_RESULT_BYTES + 1)))
    assert (bytes(job.arguments), job.arguments_omitted) == (b"null", True)
    details = job_details(job)
    assert (details.arguments, details.arguments_omitted) == (b"", True)
    assert (details.update.result, details.update.result_omitted) == (None, True)


def test_a_result_of_null_is_not_left_out() -> None:
    budget = ReplyBudget()
    for _ in range(REPLY_BYTES // INLINE_RESULT_BYTES + 1):
        budget.fit(view(raw(INLINE_RESULT_BYTES)))
    update = status_update(budget.fit(view(raw(100), NULL)))
    assert (update.result, update.result_omitted) == (b"null", False)


def test_a_reply_keeps_to_its_size_however_many_jobs_it_has() -> None:
    budget = ReplyBudget()
    jobs = [budget.fit(view(raw(50_000), raw(70_000))) for _ in range(1_000)]
    assert len(JsonSerializer().encode(QueryReply(jobs=list(jobs)))) < REPLY_BYTES * 1.2
    assert not jobs[0].result_omitted
    assert jobs[-1].result_omitted
    assert jobs[-1].arguments_omitted
