"""The embedded broker over every kind of listener: TCP, TLS, Unix socket, WebSocket, WebSocket over TLS."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import attrs
import pytest
import trustme

from beskar_jobs.broker import BrokerLimits, BrokerTls, EmbeddedBroker
from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.ports.transport import InboundMessage, OutboundMessage, TransportOptions
from beskar_jobs.transport.mqtt import MqttTransport

BOUND = 30.0
KINDS = ("mqtt", "mqtts", "ws", "wss", "mqtt+unix")


@attrs.frozen
class Site:
    broker: EmbeddedBroker
    ca: Path

    def url(self, kind: str) -> str:
        return next(url for url in self.broker.urls if url.startswith(f"{kind}://"))


@attrs.frozen
class Certificates:
    authority: trustme.CA
    folder: Path

    @property
    def ca(self) -> Path:
        return self.folder / "ca.pem"

    @property
    def files(self) -> BrokerTls:
        return BrokerTls(self.folder / "cert.pem", self.folder / "key.pem")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    issued.private_key_pem.write_to_path(folder / "key.pem")
    (folder / "cert.pem").write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
    return Certificates(authority, folder)


@pytest.fixture
async def site(certificates: Certificates, tmp_path: Path) -> AsyncIterator[Site]:
    listeners = [f"{kind}://127.0.0.1:0" for kind in KINDS[:4]] + [f"mqtt+unix://{tmp_path}/broker.sock"]
    async with EmbeddedBroker(listeners=listeners, tls=certificates.files) as broker:
        yield Site(broker, certificates.ca)


class Client:
    """A transport that keeps what it hears."""

    def __init__(self, url: str, client_id: str, ca: Path, **options: str) -> None:
        self.heard: asyncio.Queue[InboundMessage] = asyncio.Queue()
        fields = TransportOptions(client_id=client_id, connect_timeout=BOUND, **options)  # type: ignore[arg-type]  # strings all
        if url.startswith(("mqtts", "wss")):
            fields = attrs.evolve(fields, ca_file=str(ca))
        self.transport = MqttTransport(url, fields, self)

    def on_connected(self, connection: int) -> None:
        pass

    def on_disconnected(self, reason: str) -> None:
        pass

    def on_message(self, message: InboundMessage) -> None:
        self.heard.put_nowait(message)

    async def __aenter__(self) -> Client:
        await self.transport.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.transport.close()

    async def next(self) -> InboundMessage:
        return await asyncio.wait_for(self.heard.get(), BOUND)


@pytest.mark.parametrize("kind", KINDS)
async def test_ten_megabytes_and_many_small_messages_go_through_every_listener(site: Site, kind: str) -> None:
    large = bytes(range(256)) * (10 * 1024 * 4)
    async with Client(site.url(kind), "s", site.ca) as reader, Client(site.url(kind), "p", site.ca) as writer:
        await reader.transport.subscribe(["x/#"])
        await writer.transport.publish([OutboundMessage("x/large", large)])
        assert (await reader.next()).payload == large
        await writer.transport.publish([OutboundMessage(f"x/{number}", b"%d" % number) for number in range(500)])
        assert [(await reader.next()).payload for _ in range(500)] == [b"%d" % number for number in range(500)]


async def test_all_listeners_lead_to_one_broker(site: Site) -> None:
    clients = [Client(site.url(kind), f"c-{number}", site.ca) for number, kind in enumerate(KINDS)]
    for client in clients:
        await client.transport.open()
        await client.transport.subscribe(["news"])
    for number, client in enumerate(clients):
        await client.transport.publish([OutboundMessage("news", b"%d" % number)])
        assert [(await each.next()).payload for each in clients] == [b"%d" % number] * len(clients)
    for client in clients:
        await client.transport.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_client_that_vanishes_is_mourned_over_every_listener(site: Site, kind: str) -> None:
    def will(connection: int) -> OutboundMessage:
        return OutboundMessage("will", b"gone")

    async with Client(site.url("mqtt"), "watcher", site.ca) as watcher:
        await watcher.transport.subscribe(["will"])
        doomed = Client(site.url(kind), "doomed", site.ca, will=will)  # type: ignore[arg-type]  # an option, too
        await doomed.transport.open()
        doomed.transport.abort()
        assert (await watcher.next()).payload == b"gone"


async def test_two_hundred_clients_at_once(site: Site) -> None:
    clients = [Client(site.url("mqtt" if number % 4 else "ws"), f"c{number}", site.ca) for number in range(200)]
    await asyncio.gather(*(client.transport.open() for client in clients))
    await asyncio.gather(*(client.transport.subscribe(["all"]) for client in clients))
    await clients[0].transport.publish([OutboundMessage("all", b"hello")])
    assert [(await client.next()).payload for client in clients] == [b"hello"] * 200
    await asyncio.gather(*(client.transport.close() for client in clients))


@pytest.mark.parametrize("place", ["mqtt://0.0.0.0:0", "ws://[::]:0", "mqtts://broker.example.org", "mqtt://10.1.2.3"])
def test_beyond_this_machine_nobody_is_let_in_without_an_account(place: str, certificates: Certificates) -> None:
    with pytest.raises(InvalidValue, match="--allow-anonymous-remote"):
        EmbeddedBroker(listeners=[place], tls=certificates.files)
    EmbeddedBroker(listeners=[place], tls=certificates.files, allow_anonymous_remote=True)


@pytest.mark.parametrize(
    ("place", "what"),
    [
        ("http://127.0.0.1", "no known scheme"),
        ("mqtt://", "no host"),
        ("mqtt://127.0.0.1:70000", "bad host or port"),
        ("mqtt://me:secret@127.0.0.1", "password file"),
        ("mqtt://127.0.0.1/x", "a path"),
        ("mqtts://127.0.0.1", "--tls-cert-file"),
        ("mqtt+unix://", "full path"),
    ],
)
def test_a_listener_that_cannot_be_meant_is_an_error_that_says_what_is_wrong(place: str, what: str) -> None:
    with pytest.raises(InvalidValue, match=what) as error:
        EmbeddedBroker(listeners=[place])
    assert "secret" not in str(error.value)


async def test_a_client_certificate_is_demanded_where_an_authority_is_named(certificates: Certificates) -> None:
    tls = attrs.evolve(certificates.files, client_ca_file=certificates.ca)
    certificate = certificates.authority.issue_cert("worker@example.org", common_name="worker-7")
    cert, key = certificates.folder / "client.pem", certificates.folder / "client-key.pem"
    certificate.cert_chain_pems[0].write_to_path(cert)
    certificate.private_key_pem.write_to_path(key)
    async with EmbeddedBroker(listeners=["mqtts://127.0.0.1:0"], tls=tls) as broker:
        async with Client(broker.url, "c", certificates.ca, cert_file=str(cert), key_file=str(key)) as client:
            await client.transport.subscribe(["x"])
            await client.transport.publish([OutboundMessage("x", b"1")])
            assert (await client.next()).payload == b"1"
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await _first_byte(broker.port, ssl.create_default_context(cafile=str(certificates.ca)))


@pytest.mark.parametrize("kind", ["mqtt", "mqtts", "ws", "wss"])
async def test_who_says_nothing_is_shown_out_and_frees_the_place(certificates: Certificates, kind: str) -> None:
    """The time to CONNECT counts from the first moment: a handshake that never ends costs its own connection."""
    limits = BrokerLimits(connect_timeout=0.3)
    place = f"{kind}://127.0.0.1:0"
    async with EmbeddedBroker(listeners=[place], tls=certificates.files, limits=limits, max_connections=1) as broker:
        for _ in range(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", broker.port)
            await _ends(reader, writer)


async def test_a_connection_too_many_is_closed_and_the_others_go_on() -> None:
    async with EmbeddedBroker(max_connections=1) as broker, Client(broker.url, "first", Path()) as client:
        await _ends(*await asyncio.open_connection("127.0.0.1", broker.port))
        await client.transport.subscribe(["x"])
        await client.transport.publish([OutboundMessage("x", b"1")])
        assert (await client.next()).payload == b"1"


async def test_if_one_place_is_taken_none_is_listened_on(tmp_path: Path) -> None:
    async with EmbeddedBroker() as other:
        path = tmp_path / "broker.sock"
        broker = EmbeddedBroker(listeners=[f"mqtt+unix://{path}", other.url])
        with pytest.raises(OSError, match="in use"):
            await broker.start()
        assert not path.exists()


async def _ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while await asyncio.wait_for(reader.read(4096), BOUND):
            pass
    except ConnectionError:
        pass
    finally:
        writer.transport.abort()


async def _first_byte(port: int, context: ssl.SSLContext) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    try:
        if not await asyncio.wait_for(reader.read(1), BOUND):
            raise ConnectionResetError
    finally:
        writer.transport.abort()
