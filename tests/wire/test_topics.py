"""Topics: building and parsing undo each other, and what is not ours is nobody's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.model.names import name_problem
from beskar_jobs.wire.topics import ParsedTopic, TopicKind, Topics

names = st.text(min_size=1, max_size=30).filter(lambda name: name_problem(name) is None)
prefixes = st.lists(names, min_size=1, max_size=3).map("/".join)
kinds = st.sampled_from(TopicKind)
levels = st.one_of(st.sampled_from(sorted({part for kind in TopicKind for part in kind.value.split("/")})), st.text())


@given(prefixes, kinds, st.lists(names, min_size=2, max_size=2))
def test_parse_undoes_build(prefix: str, kind: TopicKind, pool: list[str]) -> None:
    topics = Topics(prefix)
    wanted = tuple(pool[: kind.value.count("{}")])
    topic = topics.build(kind, *wanted)
    assert topics.parse(topic) == ParsedTopic(kind, wanted)
    assert len(topic.encode()) < 65_535


@given(prefixes, st.one_of(st.text(), st.lists(levels, max_size=5).map("/".join)))
def test_build_undoes_parse(prefix: str, rest: str) -> None:
    topics = Topics(prefix)
    for topic in (rest, f"{prefix}/{rest}"):
        parsed = topics.parse(topic)
        if parsed is not None:
            assert topics.build(parsed.kind, *parsed.names) == topic


@given(prefixes, prefixes, kinds)
def test_topics_of_another_tenant_are_nobodys(ours: str, theirs: str, kind: TopicKind) -> None:
    if not f"{theirs}/".startswith(f"{ours}/"):
        assert Topics(ours).parse(Topics(theirs).build(kind, "a", "b")) is None


@pytest.mark.parametrize(
    "topic",
    [
        "",
        "jobs",
        "jobs/",
        "jobs//",
        "/jobs/commands/enqueue",
        "jobsx/commands/enqueue",
        "jobs/commands",
        "jobs/commands/enqueue/",
        "jobs/commands/enqueue/x",
        "jobs/commands/cancel",
        "jobs/commands/cancel/",
        "jobs/commands/cancel/a/b",
        "jobs/commands/unknown",
        "jobs/dispatch/q",
        "jobs/dispatch/q/",
        "jobs/dispatch//w",
        "jobs/dispatch/q/w/x",
        "jobs/events/w/other",
        "jobs/events/ /batch",
        "jobs/workers/w",
        "jobs/workers/+/heartbeat",
        "jobs/workers/#",
        "jobs/workers/$x/heartbeat",
        "jobs/workers/{}/heartbeat/{}",
        "jobs/status/" + "x" * 201,
        "jobs/status/a\0b",
    ],
)
def test_foreign_and_malformed_topics_parse_to_nothing(topic: str) -> None:
    assert Topics().parse(topic) is None


@pytest.mark.parametrize(
    ("topic", "kind", "parts"),
    [
        ("jobs/schedulers/replies", TopicKind.SCHEDULER, ("replies",)),
        ("jobs/schedulers/replies/replies", TopicKind.SCHEDULER_REPLIES, ("replies",)),
        ("jobs/commands/cancel/enqueue", TopicKind.CANCEL, ("enqueue",)),
        ("jobs/dispatch/control/heartbeat", TopicKind.DISPATCH, ("control", "heartbeat")),
        ("jobs/workers/control/heartbeat", TopicKind.HEARTBEAT, ("control",)),
        ("jobs/events/batch/batch", TopicKind.EVENTS, ("batch",)),
        ("jobs/status/{}", TopicKind.STATUS, ("{}",)),
    ],
)
def test_a_name_that_looks_like_a_word_is_a_name(topic: str, kind: TopicKind, parts: tuple[str, ...]) -> None:
    assert Topics().parse(topic) == ParsedTopic(kind, parts)


def test_every_topic_of_the_protocol() -> None:
    topics = Topics("acme/jobs")
    assert [
        topics.enqueue(),
        topics.cancel("j"),
        topics.query(),
        topics.client_replies("c"),
        topics.client_updates("c"),
        topics.dispatch("q", "w"),
        topics.scheduler_replies("s"),
        topics.events("w"),
        topics.control("w"),
        topics.heartbeat("+"),
        topics.scheduler("s"),
        topics.status("j"),
    ] == [
        "acme/jobs/commands/enqueue",
        "acme/jobs/commands/cancel/j",
        "acme/jobs/commands/query",
        "acme/jobs/clients/c/replies",
        "acme/jobs/clients/c/updates",
        "acme/jobs/dispatch/q/w",
        "acme/jobs/schedulers/s/replies",
        "acme/jobs/events/w/batch",
        "acme/jobs/workers/w/control",
        "acme/jobs/workers/+/heartbeat",
        "acme/jobs/schedulers/s",
        "acme/jobs/status/j",
    ]


@pytest.mark.parametrize("prefix", ["", "/", "a/", "/a", "a//b", "a/+", "#", "$SYS", "a\0", " ", "a/ b"])
def test_a_prefix_that_cannot_stand_in_a_topic_is_refused(prefix: str) -> None:
    with pytest.raises(InvalidValue, match="topic prefix"):
        Topics(prefix)


def test_the_name_of_a_topic_is_the_last_one() -> None:
    parsed = Topics().parse("jobs/dispatch/q/w")
    assert parsed is not None
    assert parsed.name == "w"
