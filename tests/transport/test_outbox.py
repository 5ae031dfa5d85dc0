from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beskar_jobs.model.errors import InvalidValue, OutboundQueueFull, PublishRefused, TransportClosed
from beskar_jobs.ports.transport import OutboundMessage
from beskar_jobs.testing.transport_bed import Recorder, quick_options
from beskar_jobs.transport import create_transport
from beskar_jobs.transport.outbox import Entry, Outbox, check_publishable


def messages(count: int, size: int = 1) -> list[OutboundMessage]:
    return [OutboundMessage(f"t/{number}", bytes(size)) for number in range(count)]


def topics(entries: list[Entry]) -> list[str]:
    return [entry.message.topic for entry in entries]


def take(outbox: Outbox, count: int) -> list[Entry]:
    return [outbox.waiting.popleft() for _ in range(count)]


@given(st.lists(st.integers(0, 5), max_size=20), st.integers())
def test_order_survives_any_number_of_losses(sizes: list[int], seed: int) -> None:
    chance = random.Random(seed)
    outbox = Outbox(1000, 1000)
    for size in sizes:
        outbox.add(messages(size))
    expected = topics(list(outbox.waiting))
    seen: list[str] = []
    while outbox.waiting:
        sent = take(outbox, chance.randint(1, len(outbox.waiting)))
        through = chance.randint(len(sent) == 1, len(sent))  # one that is lost alone again and again is given up
        for entry in sent[:through]:
            seen.append(entry.message.topic)
            outbox.settle(entry)
        outbox.put_back(sent[through:])
        assert all(entry.again for entry in sent[through:])
    assert seen == expected
    assert (outbox.messages, outbox.payload_bytes) == (0, 0)


def test_bound_counts_what_is_sent_and_not_acknowledged() -> None:
    outbox = Outbox(3, 1000)
    outbox.add(messages(3))
    sent = take(outbox, 3)
    with pytest.raises(OutboundQueueFull, match="3 messages"):
        outbox.add(messages(1))
    outbox.settle(sent[0])
    outbox.add(messages(1))


def test_bound_in_bytes_takes_all_or_none() -> None:
    outbox = Outbox(1000, 100)
    with pytest.raises(OutboundQueueFull, match="101 bytes"):
        outbox.add([*messages(1, 1), *messages(1, 100)])
    assert not outbox.waiting
    outbox.add(messages(1, 100))


async def test_ticket_waits_for_all_and_raises_the_first_error() -> None:
    outbox = Outbox(10, 10)
    ticket = outbox.add(messages(3))
    first, second, third = take(outbox, 3)
    outbox.settle(first)
    outbox.settle(second, PublishRefused("the first"))
    outbox.settle(third, PublishRefused("the second"))
    with pytest.raises(PublishRefused, match="the first"):
        await ticket.wait()


async def test_end_fails_what_was_sent_and_what_waits() -> None:
    outbox = Outbox(10, 10)
    sent, waiting = outbox.add(messages(1)), outbox.add(messages(1))
    outbox.fail_all(take(outbox, 1), TransportClosed("closed"))
    for ticket in (sent, waiting):
        with pytest.raises(TransportClosed):
            await ticket.wait()
    assert outbox.messages == 0


async def test_publishing_nothing_waits_for_nothing() -> None:
    await Outbox(0, 0).add([]).wait()


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        (OutboundMessage("", b""), "empty"),
        (OutboundMessage("a/#", b""), "'#'"),
        (OutboundMessage("a\0", b""), "only a filter may"),
        (OutboundMessage("\ud800", b""), "surrogate"),
        (OutboundMessage("ä" * 40_000, b""), "longer than 65535"),
        (OutboundMessage("t", b"", qos=2), "QoS 2"),
        (OutboundMessage("t", b"", expiry=2**32), "expiry"),
        (OutboundMessage("t", b"", response_topic="a/+"), "a/\\+"),
        (OutboundMessage("t", b"", correlation=bytes(65_536)), "correlation"),
    ],
)
def test_what_would_cost_the_connection_is_refused_with_the_rule(message: OutboundMessage, rule: str) -> None:
    with pytest.raises(InvalidValue, match=rule):
        check_publishable(message)


@pytest.mark.parametrize(
    ("url", "kind"),
    [("mqtt://h", "MqttTransport"), ("wss://h", "MqttTransport"), ("memory://x", "MemoryTransport")],
)
def test_transport_is_chosen_by_scheme(url: str, kind: str) -> None:
    assert type(create_transport(url, quick_options(), Recorder())).__name__ == kind


def test_unknown_scheme_is_refused() -> None:
    with pytest.raises(InvalidValue, match="amqp"):
        create_transport("amqp://h", quick_options(), Recorder())


def test_a_message_that_cuts_every_connection_is_refused_and_its_company_is_not() -> None:
    outbox = Outbox(1000, 100_000)
    outbox.add(messages(5))
    ticket = outbox.add([OutboundMessage("poison", b"")])
    outbox.add(messages(2))
    sent_through = []
    rounds = 0
    while outbox.waiting:
        rounds += 1
        sent: list[Entry] = []
        while outbox.waiting and not (outbox.suspects and sent):
            sent.append(outbox.waiting.popleft())
        if any(entry.message.topic == "poison" for entry in sent):
            outbox.put_back(sent)
        else:
            for entry in sent:
                sent_through.append(entry.message.topic)
                outbox.settle(entry)
    assert sent_through == topics(entries_of(5)) + topics(entries_of(2))
    assert isinstance(ticket.error, PublishRefused)
    assert (outbox.messages, outbox.payload_bytes, outbox.suspects) == (0, 0, 0)
    assert rounds < 20


def entries_of(count: int) -> list[Entry]:
    outbox = Outbox(1000, 1000)
    outbox.add(messages(count))
    return list(outbox.waiting)
