"""Requests: as generated code writes them, and by name."""

from __future__ import annotations

import attrs
import pytest

from beskar_jobs import InvalidValue, JobRequest, RawRequest


@attrs.frozen
class Args:
    name: str
    size: int = 1


class Thumbnail(JobRequest[Args, str]):
    job_type = "image.thumbnail"
    queue = "media"
    args_type = Args
    result_type = str

    def __init__(self, *, name: str, size: int = 1) -> None:
        super().__init__(Args(name=name, size=size))


def test_a_descriptor_answers_through_the_class_and_through_a_request() -> None:
    request = Thumbnail(name="a")
    assert (Thumbnail.job_type, Thumbnail.queue) == (request.job_type, request.queue) == ("image.thumbnail", "media")
    assert (request.arguments, request.args_type, request.result_type) == (Args("a"), Args, str)
    assert request.priority == 0


def test_requests_are_equal_by_what_they_ask_for() -> None:
    assert Thumbnail(name="a") == Thumbnail(name="a")
    assert Thumbnail(name="a") != Thumbnail(name="b")
    assert RawRequest("a", 1) != RawRequest("b", 1)
    assert RawRequest("a", 1) != "a"


def test_a_request_by_name_carries_plain_json() -> None:
    request = RawRequest.from_json("mail.send", '{"to": ["a"]}', queue="mail")
    assert (request.job_type, request.queue, request.arguments) == ("mail.send", "mail", {"to": ["a"]})
    assert RawRequest("other", None).queue == "default"


@pytest.mark.parametrize("text", ["{", "", b"\xff", "[" * 100_000])
def test_arguments_that_are_no_json_are_refused(text: str | bytes) -> None:
    with pytest.raises(InvalidValue, match=r"arguments of 'mail\.send' are no valid JSON"):
        RawRequest.from_json("mail.send", text)


def test_a_name_that_is_no_topic_level_is_refused() -> None:
    with pytest.raises(InvalidValue, match="job type 'a/b'"):
        RawRequest("a/b", None)
    with pytest.raises(InvalidValue, match="queue ''"):
        RawRequest("a", None, queue="")
