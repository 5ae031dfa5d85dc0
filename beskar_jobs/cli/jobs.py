"""The commands of a client: enqueue, follow, look up, cancel."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from beskar_jobs.cli.arguments import metadata_of, moment_of, seconds_of
from beskar_jobs.cli.options import AsJson, Connection, with_groups
from beskar_jobs.model.job import DEFAULT_QUEUE, JobStatus

if TYPE_CHECKING:
    from beskar_jobs.client import JobClient

JobIdArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the job.")]


@with_groups
def enqueue(
    *,
    job_type: Annotated[str, typer.Argument(metavar="TYPE", help="Job type, as in 'media.video.transcode'.")],
    arguments: Annotated[str, typer.Argument(metavar="JSON", help="Arguments of the job; '-': standard input.")],
    connection: Connection,
    queue: Annotated[
        str | None, typer.Option(help="Where it waits; default: as the handler declares, asked of the workers.")
    ] = None,
    priority: Annotated[int, typer.Option(help="Higher runs first within the queue.")] = 0,
    delay: Annotated[str | None, typer.Option(help="Not before: seconds from now, or as in 90s, 5m, 2h, 1d.")] = None,
    run_at: Annotated[str | None, typer.Option(help="Not before: a time such as 2030-01-31T08:00:00Z.")] = None,
    job_id: Annotated[
        str | None, typer.Option(help="Its id; the same id twice makes one job. Default: made up.")
    ] = None,
    metadata: Annotated[list[str] | None, typer.Option(metavar="K=V", help="For the handler; may be repeated.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the end, and print the result.")] = False,
    timeout: Annotated[
        str | None, typer.Option(help="With --wait: wait this long at most; seconds, or as in 5m.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Enqueue a job, and print its id."""
    if timeout is not None and not wait:
        raise typer.BadParameter("it says how long --wait waits; give --wait too", param_hint="'--timeout'")
    if delay is not None and run_at is not None:
        raise typer.BadParameter("give --delay or --run-at, not both", param_hint="'--delay'")
    delay_seconds, limit, moment = seconds_of("--delay", delay), seconds_of("--timeout", timeout), moment_of(run_at)
    notes = metadata_of(metadata or [])
    text = sys.stdin.read() if arguments == "-" else arguments

    from beskar_jobs.cli.clients import declared_queue, follow, print_line, with_client  # noqa: PLC0415  # --help is to stay fast
    from beskar_jobs.model.request import RawRequest  # noqa: PLC0415

    request = RawRequest.from_json(job_type, text, queue=DEFAULT_QUEUE if queue is None else queue, priority=priority)

    async def run(client: JobClient) -> bool:
        if queue is None:
            request.queue = await declared_queue(client, job_type, "the job goes")
        handle = await client.enqueue(request, delay=delay_seconds, run_at=moment, metadata=notes, job_id=job_id)
        if not wait:
            print_line({"job_id": handle.job_id} if as_json else handle.job_id)
            return True
        print(f"enqueued {handle.job_id}", file=sys.stderr, flush=True)  # noqa: T201
        return await follow(client, handle, as_json=as_json, show_steps=False, timeout=limit)

    _end(with_client(connection, run))


@with_groups
def watch(job_id: JobIdArgument, connection: Connection, as_json: AsJson = False) -> None:
    """Follow a job to its end, and print its result.

    The exit code is 0 if it succeeds, 1 if it is dead-lettered or cancelled. With --json: one object a line for each
    state; the last one has the result.
    """
    from beskar_jobs.cli.clients import follow, with_client  # noqa: PLC0415

    async def run(client: JobClient) -> bool:
        return await follow(client, client.handle(job_id), as_json=as_json, show_steps=True)

    _end(with_client(connection, run))


@with_groups
def job(job_id: JobIdArgument, connection: Connection, as_json: AsJson = False) -> None:
    """Show a job, and say why it is not running."""
    from beskar_jobs.cli.clients import print_line, with_client  # noqa: PLC0415

    details = with_client(connection, lambda client: client.get(job_id))

    from beskar_jobs.cli.explain import explain  # noqa: PLC0415

    explanation = explain(details, datetime.now(UTC))
    if as_json:
        from beskar_jobs.cli.plain import job_json  # noqa: PLC0415

        print_line(job_json(details, explanation))
    else:
        from beskar_jobs.cli.views import show_job  # noqa: PLC0415

        show_job(details, explanation)


@with_groups
def jobs(
    *,
    connection: Connection,
    status: Annotated[list[JobStatus] | None, typer.Option(help="Only these; may be repeated.")] = None,
    queue: Annotated[str | None, typer.Option(help="Only of this queue.")] = None,
    job_type: Annotated[str | None, typer.Option("--type", help="Only of this type.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="So many at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List jobs, latest enqueued first."""
    from beskar_jobs.cli.clients import print_line, with_client  # noqa: PLC0415

    found = with_client(
        connection, lambda client: client.find(status=status, queue=queue, job_type=job_type, limit=limit)
    )
    if as_json:
        from beskar_jobs.cli.explain import explain  # noqa: PLC0415
        from beskar_jobs.cli.plain import job_json  # noqa: PLC0415

        now = datetime.now(UTC)
        print_line([job_json(details, explain(details, now)) for details in found])
    else:
        from beskar_jobs.cli.views import show_jobs  # noqa: PLC0415

        show_jobs(found)


@with_groups
def cancel(
    *,
    job_id: JobIdArgument,
    connection: Connection,
    reason: Annotated[str, typer.Option(help="Why, for whoever looks at the job.")] = "",
    as_json: AsJson = False,
) -> None:
    """Cancel a job; one that runs is asked to stop. That it had ended already is not an error."""
    from beskar_jobs.cli.clients import print_line, with_client  # noqa: PLC0415

    outcome = with_client(connection, lambda client: client.cancel(job_id, reason))
    sentences = {
        "cancelled": f"job {job_id} is cancelled and will not run",
        "requested": f"job {job_id} runs; it has been asked to stop ('beskar watch {job_id}' follows it)",
        "finished": f"job {job_id} had ended already",
    }
    print_line({"job_id": job_id, "outcome": outcome} if as_json else sentences[outcome])


@with_groups
def workers(connection: Connection, as_json: AsJson = False) -> None:
    """List the workers that are online."""
    from beskar_jobs.cli.clients import print_line, with_client  # noqa: PLC0415

    found = with_client(connection, lambda client: client.workers())
    if as_json:
        from beskar_jobs.cli.plain import worker_json  # noqa: PLC0415

        print_line([worker_json(worker) for worker in found])
    else:
        from beskar_jobs.cli.views import show_workers  # noqa: PLC0415

        show_workers(found)


@with_groups
def queues(connection: Connection, as_json: AsJson = False) -> None:
    """List the queues, and how many jobs each has in which state."""
    from beskar_jobs.cli.clients import print_line, with_client  # noqa: PLC0415

    found = with_client(connection, lambda client: client.queues())
    if as_json:
        from beskar_jobs.cli.plain import queue_json  # noqa: PLC0415

        print_line([queue_json(queue) for queue in found])
    else:
        from beskar_jobs.cli.views import show_queues  # noqa: PLC0415

        show_queues(found)


def _end(succeeded: bool) -> None:
    if not succeeded:
        raise typer.Exit(1)
