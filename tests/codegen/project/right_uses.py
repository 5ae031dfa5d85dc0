"""What a client may do with descriptors; both checkers have to agree to all of it."""

from datetime import datetime, timedelta, timezone
from typing import assert_type
from uuid import UUID

from app.handlers import VideoTranscodeJobHandler
from app.jobs import Clean, LongNames, Mail, NumbersAdd, PagePrint, PointDraw, Report, Steps, VideoTranscode
from app.types import Codec, Level, Moved, Page, Point, TranscodeArgs, TranscodeResult
from beskar_jobs import JobClient, JobRequest
from client import jobs as elsewhere


async def enqueue(client: JobClient) -> None:
    request = VideoTranscode(source_file="a.mov", level=Level.HIGH, tags=["x"], secret="y", codec_choice=Codec.AV1)
    handle = await client.enqueue(request, delay=timedelta(minutes=5), priority=5)
    assert_type(await handle.result(timeout=60), TranscodeResult)
    assert_type(request.job_type, str)
    assert_type(VideoTranscode.queue, str)
    assert_type(request.arguments, TranscodeArgs)
    many = await client.enqueue_many([VideoTranscode(source_file=name) for name in ("a", "b")])
    assert_type(await many[0].result(), TranscodeResult)
    assert_type(await (await client.enqueue(Mail(to="x", point=Point(1)))).result(), None)
    assert_type(await (await client.enqueue(Clean())).result(), None)
    assert_type(await (await client.enqueue(NumbersAdd([1, 2]))).result(), int)
    assert_type(await (await client.enqueue(PagePrint(items=[1]))).result(), Page[str] | None)
    assert_type(await (await client.enqueue(PointDraw(x=1))).result(), dict[str, int])
    await client.enqueue(Report(customer=UUID(int=0), since=datetime.now(timezone.utc)))
    await client.enqueue(LongNames())
    await client.enqueue(Steps(steps=(Moved(1),)))
    by_handler = VideoTranscodeJobHandler.request(TranscodeArgs("a.mov"))
    assert_type(by_handler, JobRequest[TranscodeArgs, TranscodeResult])
    assert_type(VideoTranscodeJobHandler.job_type, str)
    handle_elsewhere = await client.enqueue(elsewhere.VideoTranscode(source_file="a.mov", limit=1, private_limit=1))
    assert_type(await handle_elsewhere.result(), elsewhere.TranscodeResult)
