"""A folder with handlers of a user's, and a whole system started from the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from tests.cli.program import Program, environment

HANDLERS = """
import asyncio
import os
import time
import attrs
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler


@attrs.frozen
class Number:
    n: int


@attrs.frozen
class Square:
    square: int


@job_handler("math.square", queue="math")
class SquareJobHandler(JobHandlerWithResult[Number, Square]):
    async def execute(self, context: JobContext[Number]) -> Square:
        await context.report_progress(50, "half [bold]way")
        return Square(context.arguments.n ** 2)


@job_handler("math.fail", queue="math")
class FailJobHandler(JobHandler[Number]):
    def execute(self, context: JobContext[Number]) -> None:
        raise ValueError("no \\x1b[31m number")


@job_handler("time.sleep", queue="slow")
class SleepJobHandler(JobHandler[Number]):
    async def execute(self, context: JobContext[Number]) -> None:
        print("sleeping", flush=True)
        await asyncio.sleep(context.arguments.n)


@job_handler("time.block", queue="slow")
class BlockJobHandler(JobHandler[Number]):
    async def execute(self, context: JobContext[Number]) -> None:
        print("blocking", flush=True)
        time.sleep(context.arguments.n)


@job_handler("files.close", queue="slow")
class CloseFilesJobHandler(JobHandler[Number]):
    def execute(self, context: JobContext[Number]) -> None:
        os.closerange(3, 1024)


@job_handler("time.leave", queue="slow")
class LeaveJobHandler(JobHandler[Number]):
    async def execute(self, context: JobContext[Number]) -> None:
        print("leaving", flush=True)
        await asyncio.to_thread(time.sleep, context.arguments.n)
"""


@pytest.fixture(scope="session")
def handlers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the module ``chores``."""
    folder = tmp_path_factory.mktemp("handlers")
    (folder / "chores.py").write_text(HANDLERS)
    return folder


@attrs.frozen
class System:
    """A broker, a scheduler and a worker, each started by its command; *env* finds them."""

    env: dict[str, str]
    url: str
    folder: Path


@pytest.fixture(scope="session")
def system(handlers: Path) -> Iterator[System]:
    with Program("broker", "--port", "0", env=environment()) as broker:
        url = broker.wait_for("mqtt://", "stdout")
        env = environment(broker=url)
        with (
            Program("scheduler", env=env) as scheduler,
            Program("worker", "chores", "--worker-id", "w", "--stop-grace", "0.2", folder=handlers, env=env) as worker,
        ):
            scheduler.wait_for("is ready")
            worker.wait_for("is ready")
            yield System(env, url, handlers)
            assert worker.stop() == 0
            assert scheduler.stop() == 0
        assert broker.stop() == 0
        assert broker.lines["stdout"] == [url]
