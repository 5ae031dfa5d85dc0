"""The handlers of the end-to-end tests: a few plain ones, and two that play whatever a test gives them."""

from __future__ import annotations

import asyncio
import contextvars
import enum
import threading
from collections.abc import Awaitable, Callable
from datetime import datetime
from decimal import Decimal
from uuid import UUID

import attrs

from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, Retry, job_handler


@attrs.frozen
class Number:
    n: int


@attrs.frozen
class Product:
    value: int


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Parcel:
    """One of everything that is not plain JSON."""

    colour: Colour
    key: UUID
    price: Decimal
    sent_at: datetime
    data: bytes
    tags: frozenset[str] = frozenset()
    inner: Number | None = None


@attrs.frozen
class Scene:
    """Arguments of the handlers that play: a word for the test."""

    name: str = ""


@job_handler("e2e.square", queue="math")
class SquareHandler(JobHandlerWithResult[Number, Product]):
    async def execute(self, context: JobContext[Number]) -> Product:
        return Product(context.arguments.n**2)


@job_handler("e2e.cube", queue="math")
class CubeHandler(JobHandlerWithResult[Number, Product]):
    def execute(self, context: JobContext[Number]) -> Product:
        return Product(context.arguments.n**3)


@job_handler("e2e.parcel", queue="math")
class ParcelHandler(JobHandlerWithResult[Parcel, Parcel]):
    async def execute(self, context: JobContext[Parcel]) -> Parcel:
        return context.arguments


@job_handler("e2e.nothing", queue="math")
class NothingHandler(JobHandler[Number]):
    async def execute(self, context: JobContext[Number]) -> None:
        """Ends well, with nothing."""


@job_handler("e2e.steps", queue="math")
class StepsHandler(JobHandler[Number]):
    """Reports progress in so many steps, each seen by the event loop."""

    async def execute(self, context: JobContext[Number]) -> None:
        for step in range(1, context.arguments.n + 1):
            await context.report_progress(100 * step / context.arguments.n, f"step {step}")


@job_handler("e2e.large", queue="math")
class LargeHandler(JobHandlerWithResult[Number, str]):
    async def execute(self, context: JobContext[Number]) -> str:
        return "x" * context.arguments.n


@job_handler("e2e.wrong-result", queue="math")
class WrongResultHandler(JobHandlerWithResult[Number, Product]):
    async def execute(self, context: JobContext[Number]) -> Product:
        return Product(object())  # type: ignore[arg-type]  # the point of this handler


Outcome = int | str | None


class _Player:
    def __init__(self, play: Callable[[JobContext[Scene]], Awaitable[Outcome]]) -> None:
        self.play = play


@job_handler("e2e.play", queue="stage")
class Play(_Player, JobHandlerWithResult[Scene, Outcome]):
    """Awaits the test's own function."""

    async def execute(self, context: JobContext[Scene]) -> Outcome:
        return await self.play(context)


@job_handler("e2e.play-again", queue="stage", retry=Retry(2, delays=[0.05]))
class PlayAgain(_Player, JobHandlerWithResult[Scene, Outcome]):
    """The same, with a retry policy of the handler: two retries, 50 ms apart."""

    async def execute(self, context: JobContext[Scene]) -> Outcome:
        return await self.play(context)


@job_handler("e2e.play-in-thread", queue="stage")
class PlayInThread(JobHandlerWithResult[Scene, Outcome]):
    """Calls the test's own function in a thread."""

    def __init__(self, play: Callable[[JobContext[Scene]], Outcome]) -> None:
        self.play = play

    def execute(self, context: JobContext[Scene]) -> Outcome:
        return self.play(context)


@job_handler("e2e.fragile", queue="stage", restart_on_crash=False)
class FragilePlay(_Player, JobHandlerWithResult[Scene, Outcome]):
    """Not to be started again when its worker is lost."""

    async def execute(self, context: JobContext[Scene]) -> Outcome:
        return await self.play(context)


REQUEST_ID: contextvars.ContextVar[str] = contextvars.ContextVar("REQUEST_ID", default="nobody")


class Gate:
    """A play that waits until the test lets it through; counts who came, and who left.

    Its place in a test is between "the job runs" and "the job ends"; it may be shared by several workers.
    """

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.entered: list[str] = []
        self.left: list[str] = []
        self._came = asyncio.Condition()

    async def __call__(self, context: JobContext[Scene]) -> str:
        async with self._came:
            self.entered.append(context.job_id)
            self._came.notify_all()
        await self.opened.wait()
        async with self._came:
            self.left.append(context.job_id)
            self._came.notify_all()
        return context.job_id

    async def until_entered(self, count: int, patience: float = 20.0) -> None:
        async with asyncio.timeout(patience), self._came:
            await self._came.wait_for(lambda: len(self.entered) >= count)

    async def until_left(self, count: int, patience: float = 20.0) -> None:
        async with asyncio.timeout(patience), self._came:
            await self._came.wait_for(lambda: len(self.left) >= count)


class ThreadGate:
    """The same for handlers in threads: waits until it is opened, or the attempt shall stop."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.entered = threading.Semaphore(0)

    def __call__(self, context: JobContext[Scene]) -> str:
        self.entered.release()
        while not self.opened.wait(0.01):
            context.raise_if_cancelled()
        return context.job_id

    async def until_entered(self, patience: float = 20.0) -> None:
        assert await asyncio.to_thread(self.entered.acquire, timeout=patience), "no handler was started"
