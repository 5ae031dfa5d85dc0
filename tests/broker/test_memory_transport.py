"""The in-memory transport beyond the conformance suite: threads, faults on demand, life and death of the broker."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Sequence

import attrs
import pytest

from beskar_jobs.model.errors import BrokerUnreachable, InvalidValue, OutboundQueueFull, TransportClosed
from beskar_jobs.ports.transport import InboundMessage, OutboundMessage, TransportOptions
from beskar_jobs.transport import create_transport
from beskar_jobs.transport.memory import MemoryBroker, MemoryTransport
from beskar_jobs.transport.memory_broker import find_memory_broker

BOUND = 20.0


class Log:
    """A listener that keeps what it hears, and lets a test wait for it."""

    def __init__(self) -> None:
        self.connections: list[int] = []
        self.reasons: list[str] = []
        self.messages: list[InboundMessage] = []
        self._changed = asyncio.Event()

    def on_connected(self, connection: int) -> None:
        self.connections.append(connection)
        self._changed.set()

    def on_disconnected(self, reason: str) -> None:
        self.reasons.append(reason)
        self._changed.set()

    def on_message(self, message: InboundMessage) -> None:
        self.messages.append(message)
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(BOUND):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    @property
    def topics(self) -> list[str]:
        return [message.topic for message in self.messages]


def options(client_id: str, **changes: object) -> TransportOptions:
    quick = TransportOptions(client_id, connect_timeout=5.0, reconnect_first=0.001, reconnect_cap=0.01)
    return attrs.evolve(quick, **changes)  # type: ignore[arg-type]  # names are checked at run time


async def opened(broker: MemoryBroker, client_id: str, *filters: str, **changes: object) -> tuple[MemoryTransport, Log]:
    log = Log()
    transport = MemoryTransport(broker.url, options(client_id, **changes), log)
    await transport.open()
    await transport.subscribe(filters)
    return transport, log


def offline(connection: int) -> OutboundMessage:
    return OutboundMessage("presence", f"gone {connection}".encode(), retain=True)


async def test_message_goes_from_one_to_the_other_with_its_request_properties() -> None:
    async with MemoryBroker() as broker:
        a, heard = await opened(broker, "a", "x/+")
        b, _ = await opened(broker, "b")
        await b.publish([OutboundMessage("x/1", b"payload", response_topic="replies/b", correlation=b"\x00\xff")])
        await heard.until(lambda: bool(heard.messages))
        assert heard.messages == [InboundMessage("x/1", b"payload", False, "replies/b", b"\x00\xff")]
        await a.close()
        await b.close()


async def test_url_finds_the_transport() -> None:
    async with MemoryBroker() as broker:
        transport = create_transport(broker.url, options("a"), Log())
        await transport.open()
        assert broker.connected_clients == ["a"]
        await transport.close()
        assert broker.connected_clients == []


async def test_abort_publishes_the_will_of_this_connection_and_close_does_not() -> None:
    async with MemoryBroker() as broker:
        a, heard = await opened(broker, "a", "presence")
        b, _ = await opened(broker, "b", will=offline)
        await b.close()
        c, _ = await opened(broker, "c", will=lambda n: OutboundMessage("presence", f"aborted {n}".encode()))
        c.abort()
        await heard.until(lambda: bool(heard.messages))
        assert [message.payload for message in heard.messages] == [b"aborted 1"]
        with pytest.raises(TransportClosed):
            await c.publish([OutboundMessage("x", b"")])
        await a.close()


async def test_dropped_connection_publishes_the_will_then_comes_back_subscribed() -> None:
    async with MemoryBroker() as broker:
        a, heard = await opened(broker, "a", "presence")
        b, log = await opened(broker, "b", "x", will=offline)
        assert broker.drop_connection("b")
        await log.until(lambda: log.connections == [1, 2])
        assert len(log.reasons) == 1
        await a.publish([OutboundMessage("x", b"again")])
        await log.until(lambda: log.topics == ["x"])
        assert [message.payload for message in heard.messages] == [b"gone 1"]
        assert not broker.drop_connection("nobody")
        await a.close()
        await b.close()


async def test_what_is_published_while_the_broker_is_away_goes_out_in_order_after_subscribing_again() -> None:
    async with MemoryBroker() as broker:
        a, log = await opened(broker, "a", "n/#")
        broker.stop()
        await log.until(lambda: bool(log.reasons))
        waiting = asyncio.gather(*(a.publish([OutboundMessage(f"n/{i}", b"")]) for i in range(20)))
        await asyncio.sleep(0)
        assert not waiting.done()
        broker.restart()
        await log.until(lambda: len(log.topics) == 20)
        await asyncio.wait_for(waiting, BOUND)
        assert log.topics == [f"n/{i}" for i in range(20)]
        await a.close()


@pytest.mark.parametrize("keep", [True, False])
async def test_restart_keeps_retained_messages_only_if_asked_to(keep: bool) -> None:
    async with MemoryBroker() as broker:
        a, log = await opened(broker, "a")
        await a.publish([OutboundMessage("status/1", b"done", retain=True)])
        broker.restart(keep_retained=keep)
        await log.until(lambda: log.connections == [1, 2])
        await a.subscribe(["status/+"])
        await a.publish([OutboundMessage("status/mark", b"")])
        await log.until(lambda: "status/mark" in log.topics)
        assert [(m.topic, m.retain) for m in log.messages if m.payload] == ([("status/1", True)] if keep else [])
        await a.close()


async def test_intercept_loses_and_doubles_what_a_client_publishes() -> None:
    def intercept(client_id: str, message: OutboundMessage) -> Sequence[OutboundMessage]:
        assert client_id == "b"
        return {"lose": [], "double": [message, message]}.get(message.topic, [message])

    async with MemoryBroker() as broker:
        a, heard = await opened(broker, "a", "#")
        b, _ = await opened(broker, "b")
        broker.intercept = intercept
        async with asyncio.timeout(BOUND):
            await b.publish([OutboundMessage(topic, b"") for topic in ("lose", "double", "end")])
        await heard.until(lambda: "end" in heard.topics)
        assert heard.topics == ["double", "double", "end"]
        await a.close()
        await b.close()


async def test_intercept_delivery_loses_what_is_on_its_way_to_one_client() -> None:
    async with MemoryBroker() as broker:
        a, heard = await opened(broker, "a", "#")
        b, other = await opened(broker, "b", "#")
        broker.intercept_delivery = lambda client, message: [] if (client, message.topic) == ("a", "1") else [message]
        await b.publish([OutboundMessage("1", b""), OutboundMessage("2", b"")])
        await heard.until(lambda: "2" in heard.topics)
        await other.until(lambda: "2" in other.topics)
        assert (heard.topics, other.topics) == (["2"], ["1", "2"])
        await a.close()
        await b.close()


async def test_transports_on_loops_of_different_threads_share_a_broker() -> None:
    """Four threads, each with a loop of its own, publish to all and hear all."""
    each, threads = 200, 4
    orders: dict[str, list[bytes]] = {}

    def run(url: str, name: str, ready: threading.Barrier) -> None:
        async def main() -> None:
            log = Log()
            transport = MemoryTransport(url, options(name), log)
            await transport.open()
            await transport.subscribe(["n/+"])
            await asyncio.to_thread(ready.wait, BOUND)
            messages = [OutboundMessage(f"n/{name}", str(i).encode(), qos=i % 2) for i in range(each)]
            await asyncio.gather(*(transport.publish([message]) for message in messages))
            await log.until(lambda: len(log.messages) == each * threads)
            for message in log.messages:
                orders.setdefault(f"{name} hears {message.topic}", []).append(message.payload)
            await asyncio.to_thread(ready.wait, BOUND)
            await transport.close()

        asyncio.run(main())

    async with MemoryBroker() as broker:
        barrier = threading.Barrier(threads)
        await asyncio.gather(*(asyncio.to_thread(run, broker.url, f"t{i}", barrier) for i in range(threads)))
        assert broker.connected_clients == []
    assert len(orders) == threads * threads
    assert all(heard == [str(i).encode() for i in range(each)] for heard in orders.values())


async def test_loop_that_ended_without_closing_counts_as_a_dead_process() -> None:
    async with MemoryBroker() as broker:
        a, heard = await opened(broker, "a", "presence")

        def die() -> None:
            async def main() -> None:
                await opened(broker, "dead", "x", will=offline)

            asyncio.run(main())

        await asyncio.to_thread(die)
        await a.publish([OutboundMessage("x", b"for the dead")])
        await heard.until(lambda: bool(heard.messages))
        assert heard.messages[0].payload == b"gone 1"
        await a.close()


async def test_second_transport_with_the_same_client_id_takes_over() -> None:
    async with MemoryBroker() as broker:
        a, log = await opened(broker, "same", reconnect_first=30.0, reconnect_cap=30.0)
        b, _ = await opened(broker, "same")
        await log.until(lambda: bool(log.reasons))
        assert "0x8e" in log.reasons[0]
        assert not a.connected
        await a.close()
        await b.close()


async def test_open_gives_up_on_a_broker_that_is_stopped_and_names_it() -> None:
    broker = MemoryBroker()
    broker.stop()
    with pytest.raises(BrokerUnreachable, match=broker.url):
        await MemoryTransport(broker.url, options("a", connect_timeout=0.05), Log()).open()


async def test_open_waits_for_a_broker_that_comes_in_time() -> None:
    broker = MemoryBroker()
    broker.stop()
    transport = MemoryTransport(broker.url, options("a"), Log())
    opening = asyncio.create_task(transport.open())
    await asyncio.sleep(0)
    broker.restart()
    await asyncio.wait_for(opening, BOUND)
    assert transport.connected
    await transport.close()


async def test_full_queue_refuses_all_or_nothing() -> None:
    async with MemoryBroker() as broker:
        a, log = await opened(broker, "a", max_outbound=3)
        broker.stop()
        await log.until(lambda: bool(log.reasons))
        first = asyncio.create_task(a.publish([OutboundMessage("x", b""), OutboundMessage("x", b"")]))
        await asyncio.sleep(0)
        with pytest.raises(OutboundQueueFull):
            await a.publish([OutboundMessage("x", b""), OutboundMessage("x", b"")])
        a.abort()
        with pytest.raises(TransportClosed):
            await first


async def test_more_messages_than_packet_identifiers_go_through_in_one_publish() -> None:
    async with MemoryBroker() as broker:
        a, heard = await opened(broker, "a", "n")
        b, _ = await opened(broker, "b")
        async with asyncio.timeout(60):
            await b.publish([OutboundMessage("n", i.to_bytes(4)) for i in range(70_000)])
            await heard.until(lambda: len(heard.messages) == 70_000)
        assert [int.from_bytes(message.payload) for message in heard.messages] == list(range(70_000))
        await a.close()
        await b.close()


def test_broker_is_found_by_its_url_as_long_as_somebody_holds_it() -> None:
    broker = MemoryBroker("by-name")
    assert find_memory_broker("memory://by-name") is broker
    with pytest.raises(InvalidValue, match="by-name"):
        MemoryBroker("by-name")
    del broker
    gc.collect()
    assert find_memory_broker("memory://by-name") is None


async def test_a_url_that_no_broker_has_is_an_error_at_once_that_says_how_to_make_one() -> None:
    transport = create_transport("memory://nobody", options("a", connect_timeout=3600), Log())
    async with asyncio.timeout(60):  # long before the hour that a silent broker would be given
        with pytest.raises(BrokerUnreachable, match=r"make one with MemoryBroker \(beskar_jobs.transport.memory\)"):
            await transport.open()
    await transport.close()
