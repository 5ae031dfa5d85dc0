"""What the media jobs take and give: plain data, shared by the workers and by clients that have no Pillow."""

from __future__ import annotations

from enum import StrEnum

import attrs


class Shape(StrEnum):
    """How the picture is cut before it is made smaller; ``square`` and ``wide`` (16:9) keep the middle."""

    ORIGINAL = "original"
    SQUARE = "square"
    WIDE = "wide"


class ImageFormat(StrEnum):
    """The value is the suffix of the file."""

    JPEG = "jpg"
    WEBP = "webp"
    AVIF = "avif"


@attrs.frozen
class ThumbnailArgs:
    """Which thumbnails to make, and where.

    Attributes:
        source: path of the photograph, as the workers see it.
        output_dir: folder for the thumbnails; made if it is not there.
        widths: in pixels; a picture narrower than that is made larger.
    """

    source: str
    output_dir: str
    shape: Shape = Shape.ORIGINAL
    widths: tuple[int, ...] = (640, 480, 320, 160)
    formats: tuple[ImageFormat, ...] = (ImageFormat.AVIF, ImageFormat.WEBP, ImageFormat.JPEG)


@attrs.frozen
class Thumbnail:
    path: str
    width: int
    height: int
    size_bytes: int


@attrs.frozen
class ThumbnailResult:
    source: str
    thumbnails: tuple[Thumbnail, ...]
