"""What the commands of a client share: connecting for one command, a handler's queue, following a job to its end."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final, TypeVar

from beskar_jobs.cli.explain import explain
from beskar_jobs.cli.options import Connection
from beskar_jobs.cli.plain import as_line, update_json, value_json
from beskar_jobs.cli.views import StatusView, printable
from beskar_jobs.client import JobClient, JobHandle
from beskar_jobs.model.errors import ResultTimeout, SchedulerUnavailable
from beskar_jobs.model.job import DEFAULT_QUEUE, JobStatus, WaitingFor
from beskar_jobs.model.updates import JobStatusUpdate

T = TypeVar("T")
FIRST_NEWS: Final = 15.0
"""Seconds for the first word of a job that is followed: by then its retained status or a scheduler has spoken."""


async def follow(
    client: JobClient,
    handle: JobHandle[object],
    *,
    as_json: bool,
    show_steps: bool,
    timeout: float | None = None,
) -> bool:
    """Follow a job to its end and tell it; whether it succeeded.

    Raises:
        ResultTimeout: it had not ended within *timeout* seconds.
    """
    try:
        async with asyncio.timeout(timeout):
            return await _follow(client, handle, as_json=as_json, show_steps=show_steps)
    except TimeoutError:
        raise ResultTimeout(
            f"job {handle.job_id} has not ended within {timeout:g} s and goes on; "
            f"'beskar watch {handle.job_id}' follows it"
        ) from None


async def _follow(client: JobClient, handle: JobHandle[object], *, as_json: bool, show_steps: bool) -> bool:
    if as_json:

        async def write(update: JobStatusUpdate) -> None:
            if show_steps:
                print_line(update_json(update))

        last = await _to_the_end(client, handle, write)
        print_line(update_json(last))
    else:
        with StatusView() as view:

            async def show(update: JobStatusUpdate) -> None:
                if show_steps:
                    view.show(update)
                if update.waiting_for in (WaitingFor.WORKER, WaitingFor.SLOT):
                    await _show_why(client, handle, view)

            last = await _to_the_end(client, handle, show)
            if show_steps:
                view.show(last)
        if last.status is JobStatus.SUCCEEDED:
            print(as_line(value_json(last.result)), flush=True)  # noqa: T201  # the command's output
        else:
            why = last.failure.summary if last.failure is not None else last.reason or "no reason is known"
            print(  # noqa: T201
                f"error: job {last.job_id} is {last.status.value}: {printable(why)}; "
                f"'beskar job {last.job_id}' shows more",
                file=sys.stderr,
            )
    return last.status is JobStatus.SUCCEEDED


async def _show_why(client: JobClient, handle: JobHandle[object], view: StatusView) -> None:
    """Say what the job waits for, as ``beskar job`` does; without a scheduler's answer, following goes on."""
    with contextlib.suppress(SchedulerUnavailable):
        details = await client.get(handle.job_id)
        if not details.status.is_terminal:
            view.say(explain(details, datetime.now(UTC)))


async def _to_the_end(
    client: JobClient, handle: JobHandle[object], tell: Callable[[JobStatusUpdate], Awaitable[None]]
) -> JobStatusUpdate:
    """The terminal update, with its result however large; *tell* gets those before it."""
    updates = handle.watch()
    try:
        async with asyncio.timeout(FIRST_NEWS):
            update = await anext(updates)
    except TimeoutError:
        raise SchedulerUnavailable(
            f"no word of job {handle.job_id} within {FIRST_NEWS:g} s, neither from the broker nor from a scheduler; "
            "is a scheduler running, with the same --prefix?"
        ) from None
    while not update.status.is_terminal:
        await tell(update)
        update = await anext(updates)
    return (await client.get(handle.job_id)).update if update.result_omitted else update


async def declared_queue(client: JobClient, job_type: str, goes: str) -> str:
    """The queue that the handler of *job_type* declares, as the workers that are online say.

    Hints where they do not know, or differ; *goes* begins what comes of it, as in ``the job goes``.
    """
    found = [policy.queue for worker in await client.workers() if (policy := worker.job_types.get(job_type))]
    declared = sorted({queue for queue in found if queue}, key=lambda queue: (-found.count(queue), queue))
    if not declared:
        hint(
            f"no worker that is online knows job type {job_type!r}; {goes} to queue {DEFAULT_QUEUE!r} "
            "(--queue names another)"
        )
        return DEFAULT_QUEUE
    if len(declared) > 1:
        hint(f"the workers differ on the queue of {job_type!r}; {goes} to {declared[0]!r} (--queue names another)")
    return declared[0]


def hint(text: str) -> None:
    print(f"hint: {text}", file=sys.stderr, flush=True)  # noqa: T201  # a remark, not output


def with_client(connection: Connection, work: Callable[[JobClient], Awaitable[T]]) -> T:
    async def run() -> T:
        async with JobClient(connection.broker, settings=connection.settings) as client:
            return await work(client)

    return asyncio.run(run())


def print_line(value: object) -> None:
    """Put *value* on standard output: a text as it is, anything else as a line of JSON."""
    if isinstance(value, str):
        print(value, flush=True)  # noqa: T201  # the command's output
        return
    print(as_line(value), flush=True)  # noqa: T201
