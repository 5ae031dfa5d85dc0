"""The worker's side: makes thumbnails with Pillow.

    beskar worker examples.media.handlers

A job may run again: its worker can die at any point, also after the last thumbnail was written. So the work is such
that a second run does no harm. Each file has a name that follows from the arguments, is written beside its place under
a temporary name, and is moved there in one step; a reader sees the whole picture or none. What an earlier attempt left
half-written is removed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from PIL import Image, ImageFilter, ImageOps

from beskar_jobs import JobContext, JobHandlerWithResult, Retry, job_handler
from examples.media.types import ImageFormat, Shape, Thumbnail, ThumbnailArgs, ThumbnailResult

# Resampling softens a picture; this gives the edges back without a visible halo.
SHARPEN = ImageFilter.UnsharpMask(radius=1.2, percent=80, threshold=2)


@job_handler("media.image.thumbnails", queue="media", retry=Retry(2, delays=[1, 5]), timeout=120)
class ImageThumbnailsJobHandler(JobHandlerWithResult[ThumbnailArgs, ThumbnailResult]):
    async def execute(self, context: JobContext[ThumbnailArgs]) -> ThumbnailResult:
        arguments = context.arguments
        source = Path(arguments.source)
        folder = Path(arguments.output_dir)
        await asyncio.to_thread(_prepare, folder, context.job_id)
        picture = await asyncio.to_thread(_open, source, arguments.shape)
        done: list[Thumbnail] = []
        steps = list(_steps(arguments))
        for number, (width, image_format) in enumerate(steps, start=1):
            name = f"{source.stem}-{arguments.shape}-{width}.{image_format}"
            part = _part(folder, name, context.job_id, context.attempt)
            # Pillow lets go of the interpreter while it works, so a thread keeps this loop free for other jobs.
            done.append(await asyncio.to_thread(_make, picture, width, image_format, folder / name, part))
            await context.report_progress(100 * number / len(steps), name)
        return ThumbnailResult(source=arguments.source, thumbnails=tuple(done))


def _steps(arguments: ThumbnailArgs) -> Iterator[tuple[int, ImageFormat]]:
    for width in arguments.widths:
        for image_format in arguments.formats:
            yield width, image_format


def _prepare(folder: Path, job_id: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for part in folder.glob(f".*.{job_id}.*.part"):
        part.unlink(missing_ok=True)


def _part(folder: Path, name: str, job_id: str, attempt: int) -> Path:
    """A name of this attempt's own: an attempt that was given up but still runs does not write into it."""
    return folder / f".{name}.{job_id}.{attempt}.part"


def _open(source: Path, shape: Shape) -> Image.Image:
    with Image.open(source) as opened:
        picture = ImageOps.exif_transpose(opened).convert("RGB")
    width, height = picture.size
    match shape:
        case Shape.ORIGINAL:
            return picture
        case Shape.SQUARE:
            side = min(width, height)
            return ImageOps.fit(picture, (side, side))
        case Shape.WIDE:
            width = min(width, height * 16 // 9)
            return ImageOps.fit(picture, (width, width * 9 // 16))


def _make(picture: Image.Image, width: int, image_format: ImageFormat, path: Path, part: Path) -> Thumbnail:
    height = max(1, round(picture.height * width / picture.width))
    small = picture.resize((width, height), Image.Resampling.LANCZOS).filter(SHARPEN)
    match image_format:
        case ImageFormat.JPEG:
            small.save(part, "JPEG", quality=85, optimize=True, progressive=True)
        case ImageFormat.WEBP:
            small.save(part, "WEBP", quality=85, method=6)
        case ImageFormat.AVIF:
            small.save(part, "AVIF", quality=70, speed=6, max_threads=1)
    size = part.stat().st_size
    os.replace(part, path)
    return Thumbnail(path=str(path), width=width, height=height, size_bytes=size)
