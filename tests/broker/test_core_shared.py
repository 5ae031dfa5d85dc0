"""Shared subscriptions: each message to one member, and nothing stays with a member that is dead or stuck."""

from __future__ import annotations

from collections import Counter

import mqtt5
import pytest
from mqtt5 import DisconnectPacket, DisconnectReasonCode, PubAckPacket, PublishPacket, SubAckReasonCode

from beskar_jobs.broker.sessions import BrokerLimits
from tests.broker.core_bed import Client, CoreBed

STALL = 30.0


@pytest.fixture
def bed() -> CoreBed:
    return CoreBed(BrokerLimits(shared_stall_timeout=STALL))


def acknowledge(client: Client, messages: list[PublishPacket]) -> None:
    for message in messages:
        client.send(PubAckPacket(message.packet_id or 0))


def work(client: Client) -> list[bytes]:
    """Take and acknowledge until nothing more comes."""
    done: list[bytes] = []
    while messages := client.messages():
        acknowledge(client, messages)
        done += [message.payload for message in messages]
    return done


def fill(bed: CoreBed, count: int, topic: str = "jobs/1") -> list[bytes]:
    publisher = bed.connect("publisher")
    payloads = [b"%d" % number for number in range(count)]
    for payload in payloads:
        publisher.publish(topic, payload, qos=1)
    return payloads


def test_members_take_turns_and_each_message_goes_to_one(bed: CoreBed) -> None:
    members = [bed.connect(f"m{number}", "$share/g/jobs/+") for number in range(3)]
    sent = fill(bed, 30)
    shares = [work(member) for member in members]
    assert [len(share) for share in shares] == [10, 10, 10]
    assert sorted(payload for share in shares for payload in share) == sorted(sent)


def test_two_groups_and_a_plain_subscriber_each_get_every_message(bed: CoreBed) -> None:
    clients = [bed.connect("a", "$share/g/jobs/#"), bed.connect("b", "$share/h/jobs/#"), bed.connect("c", "jobs/1")]
    sent = fill(bed, 5)
    assert [work(client) for client in clients] == [sent] * 3


def test_client_with_a_plain_and_a_shared_subscription_gets_both(bed: CoreBed) -> None:
    client = bed.connect("a", "$share/g/jobs/1", "jobs/1")
    fill(bed, 1)
    assert work(client) == [b"0", b"0"]


def test_shared_subscription_gets_nothing_retained_when_made_and_keeps_options(bed: CoreBed) -> None:
    bed.connect("p").publish("jobs/1", b"old", retain=True)
    member = bed.connect("m")
    member.subscribe("$share/g/jobs/1", identifier=5, retain_as_published=True)
    assert member.replayed == []
    bed.connect("p").publish("jobs/1", b"new", retain=True, qos=1)
    message = member.only(PublishPacket)
    assert (message.payload, message.retain, message.subscription_ids) == (b"new", True, [5])


@pytest.mark.parametrize("pattern", ["$share/g", "$share//jobs", "$share/g/"])
def test_malformed_shared_filter_is_refused_with_a_reason(bed: CoreBed, pattern: str) -> None:
    client = bed.connect("c")
    answer = client.subscribe(pattern)
    assert answer.reason_codes == [SubAckReasonCode.TOPIC_FILTER_INVALID]
    assert answer.reason_str is not None
    assert "$share/NAME/FILTER" in answer.reason_str


def test_no_local_on_a_shared_subscription_is_a_protocol_error(bed: CoreBed) -> None:
    client = bed.connect("c")
    client.send(mqtt5.SubscribePacket(1, [mqtt5.TopicFilter("$share/g/x", no_local=True)]))
    assert client.disconnected() == DisconnectReasonCode.PROTOCOL_ERROR


def test_dead_members_unacknowledged_messages_go_to_the_others(bed: CoreBed) -> None:
    dead = bed.connect("dead", "$share/g/jobs/+", session_expiry_interval=1000)
    alive = bed.connect("alive", "$share/g/jobs/+")
    sent = fill(bed, 20)
    acknowledge(dead, dead.messages()[:3])
    done = work(alive)
    dead.drop()
    done += work(alive)
    assert len(done) == 17
    back = bed.connect("dead", clean_start=False, session_expiry_interval=1000)
    assert back.early == []
    assert set(done) < set(sent)
    assert bed.core.statistics().handed_on == 7


def test_what_waits_for_the_window_of_a_dead_member_goes_to_the_others_in_order(bed: CoreBed) -> None:
    dead = bed.connect("dead", "$share/g/jobs/+", receive_max=2)
    sent = fill(bed, 9)
    assert len(dead.messages()) == 2
    other = bed.connect("other", "$share/g/jobs/+")
    assert other.messages() == []
    dead.drop()
    assert work(other) == sent


def test_member_that_leaves_in_order_leaves_its_work_to_the_others(bed: CoreBed) -> None:
    leaver = bed.connect("leaver", "$share/g/jobs/+", session_expiry_interval=1000)
    other = bed.connect("other", "$share/g/jobs/+")
    fill(bed, 4)
    leaver.send(DisconnectPacket())
    assert len(work(other)) == 4


def test_work_waits_when_all_members_are_away_and_goes_to_the_first_that_comes(bed: CoreBed) -> None:
    first = bed.connect("first", "$share/g/jobs/+", session_expiry_interval=1000)
    second = bed.connect("second", "$share/g/jobs/+", session_expiry_interval=1000)
    second.drop()
    first.drop()
    sent = fill(bed, 6)
    back = bed.connect("second", clean_start=False, session_expiry_interval=1000)
    done = [message.payload for message in back.early]
    acknowledge(back, back.early)
    assert sorted(done + work(back)) == sent


def test_newcomer_gets_what_a_member_that_is_away_has_left(bed: CoreBed) -> None:
    away = bed.connect("away", "$share/g/jobs/+", session_expiry_interval=1000)
    sent = fill(bed, 3)
    away.drop()
    new = bed.connect("new")
    new.send(mqtt5.SubscribePacket(1, [mqtt5.TopicFilter("$share/g/jobs/+")]))
    assert work(new) == sent


def test_end_of_a_session_hands_its_work_to_a_member_that_is_away(bed: CoreBed) -> None:
    away = bed.connect("away", "$share/g/jobs/+", session_expiry_interval=1000)
    away.drop()
    dying = bed.connect("dying", "$share/g/jobs/+", session_expiry_interval=10)
    sent = fill(bed, 3)
    dying.drop()
    bed.advance(11)
    assert "dying" not in bed.core.sessions
    back = bed.connect("away", clean_start=False)
    assert [message.payload for message in back.early] == sent


def test_stuck_member_loses_its_work_to_the_others_after_the_stall_timeout_and_not_before(bed: CoreBed) -> None:
    stuck = bed.connect("stuck", "$share/g/jobs/+", receive_max=3)
    alive = bed.connect("alive", "$share/g/jobs/+")
    fill(bed, 6)
    held = stuck.messages()
    assert len(held) == 3
    assert len(work(alive)) == 3
    bed.advance(STALL - 1)
    assert work(alive) == []
    bed.advance(2)
    assert Counter(work(alive)) == Counter(message.payload for message in held)
    fill(bed, 4)
    assert len(work(alive)) == 4
    assert stuck.messages() == []


def test_member_that_makes_progress_is_not_stuck_however_slow(bed: CoreBed) -> None:
    slow = bed.connect("slow", "$share/g/jobs/+", receive_max=1)
    quick = bed.connect("quick", "$share/g/jobs/+")
    fill(bed, 2)
    for _ in range(5):
        work(quick)
        bed.advance(STALL - 1)
        acknowledge(slow, slow.messages())
        fill(bed, 2)
    assert bed.core.statistics().handed_on == 0


def test_stuck_member_that_wakes_up_is_a_member_again_and_its_window_was_never_passed(bed: CoreBed) -> None:
    stuck = bed.connect("stuck", "$share/g/jobs/+", receive_max=2)
    alive = bed.connect("alive", "$share/g/jobs/+")
    fill(bed, 4)
    held = stuck.messages()
    bed.advance(STALL + 1)
    work(alive)
    assert stuck.messages() == []
    acknowledge(stuck, held)
    fill(bed, 4)
    assert len(work(stuck)) == 2
    stuck.drop()
    assert len(work(alive)) == 2
    assert bed.core.statistics().handed_on == 2


def test_congested_member_that_reads_nothing_is_stuck_as_well(bed: CoreBed) -> None:
    stuck = bed.connect("stuck", "$share/g/jobs/+")
    stuck.peer.paused = True
    sent = fill(bed, 3)
    alive = bed.connect("alive", "$share/g/jobs/+")
    bed.advance(STALL + 1)
    assert work(alive) == sent


def test_qos_2_in_the_hands_of_a_member_is_never_given_to_another(bed: CoreBed) -> None:
    dead = bed.connect("dead", "$share/g/jobs/+", qos=2, session_expiry_interval=1000)
    bed.connect("p").publish("jobs/1", b"once", qos=2)
    assert dead.payloads() == [b"once"]
    other = bed.connect("other", "$share/g/jobs/+", qos=2)
    dead.drop()
    assert other.messages() == []
    back = bed.connect("dead", clean_start=False, session_expiry_interval=1000)
    assert [(each.payload, each.duplicate) for each in back.early] == [(b"once", True)]


def test_message_that_a_member_refuses_is_not_offered_to_another(bed: CoreBed) -> None:
    refuser = bed.connect("refuser", "$share/g/jobs/+")
    fill(bed, 1)
    (message,) = refuser.messages()
    other = bed.connect("other", "$share/g/jobs/+")
    refuser.send(PubAckPacket(message.packet_id or 0, reason_code=mqtt5.PubAckReasonCode.UNSPECIFIED_ERROR))
    refuser.drop()
    assert other.messages() == []


def test_unsubscribed_member_gets_no_more_and_an_empty_group_is_gone(bed: CoreBed) -> None:
    first, second = bed.connect("a", "$share/g/jobs/+"), bed.connect("b", "$share/g/jobs/+")
    first.send(mqtt5.UnsubscribePacket(1, ["$share/g/jobs/+"]))
    first.received()
    assert (work(second), fill(bed, 3), work(second)) == ([], [b"0", b"1", b"2"], [b"0", b"1", b"2"])
    second.send(mqtt5.UnsubscribePacket(1, ["$share/g/jobs/+"]))
    publisher = bed.connect("p")
    publisher.publish("jobs/1", qos=1)
    assert publisher.only(PubAckPacket).reason_code == mqtt5.PubAckReasonCode.NO_MATCHING_SUBSCRIBERS
    assert bed.core.statistics().subscriptions == 0


def test_crowd_of_members_that_come_and_go_does_every_message() -> None:
    """Members die at every point of their work; at the end the survivor has seen what nobody acknowledged."""
    bed = CoreBed()
    done: set[bytes] = set()
    survivor = bed.connect("survivor", "$share/g/jobs/+")
    publisher = bed.connect("p")
    for generation in range(50):
        mortal = bed.connect(
            f"mortal{generation % 3}",
            "$share/g/jobs/+",
            clean_start=generation % 2 == 0,
            session_expiry_interval=generation % 4 * 10,
            receive_max=1 + generation % 5,
        )
        for number in range(7):
            publisher.publish("jobs/1", b"%d-%d" % (generation, number), qos=1)
        messages = mortal.messages()[: generation % 4]
        acknowledge(mortal, messages)
        done |= {message.payload for message in messages}
        if generation % 2:
            done |= set(work(survivor))
        mortal.drop()
        bed.advance(generation % 7)
    bed.advance(100)
    done |= set(work(survivor))
    assert len(done) == 350
