"""What happens at an instant while an earlier run has not ended. No worker is there: runs last until ended."""

from __future__ import annotations

import pytest

from beskar_jobs.model.job import JobStatus, WaitingFor
from beskar_jobs.model.recurring import OccurrenceOutcome
from beskar_jobs.testing.storage_bed import changed, write
from tests.recurring.bed import REQUEST, Bed, minute

_O = OccurrenceOutcome


async def test_allow_concurrent_fires_beside_a_run(bed: Bed) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("r", REQUEST, cron="* * * * *")
        await bed.pass_time(120)
        assert await bed.fired() == [minute(1), minute(2)]
        assert [job.status for job in await bed.jobs()] == [JobStatus.ENQUEUED] * 2


async def test_skip_if_running_leaves_instants_out_until_the_run_has_ended(bed: Bed) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("r", REQUEST, cron="* * * * *", overlap="skip_if_running")
        await bed.pass_time(180)
        assert await bed.fired() == [minute(1)]
        assert [outcome for _, outcome in await bed.outcomes()] == [_O.ENQUEUED, *[_O.SKIPPED_RUNNING] * 2]
        await bed.client.cancel((await bed.jobs())[0].id)
        await bed.pass_time(60)
        assert await bed.fired() == [minute(1), minute(4)]


async def test_a_run_that_waits_for_its_retry_is_running(bed: Bed) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("r", REQUEST, cron="* * * * *", overlap="skip_if_running")
        await bed.pass_time(60)
    (job,) = await bed.jobs()
    await write(bed.storage, changed(job, JobStatus.SCHEDULED, waiting_for=WaitingFor.RETRY, due_at=minute(600)))
    async with bed.scheduler():
        await bed.pass_time(60)
        assert await bed.fired() == [minute(1)]
        assert (await bed.outcomes())[-1] == (minute(2), _O.SKIPPED_RUNNING)


@pytest.mark.parametrize("restart", [False, True])
async def test_queue_next_queues_one_and_runs_it_after_a_run_that_did_not_succeed(bed: Bed, restart: bool) -> None:
    async with bed.scheduler():
        await bed.client.add_or_update_recurring("r", REQUEST, cron="* * * * *", overlap="queue_next")
        await bed.pass_time(300)
        assert await bed.fired() == [minute(1)]
        assert (await bed.client.get_recurring("r")).queued == minute(2)
        if not restart:
            await bed.client.cancel((await bed.jobs())[0].id)
            await bed.settle()
            assert await bed.fired() == [minute(1), minute(2)]
    if restart:
        (job,) = await bed.jobs()
        await write(bed.storage, changed(job, JobStatus.DEAD_LETTERED, finished_at=minute(6)))
        async with bed.scheduler():
            await bed.settle()
            assert await bed.fired() == [minute(1), minute(2)]
