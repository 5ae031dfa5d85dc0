"""Real brokers for the whole suite: started once, and kept apart by topic prefix."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from beskar_jobs.testing.services import EmbeddedServer, MosquittoServer


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-golden", action="store_true", help="write what the cases of the code generator expect anew"
    )


@pytest.fixture(scope="session")
def mosquitto() -> Iterator[MosquittoServer]:
    """One for the session. A test that bounces its broker starts a :class:`MosquittoServer` of its own."""
    with MosquittoServer() as server:
        yield server


@pytest.fixture(scope="session")
def embedded_broker() -> Iterator[EmbeddedServer]:
    with EmbeddedServer() as server:
        yield server


@pytest.fixture(params=["mosquitto", "embedded"])
def broker_url(request: pytest.FixtureRequest) -> str:
    """The URL of each broker in turn."""
    name = "mosquitto" if request.param == "mosquitto" else "embedded_broker"
    return str(request.getfixturevalue(name).url)


@pytest.fixture
def topic_prefix() -> str:
    """A prefix that no other test uses."""
    return f"t{uuid4().hex[:12]}"
