"""The commands that run until they are stopped: ``scheduler``, ``worker``."""

from __future__ import annotations

import logging
from typing import Annotated, Final

import typer

from beskar_jobs.cli.options import Connection, Logs, with_groups

logger: Final = logging.getLogger("beskar_jobs.cli")


@with_groups
def scheduler(
    *,
    connection: Connection,
    logs: Logs,
    storage: Annotated[
        str, typer.Option(envvar="BESKAR_STORAGE", help="memory://, sqlite:///relative.db, sqlite:////absolute.db")
    ] = "memory://",
    scheduler_id: Annotated[
        str | None, typer.Option(envvar="BESKAR_SCHEDULER_ID", help="Name of this scheduler; default: made up.")
    ] = None,
) -> None:
    """Run a scheduler: it takes jobs in, stores them, and gives them to workers."""
    from beskar_jobs.cli.logs import set_up_logs  # noqa: PLC0415
    from beskar_jobs.cli.stopping import run_serving, serve  # noqa: PLC0415
    from beskar_jobs.scheduler import JobScheduler  # noqa: PLC0415

    set_up_logs(logs)

    async def run() -> None:
        await serve(
            JobScheduler(connection.broker, storage=storage, scheduler_id=scheduler_id, settings=connection.settings)
        )

    if storage == "memory://":
        logger.warning("jobs are kept in memory and end with this process; --storage sqlite:///jobs.db keeps them")
    run_serving(run())


@with_groups
def worker(
    *,
    modules: Annotated[
        list[str],
        typer.Argument(
            metavar="MODULE...", help="Modules with handlers, found from the current folder as 'python -m' would."
        ),
    ],
    connection: Connection,
    logs: Logs,
    worker_id: Annotated[
        str | None,
        typer.Option(envvar="BESKAR_WORKER_ID", metavar="NAME", help="Name of this worker, its own; default: made up."),
    ] = None,
    queues: Annotated[
        str | None, typer.Option(envvar="BESKAR_QUEUES", metavar="A,B", help="Queues to serve; default: all.")
    ] = None,
    concurrency: Annotated[
        int, typer.Option(envvar="BESKAR_CONCURRENCY", min=1, help="Jobs at the same time, in each process.")
    ] = 10,
    processes: Annotated[
        int, typer.Option(envvar="BESKAR_PROCESSES", min=1, max=1000, help="Worker processes, NAME-1 and on.")
    ] = 1,
    stop_grace: Annotated[
        float,
        typer.Option(envvar="BESKAR_STOP_GRACE", min=0, help="Seconds that running jobs have when the worker stops."),
    ] = 20.0,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the traceback of a failed import.")] = False,
    in_group: Annotated[bool, typer.Option("--in-group", hidden=True)] = False,
) -> None:
    """Run a worker: it runs the handlers of the modules.

    With --processes N, N processes are started; one that dies (killed, or crashed) is started again, at first at once
    and then after growing pauses; one that ends with an error of its own (exit code 1 or 2) ends them all.
    """
    from beskar_jobs.cli.logs import set_up_logs  # noqa: PLC0415
    from beskar_jobs.cli.stopping import run_serving, serve  # noqa: PLC0415

    set_up_logs(logs)
    names = [name.strip() for name in queues.split(",")] if queues else None
    if processes > 1:
        from beskar_jobs.cli.group import WorkerGroup  # noqa: PLC0415
        from beskar_jobs.runtime.identity import process_name  # noqa: PLC0415

        options = ["--concurrency", str(concurrency), "--stop-grace", str(stop_grace)]
        options += ["--queues", queues] if queues else []
        options += ["--verbose"] if verbose else []
        group = WorkerGroup(
            worker_id or process_name(),
            processes,
            [*options, *modules],
            {**connection.environment, **logs.environment},
            stop_grace=stop_grace,
        )
        run_serving(group.run())
        return

    from beskar_jobs.cli.modules import import_handlers  # noqa: PLC0415
    from beskar_jobs.worker import JobWorker  # noqa: PLC0415

    import_handlers(modules, verbose=verbose)

    async def run() -> None:
        worker = JobWorker(
            connection.broker,
            queues=names,
            max_concurrency=concurrency,
            worker_id=worker_id,
            stop_grace=stop_grace,
            settings=connection.settings,
        )
        await serve(worker, wait=worker.wait, until_parent_ends=in_group, stop_grace=stop_grace)

    run_serving(run())
