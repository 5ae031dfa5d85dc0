"""Figures below ``$SYS/broker``: right, retained, not to be forged, and not counting themselves."""

from __future__ import annotations

import mqtt5
import pytest

from beskar_jobs.broker import EmbeddedBroker
from beskar_jobs.broker.sessions import BrokerLimits
from beskar_jobs.broker.system_topics import SystemTopics
from beskar_jobs.model.errors import InvalidValue
from tests.broker.core_bed import Client, CoreBed
from tests.broker.dialing import Dialed

ROOT = "$SYS/broker/"


class Figures:
    """The topics of a core, and a client that reads them."""

    def __init__(self, bed: CoreBed) -> None:
        self._bed = bed
        self._topics = SystemTopics(bed.core, "1.2.3", bed.now)
        self._reader = bed.connect("reader")
        self.publish()
        self._reader.subscribe("$SYS/#", qos=0)
        self.now = values(self._reader.replayed)

    def publish(self) -> None:
        self._topics.publish(self._bed.now)

    def changed(self) -> dict[str, str]:
        """Publish; what came."""
        self.publish()
        new = values(self._reader.messages())
        self.now |= new
        return new


def values(messages: list[mqtt5.PublishPacket]) -> dict[str, str]:
    return {message.topic.removeprefix(ROOT): message.payload.decode() for message in messages}


@pytest.fixture
def bed() -> CoreBed:
    return CoreBed()


def test_a_subscriber_is_told_all_figures_at_once(bed: CoreBed) -> None:
    figures = Figures(bed).now
    assert (figures["version"], figures["uptime"], figures["clients/connected"]) == ("1.2.3", "0", "1")
    assert figures["retained messages/count"] == figures["retained messages/bytes"] == "0"


def test_figures_follow_what_happens(bed: CoreBed) -> None:
    figures = Figures(bed)
    bed.connect("away", "x", session_expiry_interval=100).drop()
    publisher = bed.connect("p")
    publisher.publish("x", qos=1)
    publisher.publish("kept/1", b"123", retain=True)
    bed.advance(61)
    new = figures.changed()
    assert {name: new[name] for name in ("uptime", "clients/connected", "clients/disconnected", "clients/total")} == {
        "uptime": "61",
        "clients/connected": "2",
        "clients/disconnected": "1",
        "clients/total": "3",
    }
    assert (new["publish/messages/received"], new["publish/messages/sent"]) == ("2", "1")
    assert (new["publish/messages/queued"], new["subscriptions/count"]) == ("1", "2")
    assert (new["retained messages/count"], new["retained messages/bytes"]) == ("1", str(len("kept/1") + 3))


def test_dropped_messages_are_counted() -> None:
    bed = CoreBed(BrokerLimits(max_queued_messages=2))
    figures = Figures(bed)
    bed.connect("away", "x", session_expiry_interval=100).drop()
    publisher = bed.connect("p")
    for _ in range(5):
        publisher.publish("x", qos=1)
    assert figures.changed()["publish/messages/dropped"] == "3"


def test_what_has_not_changed_is_not_sent_and_the_figures_do_not_count_themselves(bed: CoreBed) -> None:
    figures = Figures(bed)
    figures.changed()
    bed.advance(10)
    assert set(figures.changed()) == {"uptime", "bytes/sent"}


def test_nobody_sees_them_who_does_not_ask(bed: CoreBed) -> None:
    everything = bed.connect("c", "#", "+/broker/uptime")
    Figures(bed)
    assert everything.messages() == []


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_client_cannot_publish_there(bed: CoreBed, qos: int) -> None:
    figures = Figures(bed)
    forger: Client = bed.connect("forger", will=mqtt5.Will(f"{ROOT}version", payload=b"forged", retain=True))
    forger.publish(f"{ROOT}version", b"forged", qos=qos, retain=True)
    answers = forger.received()
    assert [int(answer.reason_code) for answer in answers if isinstance(answer, REFUSALS)] == [0x87] * bool(qos)
    forger.drop()
    assert "version" not in figures.changed()
    late = bed.connect("late", "$SYS/broker/version")
    assert [message.payload for message in late.replayed] == [b"1.2.3"]


REFUSALS = (mqtt5.PubAckPacket, mqtt5.PubRecPacket)


def test_where_nothing_more_is_retained_the_broker_goes_on() -> None:
    bed = CoreBed(BrokerLimits(max_retained_messages=3))
    SystemTopics(bed.core, "1.2.3", bed.now).publish(bed.now)
    assert bed.core.statistics().retained_messages == 3


async def test_a_broker_publishes_at_the_interval() -> None:
    async with EmbeddedBroker(sys_interval=0.1) as broker, await Dialed.connect(broker.port, "c") as client:
        assert await client.subscribe("$SYS/broker/uptime") == [2]
        first = await client.heard()
        assert (first.retain, first.payload.isdigit()) == (True, True)
        later = await client.heard()
        assert int(later.payload) > int(first.payload)


async def test_a_broker_without_the_interval_publishes_nothing() -> None:
    async with EmbeddedBroker(sys_interval=0) as broker, await Dialed.connect(broker.port, "c") as client:
        assert await client.subscribe("$SYS/#") == [2]
        assert await client.publish("$SYS/x") == 0x87
        await client.round_trip()


@pytest.mark.parametrize("interval", [-1.0, float("nan"), float("inf")])
def test_an_interval_that_cannot_be_meant_is_an_error(interval: float) -> None:
    with pytest.raises(InvalidValue, match="sys_interval"):
        EmbeddedBroker(sys_interval=interval)
