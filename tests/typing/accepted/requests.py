"""Descriptors as generated code writes them, and what a client does with them."""

from __future__ import annotations

from typing import Any, TypeVar, assert_type

import attrs

from beskar_jobs import JobRequest, RawRequest


@attrs.frozen
class VideoTranscodeArgs:
    source_file: str
    codec: str = "h264"


@attrs.frozen
class VideoTranscodeResult:
    output_path: str


class VideoTranscode(JobRequest[VideoTranscodeArgs, VideoTranscodeResult]):
    job_type = "media.video.transcode"
    queue = "media"
    args_type = VideoTranscodeArgs
    result_type = VideoTranscodeResult

    def __init__(self, *, source_file: str, codec: str = "h264") -> None:
        super().__init__(VideoTranscodeArgs(source_file=source_file, codec=codec))


class SumUp(JobRequest[list[int], int | None]):
    job_type = "sum.up"
    priority = 5
    args_type = list[int]
    result_type = int | None


class Clean(JobRequest[None, None]):
    job_type = "clean"
    args_type = None
    result_type = None

    def __init__(self) -> None:
        super().__init__(None)


R = TypeVar("R")


def result_of(request: JobRequest[Any, R]) -> R:
    """Stands for what a client does."""
    raise NotImplementedError(request)


request = VideoTranscode(source_file="a.mov", codec="av1")
assert_type(request.arguments, VideoTranscodeArgs)
assert_type(request.job_type, str)
assert_type(VideoTranscode.job_type, str)
assert_type(VideoTranscode.queue, str)
assert_type(SumUp.priority, int)


def results() -> None:
    assert_type(result_of(request), VideoTranscodeResult)
    assert_type(result_of(SumUp([1])), int | None)
    assert_type(result_of(RawRequest("any", {"a": [1]})), Any)


base: JobRequest[object, object] = request
