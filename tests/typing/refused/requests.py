"""Wrong uses by a client. Each marked line has to be refused, with these codes, by both checkers."""

# A wrong use is written down as a bare expression, and a refused name has an unknown type.
# ruff: noqa: B018
# pyright: reportUnknownMemberType=false, reportUntypedClassDecorator=false, reportUntypedFunctionDecorator=false

from __future__ import annotations

from typing import Any, TypeVar

import attrs

from beskar_jobs import JobRequest, RawRequest


@attrs.frozen
class Args:
    source_file: str
    codec: str = "h264"


@attrs.frozen
class Result:
    output_path: str


class VideoTranscode(JobRequest[Args, Result]):
    job_type = "media.video.transcode"
    queue = "media"
    args_type = Args
    result_type = Result

    def __init__(self, *, source_file: str, codec: str = "h264") -> None:
        super().__init__(Args(source_file=source_file, codec=codec))


R = TypeVar("R")


def result_of(request: JobRequest[Any, R]) -> R:
    raise NotImplementedError(request)


VideoTranscode()  # E: call-arg | reportCallIssue
VideoTranscode(source_file=5)  # E: arg-type | reportArgumentType
VideoTranscode(source_file="a", codek="av1")  # E: call-arg | reportCallIssue
VideoTranscode("a.mov")  # E: call-arg | reportCallIssue
RawRequest(5, {})  # E: arg-type | reportArgumentType
result_of("media.video.transcode")  # E: arg-type | reportArgumentType
result_of(VideoTranscode(source_file="a")).output_pth  # E: attr-defined | reportAttributeAccessIssue
VideoTranscode(source_file="a").arguments = Args("b")  # E: misc | reportAttributeAccessIssue
VideoTranscode.jobtype  # E: attr-defined | reportAttributeAccessIssue
