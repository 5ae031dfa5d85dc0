"""Handlers of each shape, and the other things that modules with handlers hold."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeVar, overload

import beskar_jobs as bj
from app.nested import types as other
from app.types import (
    Codec,
    MailArgs,
    ManyFieldsWithARatherLongName,
    OddNames,
    Page,
    Point,
    ReportArgs,
    Steps,
    TranscodeArgs,
    TranscodeResult,
)
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger(__name__)
_A = TypeVar("_A")

LIMIT = 10
NAMES = ["a", "b"]
TABLE: dict[str, int] = {"a": 1}
RATIO: Final = 1.5
_private = object()
Pair = tuple[int, str]
AnyArgs = TranscodeArgs | ReportArgs


class Store(Protocol):
    def load(self, name: str) -> bytes: ...


class Base(JobHandlerWithResult[_A, TranscodeResult], Generic[_A]):
    """A base of the project's own."""

    attempts: ClassVar[int] = 3
    store: Store | None = None

    def __init__(self, name: str = "x", *, path: Path | None = None) -> None:
        self.name = name
        self._path = path
        self.seen: list[str] = []

    @property
    def title(self) -> str:
        return self.name

    @title.setter
    def title(self, value: str) -> None:
        self.name = value

    @staticmethod
    def helper(x: int, /, y: int = 2, *args: int, flag: bool = False, **kwargs: Any) -> int:
        return x + y

    @classmethod
    def make(cls) -> Callable[[int], str]:
        return str

    @functools.cached_property
    def size(self) -> int:
        return 1


@job_handler("video.transcode", queue="media", priority=5)
class VideoTranscodeJobHandler(Base[TranscodeArgs]):
    """Encodes a film.

    Takes long: see the "slow" mode, or C:\\films.
    """

    async def execute(self, context: JobContext[TranscodeArgs]) -> TranscodeResult:
        async with self._opened() as name:
            return TranscodeResult(name, 1)

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[str]:
        yield "x"


@job_handler("report.make")
class ReportHandler(JobHandler[ReportArgs]):
    def execute(self, context: JobContext[ReportArgs]) -> None:
        log.info("%s", context.arguments)


@bj.job_handler("mail.send")
class MailHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None:
        return None


@job_handler("page.print")
class PagePrint(JobHandlerWithResult[Page[int], Page[str] | None]):
    async def execute(self, context: JobContext[Page[int]]) -> Page[str] | None:
        return None


@job_handler("odd.names")
class OddJobHandler(JobHandler[OddNames]):
    async def execute(self, context: JobContext[OddNames]) -> None:
        return None


@job_handler("steps.walk")
class StepsHandler(JobHandlerWithResult[Steps, list[Codec]]):
    async def execute(self, context: JobContext[Steps]) -> list[Codec]:
        return []


@job_handler("things.move")
class ThingsMoveHandler(JobHandler[other.MoveArgs]):
    async def execute(self, context: JobContext[other.MoveArgs]) -> None:
        return None


@job_handler("point.draw")
class PointDrawHandler(JobHandlerWithResult[Point, dict[str, int]]):
    async def execute(self, context: JobContext[Point]) -> dict[str, int]:
        return {}


@job_handler("everything.clean")
class CleanHandler(JobHandler[None]):
    async def execute(self, context: JobContext[None]) -> None:
        return None


@job_handler("numbers.add")
class NumbersAddHandler(JobHandlerWithResult[list[int], int]):
    def execute(self, context: JobContext[list[int]]) -> int:
        return sum(context.arguments)


@job_handler("long.names")
class LongNamesHandler(JobHandlerWithResult[ManyFieldsWithARatherLongName, ManyFieldsWithARatherLongName]):
    def execute(self, context: JobContext[ManyFieldsWithARatherLongName]) -> ManyFieldsWithARatherLongName:
        return context.arguments


class Outer:
    class Inner:
        @job_handler("inner.run")
        class InnerHandler(JobHandler[MailArgs]):
            def execute(self, context: JobContext[MailArgs]) -> None: ...


@overload
def twice(x: int) -> int: ...
@overload
def twice(x: str) -> str: ...
def twice(x: int | str) -> int | str:
    return x * 2


def steps(count: int = 3) -> Iterator[int]:
    yield from range(count)


@functools.lru_cache(maxsize=100)
def cached(x: int) -> int:
    return x


def loose(x, y=3, *rest, key=None, **more):  # type: ignore[no-untyped-def]
    return x


if sys.version_info >= (3, 12):
    MODERN = True
else:
    MODERN = False
