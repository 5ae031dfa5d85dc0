"""Accounts, roles and rights of the embedded broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import mqtt5
import pytest
from mqtt5 import ConnectPacket, PublishPacket, QoS, SubscribePacket, TopicFilter, Will

from beskar_jobs import ConnectionSettings, JobClient, JobScheduler, JobWorker
from beskar_jobs.broker import EmbeddedBroker
from beskar_jobs.broker.access import ROLES, AccessRules, Identity, as_mosquitto, as_toml, covers, load_roles
from beskar_jobs.broker.accounts import PasswordCheck, hash_password, load_accounts, make_account
from beskar_jobs.model.errors import InvalidValue
from tests.broker.dialing import BOUND, Dialed
from tests.e2e.jobs import Number, Product, SquareHandler


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[EmbeddedBroker]:
    accounts = [
        make_account("ann", "a", ("client",)),
        make_account("wim", "w", ("worker",)),
        make_account("sam", "s", ("scheduler",)),
        make_account("root", "r"),
    ]
    path = tmp_path / "passwords"
    path.write_text("# accounts\n" + "\n".join(accounts) + "\n")
    async with EmbeddedBroker(password_file=path) as broker:
        yield broker


async def connect(broker: EmbeddedBroker, packet: ConnectPacket) -> tuple[Dialed, int]:
    raw = await Dialed.dial(broker.port)
    answer = await raw.answer(packet)
    assert isinstance(answer, mqtt5.ConnAckPacket)
    return raw, int(answer.reason_code)


@pytest.mark.parametrize(
    ("user", "password", "code"),
    [("root", b"r", 0), ("root", b"x", 0x86), ("nobody", b"r", 0x86), (None, None, 0x86), ("root", None, 0x86)],
)
async def test_who_has_no_account_is_told_so_and_shown_out(
    broker: EmbeddedBroker, user: str | None, password: bytes | None, code: int
) -> None:
    raw, got = await connect(broker, ConnectPacket("c", username=user, password=password))
    assert got == code
    if code:
        with pytest.raises((EOFError, ConnectionError)):
            await raw.any()
    raw.drop()


async def test_what_comes_right_behind_connect_waits_for_the_verdict(broker: EmbeddedBroker) -> None:
    for password, let_in in ((b"r", True), (b"x", False)):
        raw = await Dialed.dial(broker.port)
        connecting = ConnectPacket("c", username="root", password=password).write()
        publish = PublishPacket("x", b"1", qos=QoS.AT_LEAST_ONCE, packet_id=1).write()
        for byte in connecting:
            raw.write(bytes((byte,)))
        raw.write(publish)
        answer = await raw.any()
        assert isinstance(answer, mqtt5.ConnAckPacket)
        assert (answer.reason_code == 0) == let_in
        if let_in:
            assert isinstance(await raw.any(), mqtt5.PubAckPacket)
        raw.drop()


@pytest.mark.parametrize("first", [b"\x11", b"\x30", b"\x00", b"\xe0"])
async def test_nothing_but_connect_opens_the_gate(broker: EmbeddedBroker, first: bytes) -> None:
    raw = await Dialed.dial(broker.port)
    raw.write(first + ConnectPacket("c").write()[1:] + PublishPacket("x", b"1").write())
    with pytest.raises((EOFError, ConnectionError)):
        await raw.any()
    raw.drop()


async def test_a_denied_publish_is_answered_and_the_connection_goes_on(broker: EmbeddedBroker) -> None:
    raw, _ = await connect(broker, ConnectPacket("client-ann", username="ann", password=b"a"))
    for topic, code in (("jobs/status/j1", 0x87), ("jobs/commands/query", 0x10)):
        answer = await raw.answer(PublishPacket(topic, b"1", qos=QoS.AT_LEAST_ONCE, packet_id=7))
        assert isinstance(answer, mqtt5.PubAckPacket)
        assert (answer.packet_id, int(answer.reason_code)) == (7, code)
    refused = await raw.answer(PublishPacket("jobs/status/j1", b"1", qos=QoS.EXACTLY_ONCE, packet_id=8))
    assert isinstance(refused, mqtt5.PubRecPacket)
    assert int(refused.reason_code) == 0x87
    raw.drop()


async def test_a_topic_alias_is_no_way_around_the_rights(broker: EmbeddedBroker) -> None:
    raw, _ = await connect(broker, ConnectPacket("client-ann", username="ann", password=b"a"))
    for topic in ("jobs/status/j1", ""):
        packet = PublishPacket(topic, b"1", qos=QoS.AT_LEAST_ONCE, packet_id=7, topic_alias=1)
        answer = await raw.answer(packet)
        assert isinstance(answer, mqtt5.PubAckPacket)
        assert int(answer.reason_code) == 0x87
    raw.drop()


async def test_a_topic_that_is_no_text_ends_the_connection(broker: EmbeddedBroker) -> None:
    raw, _ = await connect(broker, ConnectPacket("client-ann", username="ann", password=b"a"))
    raw.write(PublishPacket("jobs/commands/query", b"1").write().replace(b"query", b"\xff\xfe\xff\xfe\xff"))
    farewell = await raw.any()
    assert isinstance(farewell, mqtt5.DisconnectPacket)
    assert int(farewell.reason_code) == 0x81
    raw.drop()


async def test_a_denied_filter_does_not_cost_the_others_of_its_subscribe(broker: EmbeddedBroker) -> None:
    raw, _ = await connect(broker, ConnectPacket("client-ann", username="ann", password=b"a"))
    wanted = ["#", "jobs/clients/ann/replies", "jobs/clients/bob/replies", "jobs/status/+", "$share/g/#", "$SYS/#"]
    answer = await raw.answer(SubscribePacket(3, [TopicFilter(text) for text in wanted]))
    assert isinstance(answer, mqtt5.SubAckPacket)
    assert [int(code) for code in answer.reason_codes] == [0x87, 2, 0x87, 2, 0x87, 0x87]
    denied = await raw.answer(SubscribePacket(4, [TopicFilter("#")]))
    assert isinstance(denied, mqtt5.SubAckPacket)
    assert [int(code) for code in denied.reason_codes] == [0x87]
    raw.drop()


async def test_a_will_for_a_topic_of_others_is_refused_with_its_client(broker: EmbeddedBroker) -> None:
    for topic, code in (("jobs/workers/other/heartbeat", 0x87), ("jobs/workers/w1/heartbeat", 0)):
        packet = ConnectPacket("worker-w1", username="wim", password=b"w", will=Will(topic, payload=b""))
        raw, got = await connect(broker, packet)
        assert got == code
        raw.drop()


async def test_nobody_takes_over_the_session_of_another_user(broker: EmbeddedBroker) -> None:
    mine, code = await connect(broker, ConnectPacket("client-x", username="ann", password=b"a"))
    assert code == 0
    theirs, code = await connect(broker, ConnectPacket("client-x", username="wim", password=b"w"))
    assert code == 0x87
    answer = await mine.answer(PublishPacket("jobs/commands/query", b"1", qos=QoS.AT_LEAST_ONCE, packet_id=1))
    assert isinstance(answer, mqtt5.PubAckPacket)
    for raw in (mine, theirs):
        raw.drop()


async def test_the_roles_suffice_for_the_engine(broker: EmbeddedBroker) -> None:
    def of(user: str) -> ConnectionSettings:
        return ConnectionSettings(username=user, password=user[0], connect_timeout=BOUND)

    async with (
        JobScheduler(broker.url, settings=of("sam")),
        JobWorker(broker.url, handlers=[SquareHandler], worker_id="w1", settings=of("wim")),
        JobClient(broker.url, settings=of("ann")) as client,
    ):
        handle = await client.enqueue(SquareHandler.request(Number(6)))
        assert await handle.result(BOUND) == Product(36)
        assert broker.denied == 0


@pytest.mark.parametrize(
    ("granted", "wanted", "whether"),
    [
        ("a/b", "a/b", True),
        ("a/+", "a/b", True),
        ("a/+", "a/+", True),
        ("a/+", "a/#", False),
        ("a/+", "a/b/c", False),
        ("a/#", "a/b/#", True),
        ("a/#", "a", True),
        ("a/b", "a/+", False),
        ("#", "$SYS/x", False),
        ("+/x", "$SYS/x", False),
        ("$SYS/#", "$SYS/x", True),
        ("a/b/c", "a/#", False),
        ("a", "a/b", False),
    ],
)
def test_a_filter_is_granted_only_if_all_it_can_match_is(granted: str, wanted: str, whether: bool) -> None:
    assert covers(granted, wanted) is whether


@pytest.mark.parametrize("name", ["+", "#", "a/b", "", "a+"])
def test_a_name_with_a_wildcard_grants_nothing(name: str) -> None:
    identity = Identity("ann", f"client-{name}", ("client",))
    rules = AccessRules()
    assert not rules.allows(identity, "subscribe", f"jobs/clients/{name}/replies")
    assert not rules.allows(identity, "subscribe", "jobs/clients/bob/replies")


def test_placeholders_stand_for_who_connects() -> None:
    rights = {"r": ROLES["client"].__class__(publish=("{prefix}/{user}/{client_id}/{name}",))}
    rules = AccessRules("acme/jobs", rights)
    identity = Identity("ann", "worker-w-1-0197c1f0a8b2-0123abcd", ("r",))
    assert rules.filters(identity, "publish") == ["acme/jobs/ann/worker-w-1-0197c1f0a8b2-0123abcd/w-1"]


def test_printed_rights_are_read_again_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "acl.toml"
    path.write_text(as_toml())
    assert load_roles(path) == ROLES
    assert "topic read acme/clients/+/replies" in as_mosquitto("acme")


@pytest.mark.parametrize(
    "text",
    [
        "x = 1",
        "[roles.a]\npublish = 'x'",
        "[roles.a]\nread = []",
        "[roles.a]\npublish = ['{who}']",
        "[roles.a]\npublish = ['a/#/b']",
        "[",
    ],
)
def test_an_acl_that_cannot_be_meant_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "acl.toml"
    path.write_text(text)
    with pytest.raises(InvalidValue):
        load_roles(path)


@pytest.mark.parametrize(
    "line", ["ann", "ann:client", "ann::plain", "ann::scrypt$3$8$1$AA==$AA==", ":client:", "a::\na::"]
)
def test_a_line_that_is_no_account_is_an_error_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "passwords"
    path.write_text(line)
    with pytest.raises(InvalidValue, match=r"line [12]"):
        load_accounts(path)


def test_two_hashes_of_one_password_differ_and_hold_it_not() -> None:
    first, second = hash_password("secret"), hash_password("secret")
    assert first != second
    assert "secret" not in first


async def test_the_loop_goes_on_while_passwords_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    path.write_text(make_account("ann", "a"))
    check = PasswordCheck(load_accounts(path))
    turns = 0
    checking = asyncio.gather(*(check.check("ann", b"wrong") for _ in range(8)))
    while not checking.done():
        turns += 1
        await asyncio.sleep(0.001)
    assert await checking == [None] * 8
    assert turns > 10
    check.close()
