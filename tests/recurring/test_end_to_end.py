"""Client, scheduler and worker on the embedded broker: what recurs runs; the blocking client can do it all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from beskar_jobs import (
    EmbeddedBroker,
    HandlerRegistry,
    JobClient,
    JobContext,
    JobHandlerWithResult,
    JobScheduler,
    JobWorker,
    OccurrenceOutcome,
    SyncJobClient,
    UnknownRecurring,
    job_handler,
)

registry = HandlerRegistry()


@job_handler("recurring.echo", registry=registry)
class EchoHandler(JobHandlerWithResult[str, str]):
    async def execute(self, context: JobContext[str]) -> str:
        return f"{context.arguments} {context.metadata.get('recurring')}"


@pytest.fixture
async def broker() -> AsyncIterator[EmbeddedBroker]:
    async with EmbeddedBroker() as broker, JobScheduler(broker), JobWorker(broker, handlers=registry):
        yield broker


async def test_what_recurs_runs_with_its_arguments(broker: EmbeddedBroker) -> None:
    async with JobClient(broker) as client, asyncio.timeout(60):
        await client.add_or_update_recurring("often", EchoHandler.request("a"), every=timedelta(milliseconds=100))
        while len(fired := await client.recurring_history("often")) < 3:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.05)
        await client.remove_recurring("often")
        assert {occurrence.outcome for occurrence in fired} <= {OccurrenceOutcome.ENQUEUED, OccurrenceOutcome.MISSED}
        for occurrence in fired:
            assert occurrence.job_id is not None
            assert await client.handle(occurrence.job_id).result(timeout=30) == "a often"


async def test_the_blocking_client_has_every_method(broker: EmbeddedBroker) -> None:
    def use() -> None:
        with SyncJobClient(broker.url) as client:
            entry = client.add_or_update_recurring("night", EchoHandler.request("b"), cron="0 3 1 1 *", paused=True)
            assert (entry.paused, entry.next_at) == (True, None)
            assert not client.resume_recurring("night").paused
            assert client.pause_recurring("night").paused
            handle = client.trigger_recurring("night", job_id="by-hand")
            assert handle.result(timeout=30) == "b night"
            assert client.trigger_recurring("night", job_id="by-hand").job_id == "by-hand"
            (once,) = client.recurring_history("night")
            assert (once.outcome, once.job_id) == (OccurrenceOutcome.TRIGGERED, "by-hand")
            assert [each.name for each in client.recurring()] == ["night"]
            assert client.get_recurring("night").definition.schedule == "0 3 1 1 *"
            assert client.remove_recurring("night")
            assert not client.remove_recurring("night")
            for ask in (client.get_recurring, client.pause_recurring, client.recurring_history):
                with pytest.raises(UnknownRecurring, match="night"):
                    ask("night")

    await asyncio.to_thread(use)
