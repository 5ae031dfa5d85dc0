"""The worker session: claims are decided once, ends are kept until they are acknowledged, memory is bounded."""

from __future__ import annotations

import msgspec
import pytest

from beskar_jobs.core import working
from beskar_jobs.core.working import TELL_AGAIN_AFTER, WorkerSession
from beskar_jobs.model.job import FailureKind, JobFailure, JobId, WorkerId
from beskar_jobs.model.presence import HandlerPolicy, HeldAttempt
from beskar_jobs.wire.messages import Attempt, AttemptEvent, Claim, ClaimReply, ClaimRequest, ControlMessage

NULL = msgspec.Raw(b"null")


def new_session(*, slots: int = 2, queues: tuple[str, ...] = ()) -> WorkerSession:
    return WorkerSession(
        WorkerId("w1"),
        "i1",
        queues=queues,
        handlers={"t": HandlerPolicy()},
        max_concurrency=slots,
        interval=2.0,
    )


@pytest.fixture
def session() -> WorkerSession:
    return new_session()


def claim(job_id: str, fence: int = 1, job_type: str = "t") -> Claim:
    return Claim(job_id, fence, job_type, 1, msgspec.Raw(b"{}"))


def offer(session: WorkerSession, *claims: Claim, queue: str = "q") -> tuple[ClaimReply, list[Claim]]:
    reply, start = session.on_claims(queue, ClaimRequest(incarnation="i1", claims=list(claims)))
    assert reply is not None
    return reply, start


def reasons(reply: ClaimReply) -> dict[str, str]:
    return {rejection.job_id: rejection.reason for rejection in reply.rejections}


def end(job_id: str = "j1", fence: int = 1) -> AttemptEvent:
    return AttemptEvent("succeeded", job_id, fence, result=msgspec.Raw(b"1"))


def order(
    session: WorkerSession,
    *,
    acknowledged: tuple[Attempt, ...] = (),
    cancel: tuple[Attempt, ...] = (),
    abandon: tuple[Attempt, ...] = (),
    report: str = "",
    incarnation: str = "i1",
) -> working.Orders:
    return session.on_control(
        ControlMessage(
            incarnation=incarnation,
            acknowledged=list(acknowledged),
            cancel=list(cancel),
            abandon=list(abandon),
            report=report,
        )
    )


def told(session: WorkerSession) -> list[AttemptEvent]:
    return [event for batch in session.take_events() for event in batch.events]


# -- claims ------------------------------------------------------------------------------------------------------------


def test_a_claim_offered_again_gets_the_same_answer_and_starts_nothing_twice(session: WorkerSession) -> None:
    first, start = offer(session, claim("j1"))
    assert [started.job_id for started in start] == ["j1"]
    assert first.accepted == [Attempt("j1", 1)]
    again, start = offer(session, claim("j1"), claim("j1"))
    assert start == []
    assert again.accepted == [Attempt("j1", 1)] * 2
    session.ended(end(), 0.0)
    order(session, acknowledged=(Attempt("j1", 1),))
    after_its_end, start = offer(session, claim("j1"))
    assert start == []
    assert after_its_end.accepted == [Attempt("j1", 1)]


def test_a_rejection_stands_for_its_attempt_even_when_a_slot_is_free_again(session: WorkerSession) -> None:
    offer(session, claim("j1"), claim("j2"))
    assert reasons(offer(session, claim("j3"))[0]) == {"j3": "full"}
    session.ended(end("j1"), 0.0)
    reply, start = offer(session, claim("j3"))
    assert (reasons(reply), start) == ({"j3": "full"}, [])
    reply, start = offer(session, claim("j3", fence=2))
    assert (reasons(reply), len(start)) == ({}, 1)


def test_no_more_run_than_there_are_slots(session: WorkerSession) -> None:
    reply, start = offer(session, *(claim(f"j{index}") for index in range(5)))
    assert len(start) == len(reply.accepted) == session.running == 2
    assert set(reasons(reply).values()) == {"full"}


def test_a_handler_that_cannot_be_stopped_keeps_its_slot(session: WorkerSession) -> None:
    offer(session, claim("j1"), claim("j2"))
    session.ended(end("j1"), 0.0, frees_slot=False)
    assert reasons(offer(session, claim("j3"))[0]) == {"j3": "full"}
    session.freed(Attempt("j1", 1))
    assert reasons(offer(session, claim("j4"))[0]) == {}


def test_a_draining_worker_takes_nothing(session: WorkerSession) -> None:
    session.draining = True
    assert reasons(offer(session, claim("j1"))[0]) == {"j1": "draining"}
    assert session.heartbeat().draining


def test_an_unknown_type_and_a_foreign_queue_are_refused() -> None:
    session = new_session(queues=("q",))
    assert reasons(offer(session, claim("j1", job_type="x"))[0]) == {"j1": "unknown_type"}
    assert reasons(offer(session, claim("j2"), queue="other")[0]) == {"j2": "queue"}
    assert reasons(offer(session, claim("j3"))[0]) == {}


def test_a_job_that_runs_here_under_an_older_fence_is_not_started_beside_it(session: WorkerSession) -> None:
    offer(session, claim("j1"))
    assert reasons(offer(session, claim("j1", fence=2))[0]) == {"j1": "duplicate"}


def test_claims_for_another_process_are_left_alone(session: WorkerSession) -> None:
    reply, start = session.on_claims("q", ClaimRequest(incarnation="i0", claims=[claim("j1")]))
    assert reply is None
    assert start == []
    assert offer(session, claim("j1"))[1] != []


def test_the_memory_of_decisions_is_bounded(session: WorkerSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working, "REMEMBERED_DECISIONS", 100)
    offer(session, claim("a"), claim("b"))
    for index in range(1000):
        offer(session, claim(f"j{index}"))
        order(session, cancel=(Attempt(f"k{index}", 1),))
    assert len(session._decisions) == 100
    assert session.running == 2


def test_a_running_attempt_is_not_forgotten_with_its_decision(
    session: WorkerSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working, "REMEMBERED_DECISIONS", 10)
    offer(session, claim("j1"))
    for index in range(100):
        offer(session, claim(f"x{index}", job_type="x"))
    reply, start = offer(session, claim("j1"))
    assert (start, reply.accepted) == ([], [Attempt("j1", 1)])


# -- ends --------------------------------------------------------------------------------------------------------------


def test_an_end_is_told_once_until_its_acknowledgement_is_overdue(session: WorkerSession) -> None:
    offer(session, claim("j1"))
    session.ended(end(), 100.0)
    assert told(session) == [end()]
    session.tell_overdue_again(100.0 + TELL_AGAIN_AFTER - 0.1)
    assert told(session) == []
    session.tell_overdue_again(100.0 + TELL_AGAIN_AFTER)
    assert told(session) == [end()]
    session.tell_overdue_again(100.0 + TELL_AGAIN_AFTER + 0.1)
    assert told(session) == []


def test_unacknowledged_ends_are_told_again_after_a_reconnect(session: WorkerSession) -> None:
    offer(session, claim("j1"), claim("j2"))
    session.ended(end("j1"), 0.0)
    session.ended(end("j2"), 0.0)
    told(session)
    order(session, acknowledged=(Attempt("j1", 1),))
    session.tell_all_again(1.0)
    assert told(session) == [end("j2")]
    assert session.unacknowledged == 1


@pytest.mark.parametrize("word", ["acknowledged", "abandon"])
def test_an_end_is_forgotten_when_the_scheduler_says_so(session: WorkerSession, word: str) -> None:
    offer(session, claim("j1"))
    session.ended(end(), 0.0)
    attempts = (Attempt("j1", 1),)
    order(session, acknowledged=attempts) if word == "acknowledged" else order(session, abandon=attempts)
    session.tell_all_again(1.0)
    assert told(session) == []
    assert session.unacknowledged == 0
    assert session.heartbeat().held == ()


def test_the_first_end_of_an_attempt_is_the_one(session: WorkerSession) -> None:
    offer(session, claim("j1"))
    session.ended(AttemptEvent("failed", "j1", 1), 0.0, frees_slot=False)
    session.ended(end(), 0.0)
    assert [event.kind for event in told(session)] == ["failed"]
    assert session.running == 0


def test_an_end_is_told_once_even_if_its_handler_outlives_the_acknowledgement(session: WorkerSession) -> None:
    offer(session, claim("j1"))
    session.ended(AttemptEvent("failed", "j1", 1), 0.0, frees_slot=False)
    told(session)
    order(session, acknowledged=(Attempt("j1", 1),))
    session.progress(Attempt("j1", 1), 99.0, "")
    session.ended(end(), 0.0)
    assert told(session) == []
    assert (session.running, session.unacknowledged) == (0, 0)


def test_an_abandoned_attempt_reports_nothing_more(session: WorkerSession) -> None:
    offer(session, claim("j1"))
    orders = order(session, abandon=(Attempt("j1", 1),))
    assert orders.abandon == [Attempt("j1", 1)]
    session.progress(Attempt("j1", 1), 99.0, "")
    session.ended(end(), 0.0)
    assert told(session) == []
    assert (session.running, session.unacknowledged) == (0, 0)


def test_the_end_of_what_does_not_run_is_no_news(session: WorkerSession) -> None:
    session.ended(end(), 0.0)
    offer(session, claim("j1", fence=3))
    session.ended(end(fence=2), 0.0)
    assert told(session) == []
    assert session.running == 1


# -- progress ----------------------------------------------------------------------------------------------------------


def test_of_several_reports_the_last_one_is_told(session: WorkerSession) -> None:
    offer(session, claim("j1"))
    for percent in (1.0, 2.0, 3.0):
        session.progress(Attempt("j1", 1), percent, f"{percent}")
    assert [(event.kind, event.percent) for event in told(session)] == [("progress", 3.0)]


def test_a_long_progress_text_is_cut_and_holds_nothing_else_up(session: WorkerSession) -> None:
    offer(session, claim("j1"))
    session.progress(Attempt("j1", 1), 5.0, "m" * 100_000)
    (event,) = told(session)
    assert event.message == "m" * working.MAX_PROGRESS_TEXT


def test_a_report_right_before_the_end_travels_with_it_and_none_comes_after(session: WorkerSession) -> None:
    offer(session, claim("j1"))
    session.progress(Attempt("j1", 1), 1.0, "all written")
    session.ended(end(), 0.0)
    session.progress(Attempt("j1", 1), 2.0, "")
    assert [(event.kind, event.percent, event.message) for event in told(session)] == [
        ("succeeded", 1.0, "all written")
    ]
    session.progress(Attempt("j1", 1), 3.0, "")
    assert told(session) == []


# -- control, presence -------------------------------------------------------------------------------------------------


def test_orders_name_only_what_runs(session: WorkerSession) -> None:
    offer(session, claim("j1", fence=2))
    stale, current = Attempt("j1", 1), Attempt("j1", 2)
    orders = order(session, cancel=(stale, current), abandon=(stale, Attempt("x", 1)))
    assert orders.cancel == [current]
    assert orders.abandon == []


def test_a_claim_that_comes_behind_its_cancellation_is_refused(session: WorkerSession) -> None:
    assert order(session, cancel=(Attempt("j1", 1),)).cancel == []
    reply, start = offer(session, claim("j1"))
    assert (reasons(reply), start) == ({"j1": "cancelled"}, [])
    assert session.running == 0


def test_orders_for_another_process_are_left_alone(session: WorkerSession) -> None:
    offer(session, claim("j1"))
    session.ended(end(), 0.0)
    orders = order(session, acknowledged=(Attempt("j1", 1),), report="r1", incarnation="i0")
    assert not orders.heartbeat
    assert session.unacknowledged == 1
    assert session.heartbeat().report == ""


def test_a_heartbeat_shows_what_runs_and_what_is_not_acknowledged(session: WorkerSession) -> None:
    offer(session, claim("j1"), claim("j2"))
    session.ended(end("j1"), 0.0)
    assert order(session, report="r1").heartbeat
    heartbeat = session.heartbeat()
    assert set(heartbeat.held) == {HeldAttempt(JobId("j1"), 1), HeldAttempt(JobId("j2"), 1)}
    assert (heartbeat.active, heartbeat.max_concurrency, heartbeat.report) == (1, 2, "r1")


def test_the_farewell_names_process_and_connection(session: WorkerSession) -> None:
    farewell = session.farewell(7)
    assert (farewell.incarnation, farewell.connection, farewell.is_online) == ("i1", 7, False)


# -- size --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "event",
    [
        AttemptEvent("succeeded", "j", 1, result=msgspec.Raw(b'"' + b"x" * 50_000 + b'"')),
        AttemptEvent("failed", "j", 1, failure=JobFailure(FailureKind.EXCEPTION, "m", traceback="x" * 50_000)),
        AttemptEvent("failed", "j", 1, failure=JobFailure(FailureKind.EXCEPTION, "\u20ac" * 20_000)),
        AttemptEvent("succeeded", "j", 1),
    ],
    ids=["results", "tracebacks", "messages", "small"],
)
def test_events_go_in_messages_of_bounded_size(event: AttemptEvent) -> None:
    session = new_session(slots=3000)
    offer(session, *(claim(f"j{index}") for index in range(1500)))
    for index in range(1500):
        session.ended(msgspec.structs.replace(event, job_id=f"j{index}"), 0.0)
    batches = session.take_events()
    assert [item.job_id for batch in batches for item in batch.events] == [f"j{index}" for index in range(1500)]
    assert max(len(msgspec.json.encode(batch)) for batch in batches) <= working.BYTES_PER_MESSAGE
    assert max(len(batch.events) for batch in batches) <= working.EVENTS_PER_MESSAGE


def test_one_event_above_the_bound_goes_alone(session: WorkerSession) -> None:
    offer(session, claim("j1"), claim("j2"))
    large = msgspec.Raw(b'"' + b"x" * (working.BYTES_PER_MESSAGE + 1) + b'"')
    session.ended(AttemptEvent("succeeded", "j1", 1, result=large), 0.0)
    session.ended(end("j2"), 0.0)
    assert [len(batch.events) for batch in session.take_events()] == [1, 1]
