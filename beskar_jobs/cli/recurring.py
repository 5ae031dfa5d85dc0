"""``beskar recurring``: add, list, pause, resume, trigger and remove recurring jobs."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from beskar_jobs.cli.arguments import seconds_of
from beskar_jobs.cli.options import AsJson, Connection, with_groups
from beskar_jobs.model.job import DEFAULT_QUEUE
from beskar_jobs.model.recurring import Misfire, Overlap

if TYPE_CHECKING:
    from beskar_jobs.client import JobClient
    from beskar_jobs.model.recurring import RecurringJob

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the recurring job.")]


@with_groups
def add(
    *,
    name: NameArgument,
    job_type: Annotated[str, typer.Argument(metavar="TYPE", help="Job type, as in 'media.video.transcode'.")],
    arguments: Annotated[str, typer.Argument(metavar="JSON", help="Arguments of its jobs; '-': standard input.")],
    connection: Connection,
    cron: Annotated[str | None, typer.Option(help="When: a cron expression.")] = None,
    every: Annotated[str | None, typer.Option(help="When: an interval, as in 500ms, 90s, 5m, 2h, 1d.")] = None,
    time_zone: Annotated[str, typer.Option(help="The clock of --cron, as in Europe/Berlin.")] = "UTC",
    overlap: Annotated[Overlap, typer.Option(help="While an earlier run goes on.")] = Overlap.ALLOW_CONCURRENT,
    misfire: Annotated[Misfire, typer.Option(help="For what passed without a scheduler.")] = Misfire.FIRE_ONCE,
    queue: Annotated[
        str | None, typer.Option(help="Where its jobs wait; default: as the handler declares, asked of the workers.")
    ] = None,
    paused: Annotated[bool | None, typer.Option("--paused/--no-paused", help="Default: leave it as it is.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a recurring job, or change the one of this name."""
    if (cron is None) == (every is None):
        raise typer.BadParameter("give one of them, and not both", param_hint="'--cron' / '--every'")
    seconds = seconds_of("--every", every)
    text = sys.stdin.read() if arguments == "-" else arguments

    from beskar_jobs.cli.clients import declared_queue, with_client  # noqa: PLC0415  # --help is to stay fast
    from beskar_jobs.model.request import RawRequest  # noqa: PLC0415

    request = RawRequest.from_json(job_type, text, queue=DEFAULT_QUEUE if queue is None else queue)

    async def run(client: JobClient) -> RecurringJob:
        if queue is None:
            request.queue = await declared_queue(client, job_type, "its jobs go")
        return await client.add_or_update_recurring(
            name,
            request,
            cron=cron,
            every=None if seconds is None else timedelta(seconds=seconds),
            time_zone=time_zone,
            overlap=overlap,
            misfire=misfire,
            paused=paused,
        )

    entry = with_client(connection, run)
    _show(entry, as_json=as_json)


@with_groups
def list_entries(connection: Connection, as_json: AsJson = False) -> None:
    """List the recurring jobs, with their next and their last runs."""
    from beskar_jobs.cli.clients import print_line, with_client  # noqa: PLC0415

    entries = with_client(connection, lambda client: client.recurring())
    if as_json:
        print_line([_plain(entry) for entry in entries])
    else:
        from beskar_jobs.cli.views import show_recurring  # noqa: PLC0415

        show_recurring(entries)


@with_groups
def pause(name: NameArgument, connection: Connection, as_json: AsJson = False) -> None:
    """Let it fire no more until it is resumed."""
    from beskar_jobs.cli.clients import with_client  # noqa: PLC0415

    _show(with_client(connection, lambda client: client.pause_recurring(name)), as_json=as_json)


@with_groups
def resume(name: NameArgument, connection: Connection, as_json: AsJson = False) -> None:
    """Let it go on with its next instant."""
    from beskar_jobs.cli.clients import with_client  # noqa: PLC0415

    _show(with_client(connection, lambda client: client.resume_recurring(name)), as_json=as_json)


@with_groups
def trigger(name: NameArgument, connection: Connection, as_json: AsJson = False) -> None:
    """Run it once now, and print the id of the job."""
    from beskar_jobs.cli.clients import print_line, with_client  # noqa: PLC0415

    handle = with_client(connection, lambda client: client.trigger_recurring(name))
    print_line({"job_id": handle.job_id} if as_json else handle.job_id)


@with_groups
def remove(name: NameArgument, connection: Connection, as_json: AsJson = False) -> None:
    """Remove it and its history; its jobs stay. That it is not there is not an error."""
    from beskar_jobs.cli.clients import print_line, with_client  # noqa: PLC0415

    was_there = with_client(connection, lambda client: client.remove_recurring(name))
    sentence = f"recurring job {name} is removed" if was_there else f"there was no recurring job {name}"
    print_line({"name": name, "removed": was_there} if as_json else sentence)


def _show(entry: RecurringJob, *, as_json: bool) -> None:
    if as_json:
        from beskar_jobs.cli.clients import print_line  # noqa: PLC0415

        print_line(_plain(entry))
    else:
        from beskar_jobs.cli.views import show_recurring  # noqa: PLC0415

        show_recurring([entry])


def _plain(entry: RecurringJob) -> dict[str, Any]:
    definition, last = entry.definition, entry.last
    return {
        "name": entry.name,
        "job_type": definition.job_type,
        "queue": definition.queue,
        "schedule": definition.schedule,
        "time_zone": definition.time_zone,
        "overlap": definition.overlap.value,
        "misfire": definition.misfire.value,
        "source": entry.source.value,
        "paused": entry.paused,
        "next_at": None if entry.next_at is None else entry.next_at.isoformat(),
        "last_at": None if last is None else last.instant.isoformat(),
        "last_outcome": None if last is None else last.outcome.value,
        "last_job_id": None if last is None else last.job_id,
        "problem": entry.problem,
    }
