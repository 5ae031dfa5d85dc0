"""Wills, sessions, keep-alive and take-over, by the core alone and in given time."""

from __future__ import annotations

import mqtt5
import pytest
from mqtt5 import DisconnectPacket, DisconnectReasonCode, PubAckPacket, Will

from tests.broker.core_bed import CoreBed


@pytest.fixture
def bed() -> CoreBed:
    return CoreBed()


def will(payload: bytes = b"gone", **options: object) -> Will:
    return Will("presence/w", payload=payload, **options)  # type: ignore[arg-type]  # the codec checks them


def test_will_is_published_at_once_when_the_connection_breaks(bed: CoreBed) -> None:
    watcher = bed.connect("watcher", "presence/+")
    bed.connect("w", will=will()).drop()
    assert watcher.payloads() == [b"gone"]


def test_will_keeps_its_properties(bed: CoreBed) -> None:
    watcher = bed.connect("watcher", "presence/+")
    bed.connect(
        "w",
        will=will(
            qos=mqtt5.QoS.AT_LEAST_ONCE,
            content_type="application/json",
            response_topic="answers",
            correlation_data=b"\x00\xff",
            user_properties=[("a", "1"), ("a", "2")],
            message_expiry_interval=9,
        ),
    ).drop()
    (message,) = watcher.messages()
    assert message.qos == mqtt5.QoS.AT_LEAST_ONCE
    assert (message.content_type, message.response_topic) == ("application/json", "answers")
    assert (message.correlation_data, message.message_expiry_interval) == (b"\x00\xff", 9)
    assert message.user_properties == [("a", "1"), ("a", "2")]


def test_normal_disconnect_suppresses_the_will(bed: CoreBed) -> None:
    watcher = bed.connect("watcher", "presence/+")
    leaving = bed.connect("w", will=will())
    leaving.send(DisconnectPacket())
    assert leaving.peer.closing
    leaving.drop()
    assert watcher.payloads() == []


def test_disconnect_with_will_publishes_it(bed: CoreBed) -> None:
    watcher = bed.connect("watcher", "presence/+")
    leaving = bed.connect("w", will=will())
    leaving.send(DisconnectPacket(reason_code=DisconnectReasonCode.DISCONNECT_WITH_WILL_MESSAGE))
    leaving.drop()
    assert watcher.payloads() == [b"gone"]


def test_retained_will_replaces_the_retained_presence(bed: CoreBed) -> None:
    worker = bed.connect("w", will=will(b"offline", retain=True))
    worker.publish("presence/w", b"online", retain=True)
    worker.drop()
    late = bed.connect("late", "presence/+")
    assert [(m.payload, m.retain) for m in late.replayed] == [(b"offline", True)]


def test_will_waits_for_its_delay_and_is_called_off_by_coming_back(bed: CoreBed) -> None:
    watcher = bed.connect("watcher", "presence/+")
    bed.connect("w", will=will(will_delay_interval=10), session_expiry_interval=60).drop()
    bed.advance(9)
    back = bed.connect("w", clean_start=False, will=will(b"second", will_delay_interval=10), session_expiry_interval=60)
    bed.advance(30)
    assert watcher.payloads() == []
    back.drop()
    bed.advance(9.9)
    assert watcher.payloads() == []
    bed.advance(0.2)
    assert watcher.payloads() == [b"second"]


def test_will_delay_ends_with_the_session(bed: CoreBed) -> None:
    watcher = bed.connect("watcher", "presence/+")
    bed.connect("w", will=will(will_delay_interval=1000), session_expiry_interval=5).drop()
    bed.advance(4.9)
    assert watcher.payloads() == []
    bed.advance(0.2)
    assert watcher.payloads() == [b"gone"]


def test_silence_for_one_and_a_half_keep_alives_ends_the_connection_and_not_before(bed: CoreBed) -> None:
    watcher = bed.connect("watcher", "presence/+")
    silent = bed.connect("w", keep_alive=4, will=will())
    bed.advance(5.9)
    assert not silent.peer.closing
    bed.advance(0.1)
    assert silent.disconnected() == DisconnectReasonCode.KEEP_ALIVE_TIMEOUT
    assert watcher.payloads() == [b"gone"]


def test_any_packet_renews_the_keep_alive(bed: CoreBed) -> None:
    client = bed.connect("w", keep_alive=4)
    for _ in range(10):
        bed.advance(5)
        client.send(mqtt5.PingReqPacket())
        client.only(mqtt5.PingRespPacket)
    bed.advance(6)
    assert client.disconnected() == DisconnectReasonCode.KEEP_ALIVE_TIMEOUT


def test_without_keep_alive_nobody_is_timed_out(bed: CoreBed) -> None:
    client = bed.connect("w", keep_alive=0)
    bed.advance(1e6)
    assert not client.peer.closing


def test_connection_without_connect_is_closed_in_time(bed: CoreBed) -> None:
    client = bed.dial()
    client.send_bytes(b"\x10")
    bed.advance(9.9)
    assert not client.peer.closing
    bed.advance(0.2)
    assert client.disconnected() is None


def test_second_connection_with_the_same_id_takes_over_and_the_first_is_told(bed: CoreBed) -> None:
    watcher = bed.connect("watcher", "presence/+")
    first = bed.connect("w", will=will(b"first"))
    second = bed.connect("w", will=will(b"second"))
    assert first.disconnected() == DisconnectReasonCode.SESSION_TAKEN_OVER
    assert watcher.payloads() == [b"first"]
    first.drop()
    assert watcher.payloads() == []
    assert not second.peer.closing
    assert bed.core.connected_clients() == ["watcher", "w"]


def test_take_over_hands_the_session_on(bed: CoreBed) -> None:
    bed.connect("w", "x", session_expiry_interval=60)
    second = bed.connect("w", clean_start=False, session_expiry_interval=60)
    assert second.connack.session_present
    bed.connect("p").publish("x")
    assert second.payloads() == [b"x"]


def test_what_was_not_acknowledged_is_sent_again_as_duplicate_on_resume_and_first(bed: CoreBed) -> None:
    client = bed.connect("c", "x", session_expiry_interval=60)
    publisher = bed.connect("p")
    for payload in (b"1", b"2", b"3"):
        publisher.publish("x", payload, qos=1)
    first, second, third = client.messages()
    client.send(PubAckPacket(second.packet_id or 0))
    client.drop()
    publisher.publish("x", b"4", qos=1)
    publisher.publish("x", b"lost", qos=0)
    back = bed.connect("c", clean_start=False, session_expiry_interval=60)
    assert back.connack.session_present
    assert [(m.payload, m.duplicate) for m in back.early] == [(b"1", True), (b"3", True), (b"4", False)]
    assert [m.packet_id for m in back.early[:2]] == [first.packet_id, third.packet_id]
    back.send(*(PubAckPacket(m.packet_id or 0) for m in back.early))
    back.drop()
    assert bed.connect("c", clean_start=False).early == []


def test_session_ends_with_its_expiry(bed: CoreBed) -> None:
    bed.connect("c", "x", session_expiry_interval=60).drop()
    bed.advance(59)
    kept = bed.connect("c", clean_start=False, session_expiry_interval=60)
    assert kept.connack.session_present
    kept.drop()
    bed.advance(61)
    assert not bed.connect("c", clean_start=False).connack.session_present


def test_session_without_expiry_ends_with_the_connection(bed: CoreBed) -> None:
    bed.connect("c", "x").drop()
    assert not bed.connect("c", clean_start=False).connack.session_present


def test_clean_start_forgets_the_session(bed: CoreBed) -> None:
    bed.connect("c", "x", session_expiry_interval=60).drop()
    again = bed.connect("c", session_expiry_interval=60)
    assert not again.connack.session_present
    bed.connect("p").publish("x", qos=1)
    assert again.payloads() == []


def test_client_without_identifier_is_given_one(bed: CoreBed) -> None:
    assert bed.connect("").connack.assigned_client_id == "assigned"
    assert bed.connect("own").connack.assigned_client_id is None


def test_shutdown_tells_everybody_and_publishes_no_will(bed: CoreBed) -> None:
    watcher = bed.connect("watcher", "presence/+")
    client = bed.connect("w", will=will())
    bed.core.shut_down()
    assert client.disconnected() == DisconnectReasonCode.SERVER_SHUTTING_DOWN
    client.drop()
    assert watcher.payloads() == []


def test_ended_sessions_leave_nothing_behind(bed: CoreBed) -> None:
    for number in range(50):
        bed.connect(f"c{number}", "a/+/b", "#", keep_alive=5, will=will()).drop()
    bed.advance(100)
    assert not bed.core.sessions
    assert bed.core.next_deadline() is None
    publisher = bed.connect("p")
    publisher.publish("a/x/b", qos=1)
    assert publisher.only(PubAckPacket).reason_code == mqtt5.PubAckReasonCode.NO_MATCHING_SUBSCRIBERS
