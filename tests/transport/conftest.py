"""The ways to a real Mosquitto that the suite holds to the contract. Those to the embedded broker, and in memory, are
tested with the broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import attrs
import pytest
import trustme

from beskar_jobs.ports.transport import Transport, TransportListener, TransportOptions
from beskar_jobs.testing.services import MosquittoServer, TlsFiles, free_port
from beskar_jobs.testing.transport_suite import SECRET, TransportFixture
from beskar_jobs.transport.mqtt import MqttTransport

BEDS = ["tcp", "tcp-public-api", "tls", "tls-public-api", "websocket", "unix"]


@attrs.frozen
class Authority:
    """A certificate authority that signs for localhost."""

    ca: Path
    server: TlsFiles


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    folder = tmp_path_factory.mktemp("tls")
    ca = trustme.CA()
    issued = ca.issue_cert("localhost", "127.0.0.1")
    ca.cert_pem.write_to_path(folder / "ca.pem")
    issued.private_key_pem.write_to_path(folder / "key.pem")
    (folder / "cert.pem").write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
    return Authority(folder / "ca.pem", TlsFiles(folder / "cert.pem", folder / "key.pem"))


@pytest.fixture(scope="session")
def bouncing_mosquitto(authority: Authority) -> Iterator[MosquittoServer]:
    with MosquittoServer(tls=authority.server, websocket=True, unix=True) as server:
        yield server


def outage_of(server: MosquittoServer) -> Callable[[], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def outage() -> AsyncIterator[None]:
        await asyncio.to_thread(server.kill)
        try:
            yield
        finally:
            await asyncio.to_thread(server.start)

    return outage


@pytest.fixture(params=BEDS)
def bed(request: pytest.FixtureRequest, topic_prefix: str, authority: Authority) -> TransportFixture:
    kind: str = request.param
    server: MosquittoServer = request.getfixturevalue("bouncing_mosquitto")
    url = {
        "tcp": server.url,
        "tls": server.tls_url,
        "websocket": server.websocket_url,
        "unix": server.unix_url,
    }[kind.partition("-")[0]]
    fast = not kind.endswith("public-api")

    def make(options: TransportOptions, listener: TransportListener) -> Transport:
        if url.startswith("mqtts"):
            options = attrs.evolve(options, ca_file=str(authority.ca))
        return MqttTransport(url, options, listener, fast_path=fast)

    def make_unreachable(options: TransportOptions, listener: TransportListener) -> Transport:
        address = f"mqtt://user:{SECRET}@127.0.0.1:{free_port()}"
        return MqttTransport(address, options, listener, fast_path=fast)

    # Mosquitto 2.0 does not finish a WebSocket frame that the kernel has taken in part, until it has another to send.
    large = 50_000 if kind == "websocket" else 1024 * 1024
    return TransportFixture(topic_prefix, make, make_unreachable, outage_of(server), large)
