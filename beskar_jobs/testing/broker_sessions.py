"""Claims on connections: sessions, Wills, take-over, faults, shared subscriptions (MQTT 5.0, 3.1, 4.1, 4.8.2, 4.13)."""

from __future__ import annotations

import asyncio
import time
from typing import Final

import mqtt5
from mqtt5 import ConnectPacket, PublishPacket, Will

from beskar_jobs.testing.broker_bed import PATIENCE, Bench, Claims, RawClient

__all__ = ["claim"]

claim: Final = Claims()


def numbers(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


@claim
async def session_waits_and_its_messages_come_in_order(bench: Bench) -> None:
    client, publisher = await bench.connect("c", "a", session_expiry_interval=300), await bench.connect("p")
    assert not client.connack.session_present
    await client.leave()
    for payload in numbers(501):
        await publisher.publish("a", payload)
    back = await bench.connect("c", clean_start=False, session_expiry_interval=300)
    assert back.connack.session_present
    assert await back.work() == numbers(501)


@claim
async def clean_start_forgets_the_session(bench: Bench) -> None:
    client, publisher = await bench.connect("c", "a", session_expiry_interval=300), await bench.connect("p")
    await client.leave()
    fresh = await bench.connect("c", session_expiry_interval=300)
    assert not fresh.connack.session_present
    await publisher.publish("a")
    assert await fresh.messages() == []


@claim
async def session_ends_with_its_expiry(bench: Bench) -> None:
    client = await bench.connect("c", "a", session_expiry_interval=1)
    await client.leave()
    await asyncio.sleep(3)
    assert not (await bench.connect("c", clean_start=False)).connack.session_present


@claim
async def session_without_expiry_ends_with_the_connection(bench: Bench) -> None:
    await (await bench.connect("c", "a")).leave()
    assert not (await bench.connect("c", clean_start=False)).connack.session_present


@claim
async def disconnect_may_shorten_the_session_but_not_revive_it(bench: Bench) -> None:
    client = await bench.connect("c", "a", session_expiry_interval=300)
    await client.leave(session_expiry_interval=0)
    assert not (await bench.connect("c", clean_start=False)).connack.session_present
    other = await bench.connect("other")
    other.send(mqtt5.DisconnectPacket(session_expiry_interval=5))
    assert await other.ended() == 0x82


@claim
async def unacknowledged_message_comes_again_as_duplicate_under_its_identifier(bench: Bench) -> None:
    client, publisher = await bench.connect("c", "a", session_expiry_interval=300), await bench.connect("p")
    for payload in numbers(3):
        await publisher.publish("a", payload)
    first = await client.messages()
    client.acknowledge(first[:1])
    await client.leave()
    await publisher.publish("a", b"3")
    back = await bench.connect("c", clean_start=False, session_expiry_interval=300)
    again = await back.messages()
    assert [message.payload for message in again] == [b"1", b"2", b"3"]
    assert [message.duplicate for message in again] == [True, True, False]
    assert [message.packet_id for message in again[:2]] == [message.packet_id for message in first[1:]]


@claim
async def taken_over_client_is_told(bench: Bench) -> None:
    older = await bench.connect("c", session_expiry_interval=300)
    await bench.connect("c", clean_start=False, session_expiry_interval=300)
    assert await older.ended() == 0x8E


@claim
async def client_without_identifier_is_given_one(bench: Bench) -> None:
    client = await bench.dial()
    client.send(ConnectPacket("", clean_start=True))
    assert (await client.expect(mqtt5.ConnAckPacket)).assigned_client_id


@claim
async def will_is_published_when_the_connection_breaks(bench: Bench) -> None:
    watcher = await bench.connect("watcher", "w")
    will = Will(bench.topic("w"), payload=b"gone", content_type="t", user_properties=[("k", "v")], retain=True)
    (await bench.connect("c", will=will)).cut()
    message = await watcher.message()
    assert (message.payload, message.content_type, message.user_properties) == (b"gone", "t", [("k", "v")])
    late = await bench.connect("late", "w")
    assert [(each.payload, each.retain) for each in await late.messages()] == [(b"gone", True)]


@claim
async def will_is_suppressed_by_disconnect_unless_that_asks_for_it(bench: Bench) -> None:
    watcher = await bench.connect("watcher", "w")
    will = Will(bench.topic("w"), payload=b"gone")
    await (await bench.connect("a", will=will)).leave()
    assert await watcher.messages() == []
    await (await bench.connect("b", will=will)).leave(
        reason_code=mqtt5.DisconnectReasonCode.DISCONNECT_WITH_WILL_MESSAGE
    )
    assert (await watcher.message()).payload == b"gone"


@claim
async def will_waits_for_its_delay_and_is_called_off_by_coming_back(bench: Bench) -> None:
    watcher = await bench.connect("watcher", "w/+")
    start = time.monotonic()
    for name, delay in (("back", 300), ("gone", 1)):
        will = Will(bench.topic(f"w/{name}"), payload=name.encode(), will_delay_interval=delay)
        (await bench.connect(name, will=will, session_expiry_interval=600)).cut()
    await bench.connect("back", clean_start=False, session_expiry_interval=600)
    assert (await watcher.message()).payload == b"gone"
    assert time.monotonic() - start >= 0.9
    assert await watcher.messages() == []


@claim
async def silent_client_is_cut_off_after_one_and_a_half_keep_alives(bench: Bench) -> None:
    watcher = await bench.connect("watcher", "w")
    start = time.monotonic()
    client = await bench.connect("c", keep_alive=1, will=Will(bench.topic("w"), payload=b"silent"))
    assert (await watcher.message()).payload == b"silent"
    assert time.monotonic() - start >= 1.4
    await client.ended()


@claim
async def silent_client_is_told_why_it_is_cut_off(bench: Bench) -> None:
    client = await bench.connect("c", keep_alive=1)
    assert await client.ended() == 0x8D


@claim
async def broken_rule_ends_the_connection_with_its_reason(bench: Bench) -> None:
    bystander = await bench.connect("bystander", "a")
    for name, data, reasons in (
        ("connect", ConnectPacket("again").write(), {0x82}),
        ("wildcard", b"\x30\x04\x00\x01+\x00", {0x81, 0x82, 0x90}),
        ("zero", b"\x32\x06\x00\x01a\x00\x00\x00", {0x81, 0x82}),
        ("length", b"\x30\x04\x00\x09a\x00", {0x81}),
        ("utf8", b"\x30\x05\x00\x02\xff\xfe\x00", {0x81}),
    ):
        client = await bench.connect(name)
        client.send_bytes(data)
        reason = await client.ended()
        assert reason in reasons, f"{name}: {reason}"
    await bystander.publish("a", b"well")
    assert await bystander.payloads() == [b"well"]


@claim
async def broken_rule_ends_the_connection_of_who_broke_it_only(bench: Bench) -> None:
    bystander = await bench.connect("bystander", "a")
    for number, data in enumerate((ConnectPacket("again").write(), b"\x30\x04\x00\x01+\x00", b"\xf3\xff" * 20)):
        client = await bench.connect(f"c{number}")
        client.send_bytes(data)
        await client.ended()
    stranger = await bench.dial()
    stranger.send(PublishPacket("a", b"before CONNECT"))
    await stranger.ended()
    await bystander.publish("a", b"well")
    assert await bystander.payloads() == [b"well"]


@claim
async def shared_subscription_gives_each_message_to_one_member(bench: Bench) -> None:
    members = [await bench.connect(f"m{number}", "$share/g/a/+") for number in range(3)]
    other, publisher = await bench.connect("other", "$share/h/a/#"), await bench.connect("p")
    for payload in numbers(30):
        await publisher.publish("a/1", payload)
    shares = [await member.work() for member in members]
    assert all(shares)
    assert sorted(payload for share in shares for payload in share) == sorted(numbers(30))
    assert await other.work() == numbers(30)


@claim
async def shared_subscription_gets_nothing_retained_when_it_is_made(bench: Bench) -> None:
    publisher = await bench.connect("p")
    await publisher.publish("a/1", b"old", retain=True)
    member = await bench.connect("m", "$share/g/a/+")
    assert await member.messages() == []


@claim
async def dead_member_of_a_shared_subscription_loses_nothing(bench: Bench) -> None:
    """4.8.2 lets the broker wait for the member; a system of workers cannot."""
    dead = await bench.connect("dead", "$share/g/a/+", session_expiry_interval=300)
    alive, publisher = await bench.connect("alive", "$share/g/a/+"), await bench.connect("p")
    for payload in numbers(20):
        await publisher.publish("a/1", payload)
    held = await dead.messages()
    assert held
    done = await alive.work()
    await dead.leave(reason_code=mqtt5.DisconnectReasonCode.UNSPECIFIED_ERROR)
    assert sorted(done + await alive.work()) == sorted(numbers(20))


@claim
async def stuck_member_of_a_shared_subscription_loses_nothing(bench: Bench) -> None:
    """The standard does not ask for it."""
    stuck = await bench.connect("stuck", "$share/g/a/+")
    alive, publisher = await bench.connect("alive", "$share/g/a/+"), await bench.connect("p")
    for payload in numbers(20):
        await publisher.publish("a/1", payload)
    assert await stuck.messages()
    done = await _work_until(alive, 20, 8 * bench.fixture.stall_timeout)
    assert sorted(done) == sorted(numbers(20))


async def _work_until(client: RawClient, count: int, within: float) -> list[bytes]:
    """What the client gets until it has *count* messages, or *within* seconds are over."""
    assert within < PATIENCE
    end = time.monotonic() + within
    done: list[bytes] = []
    while len(done) < count and time.monotonic() < end:
        done += await client.work()
        await asyncio.sleep(0.05)
    return done
