"""A durable broker restarts, in order or by force, and nobody notices but by the connection."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import mqtt5
import pytest

from beskar_jobs.broker import EmbeddedBroker
from beskar_jobs.broker.accounts import make_account
from beskar_jobs.broker.core import BrokerCore
from beskar_jobs.broker.database import DatabaseFault
from beskar_jobs.broker.durability import DurableJournal
from beskar_jobs.broker.sessions import BrokerLimits
from tests.broker.core_bed import CoreBed
from tests.broker.dialing import Dialed
from tests.cli.program import Program, environment

DAY = 86_400


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "broker.db"


class DurableBed(CoreBed):
    """A core with a file, whose clock is the machine's."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.now = asyncio.get_running_loop().time()
        self._path = path
        self.open()

    async def restart(self) -> None:
        await self.journal.close()
        self.open()

    def open(self) -> None:
        self.journal = DurableJournal.open(self._path)
        self.core = BrokerCore(BrokerLimits(), lambda: "assigned", None, self.journal)
        self.journal.restore(self.core, self.now)


def rows(path: Path) -> dict[str, int]:
    """How many rows each table has."""
    database = sqlite3.connect(path)
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    counts = {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
    database.close()
    return counts


async def leave_something(port: int) -> None:
    """A retained message, and a client that is away with two subscriptions and five messages."""
    async with (
        await Dialed.connect(port, "away", lasting=DAY, fresh=True) as away,
        await Dialed.connect(port, "sender") as sender,
    ):
        assert await away.subscribe("x/+", identifier=7) == [2]
        assert await away.subscribe("$share/g/y", retain_as_published=False) == [2]
        await away.publish("kept", b"r", retain=True, message_expiry_interval=DAY, user_properties=[("k", "v")])
        away.send(mqtt5.DisconnectPacket())
        with pytest.raises((EOFError, ConnectionError)):
            await away.any()
        for number in range(4):
            assert await sender.publish("x/1", b"%d" % number, correlation_data=b"c") == 0
        assert await sender.publish("y", b"4") == 0


async def find_everything(port: int) -> None:
    async with (
        await Dialed.connect(port, "away", lasting=DAY) as away,
        await Dialed.connect(port, "late") as late,
    ):
        assert away.session_present
        messages = [await away.heard() for _ in range(5)]
        assert [message.payload for message in messages] == [b"0", b"1", b"2", b"3", b"4"]
        assert (messages[0].subscription_ids, messages[0].correlation_data) == ([7], b"c")
        assert await late.subscribe("kept") == [2]
        retained = await late.heard()
        assert (retained.payload, retained.retain, retained.user_properties) == (b"r", True, [("k", "v")])
        assert retained.message_expiry_interval is not None
        assert DAY - 600 < retained.message_expiry_interval <= DAY
        assert await late.publish("x/2", b"live") == 0
        assert (await away.heard()).payload == b"live"
        await away.round_trip()


async def test_a_restart_loses_neither_retained_messages_nor_sessions(file: Path) -> None:
    broker = EmbeddedBroker(persist=file)
    await broker.start()
    await leave_something(broker.port)
    await broker.stop()
    async with broker:
        await find_everything(broker.port)
    assert rows(file) == {"retained": 1, "session": 1, "subscription": 2, "message": 0, "delivery": 0}


async def test_without_a_file_a_broker_comes_back_empty() -> None:
    broker = EmbeddedBroker()
    await broker.start()
    await leave_something(broker.port)
    await broker.stop()
    async with broker, await Dialed.connect(broker.port, "away", lasting=DAY) as away:
        assert not away.session_present


async def test_a_process_that_is_stopped_comes_back_with_everything(file: Path) -> None:
    for step in (leave_something, find_everything):
        with Program("broker", "--port", "0", "--persist", str(file), env=environment()) as broker:
            await step(await port_of(broker))
            assert await asyncio.to_thread(broker.stop) == 0
    assert not file.with_name("broker.db-wal").exists()


async def test_a_process_that_is_killed_has_lost_the_last_moments_at_most(file: Path) -> None:
    """What has reached the file is there after SIGKILL, and all that came before it: nothing is missing in between."""
    with Program("broker", "--port", "0", "--persist", str(file), env=environment()) as broker:
        port = await port_of(broker)
        await leave_something(port)
        async with await Dialed.connect(port, "sender") as sender:
            number = 4
            while not in_the_file(file, b"number 300."):
                number += 1
                assert await sender.publish("y", b"number %d." % number) == 0
    # Leaving the block has killed the process.
    with Program("broker", "--port", "0", "--persist", str(file), env=environment()) as broker:
        port = await port_of(broker)
        async with (
            await Dialed.connect(port, "away", lasting=DAY) as away,
            await Dialed.connect(port, "p") as publisher,
        ):
            await publisher.publish("y", b"end")
            heard = [(await away.heard()).payload]
            while heard[-1] != b"end":
                heard.append((await away.heard()).payload)
        assert await asyncio.to_thread(broker.stop) == 0
    kept = len(heard) - 1
    assert 301 <= kept <= number + 1
    assert heard[:5] == [b"%d" % each for each in range(5)]
    assert heard[5:-1] == [b"number %d." % each for each in range(5, kept)]


async def port_of(broker: Program) -> int:
    url = await asyncio.to_thread(broker.wait_for, "mqtt://", "stdout")
    return int(url.rpartition(":")[2])


def in_the_file(file: Path, text: bytes) -> bool:
    journal = file.with_name(f"{file.name}-wal")
    return text in file.read_bytes() or text in journal.read_bytes()


async def test_a_second_broker_on_the_file_is_refused(file: Path) -> None:
    async with EmbeddedBroker(persist=file):
        second = EmbeddedBroker(persist=file)
        with pytest.raises(DatabaseFault, match="in use by another process"):
            await second.start()
    async with second:
        pass


async def test_a_row_that_no_broker_wrote_is_an_error_that_names_the_file(file: Path) -> None:
    async with EmbeddedBroker(persist=file):
        pass
    other = sqlite3.connect(file)
    other.execute("INSERT INTO retained VALUES ('a', x'00', 0)")
    other.commit()
    other.close()
    for _ in range(2):
        with pytest.raises(DatabaseFault, match=r"broker\.db holds a row that cannot be read"):
            await EmbeddedBroker(persist=file).start()


async def test_a_message_owed_to_many_is_stored_once_and_goes_with_the_last(file: Path) -> None:
    bed = DurableBed(file)
    for number in range(5):
        bed.connect(f"c{number}", "x", session_expiry_interval=DAY)
    bed.connect("p").publish("x", b"1", qos=1)
    await bed.journal.close()
    counted = rows(file)
    assert (counted["message"], counted["delivery"]) == (1, 5)
    bed.open()
    clients = [bed.connect(f"c{number}", clean_start=False, session_expiry_interval=DAY) for number in range(5)]
    for client in clients:
        (message,) = client.early
        client.send(mqtt5.PubAckPacket(message.packet_id or 0))
    await bed.journal.close()
    counted = rows(file)
    assert (counted["message"], counted["delivery"], counted["session"]) == (0, 0, 5)


async def test_a_message_of_a_dead_member_goes_to_the_others_over_a_restart(file: Path) -> None:
    bed = DurableBed(file)
    bed.connect("a", "$share/g/x", session_expiry_interval=DAY).drop()
    bed.connect("p").publish("x", b"1", qos=1)
    await bed.restart()
    other = bed.connect("b", session_expiry_interval=DAY)
    other.subscribe("$share/g/x")
    assert [message.payload for message in other.replayed] == [b"1"]
    assert bed.core.statistics().handed_on == 1
    await bed.journal.close()


async def test_the_time_of_sessions_and_messages_goes_on_while_the_broker_is_away(file: Path) -> None:
    bed = DurableBed(file)
    bed.connect("short", "x", session_expiry_interval=100).drop()
    bed.connect("long", "x", session_expiry_interval=1000).drop()
    bed.connect("p").publish("x", b"1", qos=1, message_expiry_interval=300)
    bed.connect("p").publish("kept", b"1", qos=1, retain=True, message_expiry_interval=300)
    await bed.journal.close()
    shift_times(file, -200)
    bed.open()
    bed.advance(0)
    assert list(bed.core.sessions) == ["long"]
    (message,) = bed.connect("long", clean_start=False, session_expiry_interval=1000).early
    assert message.message_expiry_interval == 100
    (retained,) = bed.connect("late", "kept").replayed
    assert retained.message_expiry_interval == 100
    await bed.journal.close()


async def test_a_clock_that_was_set_back_makes_nothing_last_longer(file: Path) -> None:
    bed = DurableBed(file)
    bed.connect("c", "x", session_expiry_interval=100).drop()
    bed.connect("p").publish("kept", b"1", qos=1, retain=True, message_expiry_interval=300)
    await bed.journal.close()
    shift_times(file, 5000)
    bed.open()
    bed.advance(101)
    assert bed.core.sessions == {}
    bed.advance(200)
    assert bed.core.statistics().retained_messages == 0
    await bed.journal.close()
    assert set(rows(file).values()) == {0}


async def test_a_session_that_ends_leaves_nothing_in_the_file(file: Path) -> None:
    bed = DurableBed(file)
    bed.connect("c", "x", "$share/g/y", session_expiry_interval=100).drop()
    for topic in ("x", "y"):
        bed.connect("p").publish(topic, qos=1)
    await bed.restart()
    bed.connect("c")
    await bed.journal.close()
    assert set(rows(file).values()) == {0}


async def test_a_client_identifier_stays_its_users_over_a_restart(file: Path, tmp_path: Path) -> None:
    accounts = tmp_path / "passwords"
    accounts.write_text("\n".join([make_account("ann", "a"), make_account("bob", "b")]))
    broker = EmbeddedBroker(persist=file, password_file=accounts)

    async def knock(user: str) -> int:
        dialed = await Dialed.dial(broker.port)
        packet = mqtt5.ConnectPacket("c", username=user, password=user[:1].encode(), session_expiry_interval=DAY)
        async with dialed:
            return int((await dialed.ask(packet, mqtt5.ConnAckPacket)).reason_code)

    async with broker:
        assert await knock("ann") == 0
    async with broker:
        assert await knock("bob") == 0x87
        assert await knock("ann") == 0


async def test_topics_of_the_broker_itself_are_not_kept(file: Path) -> None:
    async with EmbeddedBroker(persist=file):
        pass
    assert rows(file)["retained"] == 0


def shift_times(file: Path, seconds: float) -> None:
    """Let the file be from *seconds* later, or earlier."""
    database = sqlite3.connect(file)
    for table in ("retained", "message"):
        database.execute(f"UPDATE {table} SET received = received + ?", (seconds,))
    database.execute("UPDATE session SET expires_at = expires_at + ?", (seconds,))
    database.commit()
    database.close()
