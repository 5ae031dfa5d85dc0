"""Keeps feeds supplied: which jobs somebody follows, and how their updates come.

Two sources feed one job. For jobs that this client enqueued, or has asked for, the scheduler sends updates in batches
to the client's own topic; it keeps that interest in memory only. So the client asks again for all jobs that are still
followed after a reconnect, when a new scheduler appears, and - as a last resort - for those awaited that have been
quiet for :data:`QUIET` seconds. For a job from elsewhere the client also subscribes to its retained status, which tells
the last state even while no scheduler is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import weakref
from collections.abc import Iterable, Sequence
from typing import Final

from beskar_jobs.client.feed import JobFeed
from beskar_jobs.client.requests import Requests
from beskar_jobs.model.errors import BeskarError, SchedulerUnavailable, UnknownJob
from beskar_jobs.model.job import JobId
from beskar_jobs.runtime.connection import RoleConnection
from beskar_jobs.wire.messages import QueryCommand, QueryReply, StatusItem
from beskar_jobs.wire.views import status_update

logger: Final = logging.getLogger("beskar_jobs.client")

QUIET: Final = 30.0
IDS_PER_QUERY: Final = 500
WATCH_TIMEOUT: Final = 10.0


class Following:
    """The feeds of the jobs that somebody holds a handle of."""

    def __init__(self, connection: RoleConnection, requests: Requests, client_id: str) -> None:
        self._connection = connection
        self._requests = requests
        self._client_id = client_id
        self._feeds: weakref.WeakValueDictionary[JobId, JobFeed] = weakref.WeakValueDictionary()
        self._subscribed: set[JobId] = set()
        self._to_ask: dict[JobId, JobFeed] = {}
        self._asking: asyncio.Task[None] | None = None
        self._safety: asyncio.TimerHandle | None = None

    def feed(self, job_id: JobId) -> JobFeed:
        feed = self._feeds.get(job_id)
        if feed is None:
            feed = self._feeds[job_id] = JobFeed(job_id)
        return feed

    async def attach(self, feed: JobFeed) -> None:
        """See that *feed* is supplied. It is for jobs that this client enqueued."""
        if not feed.attached and not feed.ended:
            feed.attached = True
            self._subscribed.add(feed.job_id)
            weakref.finalize(feed, self._forget, asyncio.get_running_loop(), feed.job_id).atexit = False
            await self._connection.subscribe([self._connection.topics.status(feed.job_id)])
            self._ask([feed])
        if self._safety is None and not feed.ended:
            self._safety = asyncio.get_running_loop().call_later(QUIET, self._look_after_the_quiet)

    def on_items(self, items: Iterable[StatusItem]) -> None:
        """Updates came in."""
        for item in items:
            feed = self._feeds.get(JobId(item.id))
            if feed is not None:
                feed.offer(status_update(item))
                if feed.ended and item.id in self._subscribed:
                    self._unsubscribe(feed.job_id)

    def ask_all_again(self) -> None:
        """Updates may have been missed.

        Not asked for are jobs whose enqueue is still to be answered: a scheduler that does not have them yet would take
        the question for one about an unknown job, and forget that this client watches it.
        """
        self._ask([feed for feed in list(self._feeds.values()) if feed.attached and not feed.ended])

    def close(self) -> None:
        if self._safety is not None:
            self._safety.cancel()
        if self._asking is not None:
            self._asking.cancel()
        self._subscribed.clear()  # the connection ends, and the subscriptions with it

    def _look_after_the_quiet(self) -> None:
        self._safety = None
        awaited = [feed for feed in list(self._feeds.values()) if feed.awaited]
        if awaited:
            self._ask(awaited)
            self._safety = asyncio.get_running_loop().call_later(QUIET, self._look_after_the_quiet)

    def _ask(self, feeds: Sequence[JobFeed]) -> None:
        self._to_ask.update((feed.job_id, feed) for feed in feeds)
        if self._asking is None and self._to_ask:
            self._asking = asyncio.get_running_loop().create_task(self._ask_scheduler())

    async def _ask_scheduler(self) -> None:
        try:
            while self._to_ask:
                ids = list(self._to_ask)[:IDS_PER_QUERY]
                feeds = [self._to_ask.pop(job_id) for job_id in ids]
                await self._ask_about(feeds)
        except SchedulerUnavailable:
            pass  # its presence, when it is back, makes us ask again
        except BeskarError as problem:
            self._connection.complain("watch", f"jobs could not be asked for: {problem}")
        finally:
            self._asking = None

    async def _ask_about(self, feeds: Sequence[JobFeed]) -> None:
        query = QueryCommand(what="jobs", ids=[feed.job_id for feed in feeds], watcher=self._client_id)
        reply = await self._requests.ask(self._connection.topics.query(), query, QueryReply, WATCH_TIMEOUT)
        if reply.error:
            self._connection.complain("watch", f"jobs could not be asked for: {reply.error}")
            return
        for feed, view in zip(feeds, reply.jobs, strict=False):
            if view is None:
                feed.fail(UnknownJob(feed.job_id))
            else:
                feed.offer(status_update(view))
            if feed.ended and feed.job_id in self._subscribed:
                self._unsubscribe(feed.job_id)

    def _forget(self, loop: asyncio.AbstractEventLoop, job_id: JobId) -> None:
        """Nobody holds a handle of the job any more. Called on whatever thread let go of it, also after the end."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._unsubscribe, job_id)

    def _unsubscribe(self, job_id: JobId) -> None:
        if job_id in self._subscribed:
            self._subscribed.discard(job_id)
            self._connection.unsubscribe_soon([self._connection.topics.status(job_id)])
