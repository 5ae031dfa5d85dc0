"""What a client may not do. Each ``E:`` names the code of mypy and the rule of pyright that tell of it, in that line."""

from app.handlers import VideoTranscodeJobHandler
from app.jobs import Clean, Mail, NumbersAdd, PagePrint, VideoTranscode
from app.types import ReportArgs, TranscodeArgs, TranscodeResult
from beskar_jobs import JobClient
from client import jobs as elsewhere


async def enqueue(client: JobClient) -> None:
    VideoTranscode(source="a.mov", source_file="a.mov")  # E: call-arg reportCallIssue
    VideoTranscode(source_file=3)  # E: arg-type reportArgumentType
    VideoTranscode()  # E: call-arg reportCallIssue
    VideoTranscode("a.mov")  # E: call-arg reportCallIssue
    VideoTranscode(source_file="a.mov", tags=None)  # E: arg-type reportArgumentType
    VideoTranscode(source_file="a.mov", tags=[1])  # E: list-item reportArgumentType
    VideoTranscode(source_file="a.mov", level="high")  # E: arg-type reportArgumentType
    VideoTranscode(source_file="a.mov", mode="slow")  # E: arg-type reportArgumentType
    VideoTranscode(source_file="a.mov", private_limit="1")  # E: arg-type reportArgumentType
    VideoTranscode(source_file="a.mov", _secret="x")  # E: call-arg reportCallIssue
    Mail(subject="x")  # E: call-arg reportCallIssue
    Mail(to="x", subject=None)  # E: arg-type reportArgumentType
    Clean(None)  # E: call-arg reportCallIssue
    NumbersAdd(["1"])  # E: list-item reportArgumentType
    PagePrint(items=["1"])  # E: list-item reportArgumentType
    elsewhere.VideoTranscode(source_file=3, limit=1, private_limit=1)  # E: arg-type reportArgumentType
    request = VideoTranscode(source_file="a.mov")
    VideoTranscode.job_type = 5  # E: assignment reportAttributeAccessIssue
    await client.enqueue(request, priority="high")  # E: arg-type reportArgumentType
    await client.enqueue(request, deley=3)  # E: call-arg reportCallIssue
    await client.enqueue(TranscodeArgs("a.mov"))  # E: arg-type reportArgumentType
    await client.enqueue(VideoTranscode)  # E: arg-type reportArgumentType
    handle = await client.enqueue(request)
    result = await handle.result()
    result.output  # E: attr-defined reportAttributeAccessIssue+reportUnknownMemberType
    size: str = result.size_bytes  # E: assignment reportAssignmentType
    number: int = result  # E: assignment reportAssignmentType
    request.arguments.source  # E: attr-defined reportAttributeAccessIssue+reportUnknownMemberType
    VideoTranscodeJobHandler.request(ReportArgs)  # E: arg-type reportArgumentType
    VideoTranscodeJobHandler.request("a.mov")  # E: arg-type reportArgumentType
    other: elsewhere.TranscodeResult = TranscodeResult("x", 1)  # E: assignment reportAssignmentType
    print(size, number, other)
