"""Messages in and out: version, size, shape, and text that is no UTF-8."""

from __future__ import annotations

from typing import Any

import attrs
import msgspec
import pytest

from beskar_jobs.model.errors import PayloadInvalid, ValueNotSerializable
from beskar_jobs.ports.serializer import Serializer
from beskar_jobs.wire.serializer import JsonSerializer


class Item(msgspec.Struct, frozen=True, array_like=True):
    key: str
    arguments: msgspec.Raw


class Order(msgspec.Struct, frozen=True, kw_only=True):
    v: int = 1
    text: str
    items: tuple[Item, ...] = ()


@attrs.frozen
class Args:
    name: str


@pytest.fixture
def serializer() -> Serializer:
    return JsonSerializer()


def test_a_message_comes_back_with_its_values_verbatim(serializer: Serializer) -> None:
    arguments = serializer.dump_value(Args("a"), Args)
    order = Order(text="t", items=(Item("k", msgspec.Raw(arguments)),))
    data = serializer.encode(order)
    assert data == b'{"v":1,"text":"t","items":[["k",{"name":"a"}]]}'
    back = serializer.decode(data, Order)
    assert back.text == "t"
    assert serializer.load_value(bytes(back.items[0].arguments), Args) == Args("a")


def test_it_says_what_it_writes(serializer: Serializer) -> None:
    assert serializer.content_type == "application/json"


@pytest.mark.parametrize("data", [b'{"v":7,"text":"t"}', b'{"v":7,"other":[]}', b'{"v":7,"text":5}'])
def test_an_unknown_version_is_told_as_such_whatever_its_shape(serializer: Serializer, data: bytes) -> None:
    with pytest.raises(PayloadInvalid, match=r"^version 7 of Order is not known; this program speaks 1$"):
        serializer.decode(data, Order)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"v":1}', "Order: Object missing required field `text`"),
        (b'{"v":1,"text":5}', "Order: Expected `str`, got `int`"),
        (b'{"v":"1","text":"t"}', "Order: Expected `int`, got `str`"),
        (b"", "Order: Input data was truncated"),
        (b'{"v":1,"text":"\xff"}', "Order: "),
        (b'{"v":1,"text":"\\ud800"}', "Order: "),
        (b"[" * 100_000, "Order: "),
        (b'{"v":' + b"9" * 5000 + b"}", "Order: "),
        (b'{"v":1,"text":"t","items":[["k"]]}', "Order: "),
        (b'{"' + b"x" * 10_000 + b'":1}', "Order: "),
    ],
    ids=lambda x: None,
)
def test_a_malformed_message_is_refused_in_few_words(serializer: Serializer, data: bytes, message: str) -> None:
    with pytest.raises(PayloadInvalid) as caught:
        serializer.decode(data, Order)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


def test_fields_of_a_later_release_are_passed_over(serializer: Serializer) -> None:
    assert serializer.decode(b'{"v":1,"text":"t","later":{"a":[1]}}', Order) == Order(text="t")


def test_a_payload_over_the_bound_is_not_even_parsed() -> None:
    small: Any = JsonSerializer(max_bytes=10)
    with pytest.raises(PayloadInvalid, match="Order of 11 bytes; at most 10 are read"):
        small.decode(b"not json at", Order)
    with pytest.raises(ValueNotSerializable, match="a value of 11 bytes; at most 10 are read"):
        small.load_value(b"not json at", int)


def test_text_that_is_no_utf8_does_not_keep_a_message_from_going_out(serializer: Serializer) -> None:
    order = Order(text="bad \ud800 name", items=(Item("\udfff", msgspec.Raw(b'{"a":1}')),))
    back = serializer.decode(serializer.encode(order), Order)
    assert back.text == "bad ? name"
    assert back.items[0].key == "?"
    assert bytes(back.items[0].arguments) == b'{"a":1}'
