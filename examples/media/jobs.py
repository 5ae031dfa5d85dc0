"""Typed descriptors of the media jobs: what clients enqueue. Imports no handler, and so no Pillow.

Written by hand so far, in the form that ``beskar-codegen`` writes.
"""

from __future__ import annotations

from beskar_jobs import JobRequest
from examples.media.types import ImageFormat, Shape, ThumbnailArgs, ThumbnailResult

__all__ = ["ImageThumbnails"]


class ImageThumbnails(JobRequest[ThumbnailArgs, ThumbnailResult]):
    """Request for ``examples.media.handlers.ImageThumbnailsJobHandler``."""

    job_type = "media.image.thumbnails"
    queue = "media"
    args_type = ThumbnailArgs
    result_type = ThumbnailResult

    def __init__(
        self,
        *,
        source: str,
        output_dir: str,
        shape: Shape = Shape.ORIGINAL,
        widths: tuple[int, ...] = (640, 480, 320, 160),
        formats: tuple[ImageFormat, ...] = (ImageFormat.AVIF, ImageFormat.WEBP, ImageFormat.JPEG),
    ) -> None:
        super().__init__(
            ThumbnailArgs(source=source, output_dir=output_dir, shape=shape, widths=widths, formats=formats)
        )
