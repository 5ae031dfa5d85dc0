from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.transport.urls import BrokerUrl, parse_broker_url, redact


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mqtt://broker", BrokerUrl("mqtt", "broker", 1883)),
        ("mqtt://broker/", BrokerUrl("mqtt", "broker", 1883)),
        ("MQTT://broker:1", BrokerUrl("mqtt", "broker", 1)),
        ("mqtts://u:p%40%2F@broker", BrokerUrl("mqtts", "broker", 8883, "", "u", "p@/")),
        ("mqtt://[::1]:99", BrokerUrl("mqtt", "::1", 99)),
        ("ws://broker", BrokerUrl("ws", "broker", 80, "/mqtt")),
        ("wss://broker:444/some/path", BrokerUrl("wss", "broker", 444, "/some/path")),
        ("mqtt+unix:///run/mqtt.sock", BrokerUrl("mqtt+unix", "", 0, "/run/mqtt.sock")),
        ("mqtt+unix://u:p@/run/mqtt.sock", BrokerUrl("mqtt+unix", "", 0, "/run/mqtt.sock", "u", "p")),
    ],
)
def test_url_is_read(text: str, expected: BrokerUrl) -> None:
    assert parse_broker_url(text) == expected


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("broker:1883", "no known scheme"),
        ("amqp://broker", "no known scheme"),
        ("mqtt://", "no host"),
        ("mqtt://:1883", "no host"),
        ("mqtt://broker:0", "port 0"),
        ("mqtt://broker:65536", "bad host or port"),
        ("mqtt://broker:port", "bad host or port"),
        ("mqtt://[::1", "bad host or port"),
        ("mqtt://broker/path", "has a path"),
        ("mqtt://broker?x=1", "query"),
        ("mqtt+unix://host/run/x", "full path"),
        ("mqtt+unix://", "full path"),
    ],
)
def test_url_that_breaks_a_rule_is_refused_with_the_rule(text: str, rule: str) -> None:
    with pytest.raises(InvalidValue, match=rule):
        parse_broker_url(text)


@pytest.mark.parametrize(
    "text",
    ["amqp://u:hidden@h", "mqtt://u:hidden@h:x", "mqtt://u:hid/den@h", "mqtt://u:hid@den@", "mqtt+unix://u:hidden@h/x"],
)
def test_no_error_shows_the_password(text: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        parse_broker_url(text)
    assert "hid" not in str(caught.value)
    assert "den" not in str(caught.value)


@given(st.text(min_size=1), st.text("xyz!@:/%", min_size=8))
def test_neither_redacted_nor_repr_shows_the_password(user: str, password: str) -> None:
    url = BrokerUrl("mqtt", "host", 1883, "", user.replace(password, ""), password)
    assert password not in url.redacted
    assert password not in repr(attrs_without(url))


def attrs_without(url: BrokerUrl) -> BrokerUrl:
    """The same without its user, whose text may by chance hold the password."""
    return BrokerUrl(url.scheme, url.host, url.port, url.path, "u", url.password)


@given(st.sampled_from(["mqtt", "mqtts"]), st.integers(1, 65535), st.text(min_size=1))
def test_reading_undoes_writing(scheme: str, port: int, user: str) -> None:
    try:
        user.encode()
    except UnicodeEncodeError:
        return
    url = BrokerUrl(scheme, "host", port, "", user)
    assert parse_broker_url(url.redacted) == url


def test_text_without_password_stays_as_it_is() -> None:
    assert redact("mqtt://user@host:1/") == "mqtt://user@host:1/"
