"""Every message class: comes back as it went; whatever else comes is refused as one kind of error."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from beskar_jobs.model.errors import PayloadInvalid
from beskar_jobs.model.job import FailureKind, JobFailure, JobId, JobStatus, WaitingFor, WorkerId
from beskar_jobs.model.presence import HandlerPolicy, HeldAttempt, SchedulerPresence, WorkerHeartbeat
from beskar_jobs.model.retry import Retry
from beskar_jobs.testing.storage_recurring import firing, full_entry
from beskar_jobs.wire import messages as wire
from beskar_jobs.wire.serializer import JsonSerializer

SERIALIZER = JsonSerializer()
T0 = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
RAW = msgspec.Raw(b'{"a":[1,null]}')
FAILURE = JobFailure(FailureKind.EXCEPTION, "boom \u20ac", "app.Boom", ("builtins.ValueError",), "Traceback")
ATTEMPT = wire.Attempt("j1", 3)
RETRY = Retry(3, delays=[1, 2.5], jitter=0.5, retry_on=[ValueError], give_up_on=["x.Y"])
STATUS = wire.StatusItem(
    "j1", "t", "q", JobStatus.SUCCEEDED, 5, 1, T0, WaitingFor.TIME, 50.0, "m", "r", "w1", RAW, False, FAILURE
)
VIEW = wire.JobView(
    id="j1",
    job_type="t",
    queue="q",
    status=JobStatus.RUNNING,
    sequence=1,
    attempt=1,
    updated_at=T0,
    created_at=T0,
    due_at=T0,
    order=7,
    arguments=RAW,
    failure=FAILURE,
    metadata={"k": "v"},
)
BEAT = WorkerHeartbeat(
    WorkerId("w1"),
    "i1",
    2,
    is_online=True,
    queues=("q",),
    job_types={"t": HandlerPolicy(RETRY, 5.0, False, 2)},
    active=1,
    max_concurrency=4,
    held=(HeldAttempt(JobId("j1"), 3),),
    report="r",
)
EXAMPLES: list[wire.Message] = [
    wire.EnqueueCommand(
        items=[
            wire.EnqueueItem("j1", "t", "q", RAW, 5, 1.5, None, RETRY, 9.0, {"k": "v"}, "00-1-2-01"),
            wire.EnqueueItem("j2", "t", "q", RAW, run_at=T0),
        ],
        watcher="c1",
    ),
    wire.EnqueueReply(exceptions=[wire.EnqueueException(0, "rejected", "no")], error="e", busy=True),
    wire.CancelCommand(reason="why"),
    wire.CancelReply(outcome="requested", status=JobStatus.RUNNING),
    wire.QueryCommand(what="find", ids=["j1"], statuses=[JobStatus.RUNNING], queue="q", limit=5),
    wire.QueryReply(jobs=[VIEW, None], workers=[BEAT], queues=[wire.QueueView("q", {JobStatus.RUNNING: 2}, 1)]),
    wire.RecurringCommand(action="upsert", name="r", definition=full_entry().definition, paused=True, limit=5),
    wire.RecurringCommand(action="declare", definitions=[full_entry().definition], job_types=["t"]),
    wire.RecurringReply(
        entries=[full_entry()], occurrences=[firing("r", T0).occurrence], unknown=True, error="e", busy=True
    ),
    wire.StatusMessage(job=STATUS),
    wire.UpdatesMessage(jobs=[STATUS]),
    wire.ClaimRequest(incarnation="i1", claims=[wire.Claim("j1", 3, "t", 1, RAW, 5.0, {"k": "v"}, "tp")]),
    wire.ClaimReply(
        worker_id="w1", incarnation="i1", accepted=[ATTEMPT], rejections=[wire.Rejection("j2", 1, "cancelled")]
    ),
    wire.EventBatch(
        worker_id="w1",
        incarnation="i1",
        events=[
            wire.AttemptEvent("progress", "j1", 3, percent=50.0, message="half"),
            wire.AttemptEvent("succeeded", "j1", 3, result=RAW),
            wire.AttemptEvent("failed", "j1", 3, failure=FAILURE),
        ],
    ),
    wire.ControlMessage(incarnation="i1", acknowledged=[ATTEMPT], cancel=[ATTEMPT], abandon=[ATTEMPT], report="r"),
    wire.WorkerPresenceMessage(worker=BEAT),
    wire.SchedulerPresenceMessage(scheduler=SchedulerPresence("s1", "i1", 1, True)),
]
CLASSES = [type(example) for example in EXAMPLES]
example_of = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: type(example).__name__)


def test_there_is_an_example_of_every_message() -> None:
    def below(cls: type) -> set[type]:
        return set(cls.__subclasses__()).union(*map(below, cls.__subclasses__()))

    assert {cls for cls in below(wire.Message) if cls.__module__ == wire.__name__} == set(CLASSES)


def plain(message: wire.Message) -> Any:
    return msgspec.json.decode(SERIALIZER.encode(message))


@example_of
def test_a_message_comes_back_as_it_went(example: wire.Message) -> None:
    data = SERIALIZER.encode(example)
    back = SERIALIZER.decode(data, type(example))
    assert plain(back) == plain(example)
    assert plain(example)["v"] == wire.PROTOCOL_VERSION


def test_users_values_come_through_byte_for_byte() -> None:
    odd = msgspec.Raw(b'{ "b" : 1.0 ,\t"a":1e2,"b":"\\u20ac" }')
    event = wire.AttemptEvent("succeeded", "j1", 1, result=odd)
    data = SERIALIZER.encode(wire.EventBatch(worker_id="w", incarnation="i", events=[event]))
    assert bytes(SERIALIZER.decode(data, wire.EventBatch).events[0].result) == bytes(odd)


@example_of
def test_fields_of_a_later_release_are_ignored_at_every_level(example: wire.Message) -> None:
    def widened(node: Any, path: str = "") -> Any:
        if isinstance(node, dict):
            wide = {key: widened(value, key) for key, value in node.items()}
            # Maps by name, and users' values, are no place for fields.
            open_map = path in ("arguments", "result", "metadata", "job_types", "counts")
            return wide if open_map else {**wide, "later": {"x": [1]}}
        return [widened(item, path) for item in node] if isinstance(node, list) else node

    data = msgspec.json.encode(widened(plain(example)))
    assert plain(SERIALIZER.decode(data, type(example))) == plain(example)


@example_of
def test_another_version_is_refused_by_its_number(example: wire.Message) -> None:
    data = msgspec.json.encode({**plain(example), "v": 2})
    with pytest.raises(PayloadInvalid, match="version 2"):
        SERIALIZER.decode(data, type(example))


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"1",
        b"\xff\xfe",
        b'{"v":1',
        b"[" * 100_000,
        b'{"v":' + b"9" * 10_000 + b"}",
        b'{"items":' + b"[" * 50_000,
        b'{"v":1e999}',
        b'{"v":NaN}',
        "{'v':1}".encode("utf-16"),
    ],
    ids=lambda data: data[:12].hex(),
)
def test_hostile_bytes_are_invalid_and_nothing_else(cls: type[wire.Message], data: bytes) -> None:
    with pytest.raises(PayloadInvalid) as caught:
        SERIALIZER.decode(data, cls)
    assert len(str(caught.value)) < 400


@given(st.sampled_from(CLASSES), st.binary(max_size=200))
def test_arbitrary_bytes_are_invalid_or_a_message(cls: type[wire.Message], data: bytes) -> None:
    with contextlib.suppress(PayloadInvalid):
        assert isinstance(SERIALIZER.decode(data, cls), cls)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5)),
    lambda children: st.one_of(st.lists(children, max_size=3), st.dictionaries(st.text(max_size=5), children)),
    max_leaves=5,
)


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(EXAMPLES), st.data())
def test_a_mutated_message_is_invalid_or_a_message(example: wire.Message, data: st.DataObject) -> None:
    node = tree = plain(example)
    while True:  # walk to a random place, and put something else there
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if not isinstance(node[key], dict | list) or not node[key] or data.draw(st.booleans()):
            node[key] = data.draw(json_values)
            break
        node = node[key]
    mutated = msgspec.json.encode(tree)
    with contextlib.suppress(PayloadInvalid):
        assert isinstance(SERIALIZER.decode(mutated, type(example)), type(example))


@settings(max_examples=200)
@given(st.sampled_from(EXAMPLES), st.data())
def test_a_damaged_message_is_invalid_or_a_message(example: wire.Message, data: st.DataObject) -> None:
    whole = bytearray(SERIALIZER.encode(example))
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(PayloadInvalid):
        SERIALIZER.decode(bytes(whole[:cut]), type(example))
    whole[cut] = data.draw(st.integers(0, 255))
    with contextlib.suppress(PayloadInvalid):
        assert isinstance(SERIALIZER.decode(bytes(whole), type(example)), type(example))


BEAT_FIELDS = {"worker_id": "w", "incarnation": "i", "connection": 1, "is_online": True}


# -- bounds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "data"),
    [
        (wire.EnqueueCommand, {"items": []}),
        (wire.EnqueueCommand, {"items": [{"id": "", "job_type": "t", "queue": "q", "arguments": 1}]}),
        (wire.EnqueueCommand, {"items": [{"id": "x" * 201, "job_type": "t", "queue": "q", "arguments": 1}]}),
        (wire.EnqueueCommand, {"items": [{"id": "j", "job_type": "t", "queue": "q"}]}),
        (
            wire.EnqueueCommand,
            {"items": [{"id": "j", "job_type": "t", "queue": "q", "arguments": 1, "run_at": "2026-01-01T00:00:00"}]},
        ),
        (
            wire.EnqueueCommand,
            {"items": [{"id": "j", "job_type": "t", "queue": "q", "arguments": 1, "retry": {"max_retries": -1}}]},
        ),
        (wire.CancelCommand, {"reason": "x" * (wire.MAX_TEXT + 1)}),
        (wire.QueryCommand, {"what": "find", "limit": 0}),
        (wire.QueryCommand, {"what": "find", "limit": 1001}),
        (wire.QueryCommand, {"what": "find", "before_sequence": 2**63}),
        (wire.QueryCommand, {"what": "find", "before_sequence": -1}),
        (wire.QueryCommand, {"what": "all"}),
        (wire.ClaimReply, {"worker_id": "w", "incarnation": "i", "accepted": [["j", -1]]}),
        (
            wire.SchedulerPresenceMessage,
            {"scheduler": {"scheduler_id": "s", "incarnation": "i", "connection": -1, "is_online": True}},
        ),
        (wire.WorkerPresenceMessage, {"worker": BEAT_FIELDS | {"held": [{"job_id": "j", "fence": 2**63}]}}),
        (wire.WorkerPresenceMessage, {"worker": BEAT_FIELDS | {"active": 2**63}}),
        (wire.EventBatch, {"worker_id": "", "incarnation": "i", "events": []}),
        (wire.EventBatch, {"worker_id": "w", "incarnation": "i", "events": [{"kind": "won", "job_id": "j"}]}),
    ],
)
def test_a_value_out_of_its_bounds_is_invalid(cls: type[wire.Message], data: dict[str, Any]) -> None:
    with pytest.raises(PayloadInvalid):
        SERIALIZER.decode(msgspec.json.encode({"v": 1, **data}), cls)


@pytest.mark.parametrize("name", ["+", "#", "a/b", "a\0", "$x", " a", "a ", "a\n", "\ufdd0", "a\U0010ffff", "x" * 201])
@pytest.mark.parametrize(
    ("cls", "field", "data"),
    [
        (wire.EnqueueCommand, "watcher", {"items": [{"id": "j", "job_type": "t", "queue": "q", "arguments": 1}]}),
        (wire.QueryCommand, "watcher", {"what": "jobs"}),
        (wire.ClaimReply, "worker_id", {"incarnation": "i"}),
        (wire.EventBatch, "worker_id", {"incarnation": "i", "events": []}),
    ],
)
def test_a_name_that_would_make_a_bad_topic_is_invalid(
    cls: type[wire.Message], field: str, data: dict[str, Any], name: str
) -> None:
    """Published, a wildcard ends the scheduler's connection to the broker, and again after each reconnect."""
    with pytest.raises(PayloadInvalid):
        SERIALIZER.decode(msgspec.json.encode({"v": 1, **data, field: name}), cls)
    good = SERIALIZER.decode(msgspec.json.encode({"v": 1, **data, field: "h\u00f6st-1.x y"}), cls)
    assert getattr(good, field) == "h\u00f6st-1.x y"


def test_the_largest_number_and_a_whole_heartbeat_are_taken() -> None:
    query = msgspec.json.encode({"v": 1, "what": "find", "before_sequence": 2**63 - 1})
    assert SERIALIZER.decode(query, wire.QueryCommand).before_sequence == 2**63 - 1
    beat = SERIALIZER.decode(msgspec.json.encode({"v": 1, "worker": BEAT_FIELDS}), wire.WorkerPresenceMessage)
    assert beat.worker.connection == 1


def test_more_items_than_allowed_are_invalid() -> None:
    items = [wire.EnqueueItem(f"j{index}", "t", "q", RAW) for index in range(wire.MAX_ITEMS + 1)]
    with pytest.raises(PayloadInvalid):
        SERIALIZER.decode(SERIALIZER.encode(wire.EnqueueCommand(items=items)), wire.EnqueueCommand)


def test_the_text_of_a_failure_is_cut() -> None:
    assert len(wire.failure_of(FailureKind.CRASH, "x" * 100_000).message) == wire.MAX_TEXT
