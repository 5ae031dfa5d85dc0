"""The whole engine at work on real photographs, and a worker killed half-way.

    make demo

Starts a broker, a scheduler with SQLite and two workers, each in a process of its own, and is their client. It imports
the typed descriptors and nothing of the workers: no Pillow, no handler.

First act: thumbnails of every photograph, on both workers. Second act: one larger job on each worker; one of the two
gets SIGKILL in mid-job, and its job runs again on the other. At the end the demo checks what was promised: one result
for each job, every file there, whole, and named by one result only. Exit status 0 if all that holds.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
from rich.console import Console
from rich.table import Table

from beskar_jobs import BeskarError, JobClient, JobHandle, JobStatus, SchedulerUnavailable
from examples.media.board import Board
from examples.media.cluster import Cluster, ClusterError
from examples.media.jobs import ImageThumbnails
from examples.media.types import Shape, Thumbnail, ThumbnailResult

PHOTOS = Path(__file__).parent / "photos"
WORKERS = ("worker-1", "worker-2")
SLOTS = 2
TOTAL_SECONDS = 180.0
START_SECONDS = 30.0
KILL_BETWEEN = (25.0, 75.0)


class DemoFailed(Exception):
    """Something that the engine promises did not hold."""


@attrs.define
class Watched:
    """One job as its client sees it: the handle, and what the updates have told."""

    name: str
    request: ImageThumbnails
    handle: JobHandle[ThumbnailResult]
    worker: str = ""
    attempt: int = 0
    ends: int = 0
    result: ThumbnailResult | None = None


@attrs.define
class Kill:
    """The one SIGKILL of the demo: whom it hit in which job, and when that job ran again. Times are monotonic."""

    cluster: Cluster
    victim: Watched | None = None
    worker: str = ""
    percent: float = 0.0
    at: float = 0.0
    heir: str = ""
    running_again_at: float = 0.0

    def consider(self, job: Watched, status: JobStatus, percent: float) -> bool:
        """Strike if *job* is in the middle of its work and nobody was hit yet; note when the victim runs again."""
        if self.victim is None and status is JobStatus.RUNNING and KILL_BETWEEN[0] <= percent <= KILL_BETWEEN[1]:
            self.victim, self.worker, self.percent = job, job.worker, percent
            self.cluster.kill(job.worker)
            self.at = time.monotonic()
            return True
        if job is self.victim and not self.heir and status is JobStatus.RUNNING and job.worker != self.worker:
            self.heir, self.running_again_at = job.worker, time.monotonic()
        return False

    @property
    def milliseconds(self) -> float:
        return 1000 * (self.running_again_at - self.at)


async def enqueue(client: JobClient, requests: dict[str, ImageThumbnails], cluster: Cluster) -> list[Watched]:
    """Enqueue all in one command. The scheduler may still be starting: asking again makes no second job."""
    end = time.monotonic() + START_SECONDS
    while True:
        cluster.check()
        try:
            handles = await client.enqueue_many(list(requests.values()))
        except SchedulerUnavailable:
            if time.monotonic() > end:
                raise
        else:
            pairs = zip(requests.items(), handles, strict=True)
            return [Watched(name, request, handle) for (name, request), handle in pairs]


async def watch(job: Watched, board: Board, kill: Kill | None) -> None:
    """Follow *job* to its end, and fetch its typed result."""
    async for update in job.handle.watch():
        job.worker = update.worker_id or job.worker
        job.attempt = update.attempt
        job.ends += update.status.is_terminal
        board.show(job.name, update.status, update.percent or 0.0, update.worker_id)
        if kill is not None and kill.consider(job, update.status, update.percent or 0.0):
            board.say(f"SIGKILL for {kill.worker}, with {job.name} at {kill.percent:.0f} %")
    job.result = await job.handle.result(timeout=60)


async def run_act(jobs: Sequence[Watched], board: Board, cluster: Cluster, kill: Kill | None = None) -> None:
    """Watch all *jobs* to their ends, and the processes meanwhile: a dead one ends the act with its last words."""
    async with asyncio.TaskGroup() as group:
        guard = group.create_task(_guard(cluster))
        async with asyncio.TaskGroup() as watchers:
            for job in jobs:
                watchers.create_task(watch(job, board, kill))
        guard.cancel()


async def _guard(cluster: Cluster) -> None:
    while True:
        cluster.check()
        await asyncio.sleep(0.5)


def thumbnails(photo: Path, output: Path, shape: Shape, widths: tuple[int, ...]) -> ImageThumbnails:
    return ImageThumbnails(source=str(photo), output_dir=str(output), shape=shape, widths=widths)


async def play(console: Console, cluster: Cluster, output: Path) -> None:
    photos = sorted(PHOTOS.glob("*.jpg"))
    with Board(console) as board:
        board.say(f"broker, scheduler and {len(WORKERS)} workers at {cluster.url}")
        async with JobClient(cluster.url) as client:
            started = time.monotonic()
            first = {
                f"{photo.stem} {shape}": thumbnails(photo, output, shape, (640, 480, 320, 160))
                for shape in (Shape.ORIGINAL, Shape.SQUARE)
                for photo in photos
            }
            jobs = await enqueue(client, first, cluster)
            await run_act(jobs, board, cluster)
            board.say(f"{len(jobs)} jobs done in {time.monotonic() - started:.1f} s; now one of the workers dies")
            # One job for each worker, and a free slot on both.
            second = {f"{p.stem} {Shape.WIDE}": thumbnails(p, output, Shape.WIDE, (960, 720, 480)) for p in photos[-2:]}
            kill = Kill(cluster)
            more = await enqueue(client, second, cluster)
            await run_act(more, board, cluster, kill)
    jobs += more
    console.print(result_table(jobs))
    files = verify(jobs, output)
    verify_kill(kill)
    console.print(
        f"{kill.worker} was killed in the middle of a job ({kill.percent:.0f} %); "
        f"[bold]{kill.milliseconds:.0f} ms[/bold] later the job ran on {kill.heir}."
    )
    console.print(f"{len(jobs)} jobs, {len(jobs)} results, {files} files: each picture was made, and counted once.")


def result_table(jobs: Sequence[Watched]) -> Table:
    table = Table("job", "worker", "attempt", "sizes", "files", "bytes")
    for column in table.columns[2:]:
        column.justify = "right"
    for job in jobs:
        made = job.result.thumbnails if job.result else ()
        sizes = ", ".join(dict.fromkeys(f"{item.width}x{item.height}" for item in made))
        total = f"{sum(item.size_bytes for item in made):,}"
        table.add_row(job.name, job.worker, str(job.attempt), sizes, str(len(made)), total)
    return table


def verify(jobs: Sequence[Watched], output: Path) -> int:
    """How many files there are; each as its one result says.

    Raises:
        DemoFailed: a job without its result or with two ends; a file that is missing, cut, or named twice or never.
    """
    named: dict[str, Thumbnail] = {}
    for job in jobs:
        arguments = job.request.arguments
        if job.result is None or job.result.source != arguments.source or job.ends != 1:
            raise DemoFailed(f"{job.name} ended {job.ends} times, with the result {job.result}")
        if len(job.result.thumbnails) != len(arguments.widths) * len(arguments.formats):
            raise DemoFailed(f"{job.name} has {len(job.result.thumbnails)} thumbnails")
        for made in job.result.thumbnails:
            if made.path in named:
                raise DemoFailed(f"{made.path} stands in two results")
            named[made.path] = made
    there = {str(path): path.stat().st_size for path in output.iterdir()}
    if there != {path: made.size_bytes for path, made in named.items()}:
        odd = sorted(there.keys() ^ named.keys()) or "sizes differ"
        raise DemoFailed(f"the files are not those of the results: {odd}")
    return len(there)


def verify_kill(kill: Kill) -> None:
    """
    Raises:
        DemoFailed: nobody was hit, or the job did not move to the other worker.
    """
    if kill.victim is None:
        raise DemoFailed("no job was seen in the middle of its work, so that no worker was killed")
    if not kill.heir or kill.victim.attempt < 2:
        raise DemoFailed(f"{kill.victim.name} was not seen to run again after the death of {kill.worker}")


async def run(console: Console, root: Path) -> None:
    output = root / "thumbnails"
    with Cluster(root, "examples.media.handlers") as cluster:
        cluster.start(WORKERS, concurrency=SLOTS)
        async with asyncio.timeout(TOTAL_SECONDS):
            await play(console, cluster, output)


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def main() -> int:
    # Like Ctrl-C, so that the processes are ended all the same.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    root = Path(tempfile.mkdtemp(prefix="beskar-demo-"))
    try:
        asyncio.run(run(console, root))
    except* TimeoutError:
        console.print(f"not done after {TOTAL_SECONDS:g} s; logs are in {root}", style="red")
    except* (BeskarError, ClusterError, DemoFailed) as failures:
        for failure in _leaves(failures):
            console.print(f"{type(failure).__name__}: {failure}", style="red", markup=False)
        console.print(f"logs are in {root}", style="red")
    else:
        shutil.rmtree(root)
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
