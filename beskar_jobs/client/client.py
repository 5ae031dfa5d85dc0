"""``JobClient``: the client for asyncio programs."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from beskar_jobs.client.feed import JobFeed
from beskar_jobs.client.following import Following
from beskar_jobs.client.handle import CancelOutcome, JobHandle
from beskar_jobs.client.options import EnqueueOptions, Seconds
from beskar_jobs.client.recurring import RecurringCommands
from beskar_jobs.client.recurring_api import RecurringClient
from beskar_jobs.client.requests import Requests
from beskar_jobs.model.details import JobDetails, QueueDetails
from beskar_jobs.model.errors import EnqueueRejected, SchedulerUnavailable, TransportClosed, UnknownJob
from beskar_jobs.model.job import ClientId, JobId, JobStatus
from beskar_jobs.model.names import checked_name
from beskar_jobs.model.presence import WorkerHeartbeat
from beskar_jobs.model.request import JobRequest
from beskar_jobs.model.retry import Retry
from beskar_jobs.model.updates import JobStatusUpdate
from beskar_jobs.ports.serializer import Serializer
from beskar_jobs.ports.transport import InboundMessage
from beskar_jobs.runtime.connection import Broker, ConnectionSettings, RoleConnection
from beskar_jobs.runtime.identity import new_job_id, process_name
from beskar_jobs.wire.messages import (
    MAX_COMMAND_BYTES,
    MAX_ITEMS,
    CancelCommand,
    CancelReply,
    EnqueueCommand,
    EnqueueItem,
    EnqueueReply,
    QueryCommand,
    QueryReply,
    SchedulerPresenceMessage,
    StatusMessage,
    UpdatesMessage,
)
from beskar_jobs.wire.topics import ParsedTopic, TopicKind
from beskar_jobs.wire.views import job_details

logger: Final = logging.getLogger("beskar_jobs.client")
R = TypeVar("R")

REQUEST_TIMEOUT: Final = 10.0
ITEM_OVERHEAD: Final = 400
"""Bytes of an item beside its arguments, generously, for cutting long lists into commands."""


class JobClient(RecurringClient):
    """Enqueues jobs and follows them.

    Args:
        broker: URL of the broker, or an object with a ``url`` (``EmbeddedBroker``).
        client_id: name of this client; one is made up if it is left out.
        request_timeout: seconds that the scheduler has to answer a request; it is repeated meanwhile.
        settings: how to reach the broker.
    """

    def __init__(
        self,
        broker: Broker,
        *,
        client_id: str | None = None,
        request_timeout: float = REQUEST_TIMEOUT,
        settings: ConnectionSettings | None = None,
    ) -> None:
        self.client_id = ClientId(checked_name("client id", client_id or process_name()))
        self._timeout = request_timeout
        self._connection = RoleConnection(
            broker, f"client-{self.client_id}", settings or ConnectionSettings(), self, logger
        )
        self._requests = Requests(self._connection, self.client_id)
        self._following = Following(self._connection, self._requests, self.client_id)
        self._recurring = RecurringCommands(
            self._requests, self._connection.topics.recurring(), self.client_id, request_timeout
        )
        self._schedulers: dict[str, tuple[str, int]] = {}
        self._connects = 0
        self._open = False

    @property
    def connected(self) -> bool:
        """Connected to the broker and subscribed."""
        return self._open and self._connection.connected

    async def start(self) -> None:
        """Connect.

        Raises:
            BrokerUnreachable: nobody answered at the broker's address in time.
        """
        topics = self._connection.topics
        filters = [
            topics.client_replies(self.client_id),
            topics.client_updates(self.client_id),
            topics.scheduler("+"),
        ]
        try:
            await self._connection.open(filters)
        except BaseException:
            self._connection.abort()
            raise
        self._open = True

    async def stop(self) -> None:
        """Disconnect. Jobs that were enqueued go on."""
        if self._open:
            self._open = False
            self._following.close()
            await self._connection.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()

    # -- enqueue -------------------------------------------------------------------------------------------------------

    async def enqueue(
        self,
        request: JobRequest[Any, R],
        *,
        delay: Seconds | None = None,
        run_at: datetime | None = None,
        queue: str | None = None,
        priority: int | None = None,
        retry: Retry | None = None,
        timeout: Seconds | None = None,
        metadata: Mapping[str, str] | None = None,
        job_id: str | None = None,
    ) -> JobHandle[R]:
        """Enqueue one job. When this returns, the job is committed to the scheduler's storage.

        Args:
            request: which job, with which arguments.
            delay: seconds (or a timedelta) before it may run, on the scheduler's clock.
            run_at: not before this time (aware).
            queue, priority: instead of those of the request.
            retry: instead of the handler's policy.
            timeout: seconds (or a timedelta) that one attempt may run, instead of the handler's.
            metadata: strings for the handler.
            job_id: the job's id; with the same id and the same arguments there is never a second job.

        Raises:
            EnqueueRejected: an option breaks its rule, or the id is taken by another job; nothing was stored.
            ValueNotSerializable: the arguments do not fit their declared type.
            SchedulerUnavailable: no answer in time. Safe to try again with the same *job_id*.
        """
        options = EnqueueOptions(delay, run_at, queue, priority, retry, timeout, metadata)
        return (await self._enqueue([request], options, [JobId(job_id or new_job_id())]))[0]

    async def enqueue_many(
        self,
        requests: Iterable[JobRequest[Any, R]],
        *,
        delay: Seconds | None = None,
        run_at: datetime | None = None,
        queue: str | None = None,
        priority: int | None = None,
        retry: Retry | None = None,
        timeout: Seconds | None = None,
        metadata: Mapping[str, str] | None = None,
        job_ids: Sequence[str] | None = None,
    ) -> list[JobHandle[R]]:
        """Enqueue many jobs as one command and one commit: all of them or, if one breaks a rule, none.

        Lists of more than 10,000 jobs (or 16 MiB) go as several commands, each whole.

        Args and errors: see :meth:`enqueue`; *job_ids* are the ids, one for each request.
        """
        wanted = list(requests)
        if job_ids is not None and len(job_ids) != len(wanted):
            raise EnqueueRejected(f"job_ids has {len(job_ids)} ids for {len(wanted)} requests")
        ids = [new_job_id() for _ in wanted] if job_ids is None else [JobId(job_id) for job_id in job_ids]
        options = EnqueueOptions(delay, run_at, queue, priority, retry, timeout, metadata)
        return await self._enqueue(wanted, options, ids)

    async def _enqueue(
        self, requests: Sequence[JobRequest[Any, R]], options: EnqueueOptions, ids: Sequence[JobId]
    ) -> list[JobHandle[R]]:
        self._check_open()
        serializer = self._connection.serializer
        items = [options.item(request, job_id, serializer) for request, job_id in zip(requests, ids, strict=True)]
        # Made before the command is sent: the scheduler sends this client the updates of what it enqueues.
        feeds = [self._following.feed(job_id) for job_id in ids]
        for part in _commands(items):
            command = EnqueueCommand(items=part, watcher=self.client_id)
            reply = await self._requests.ask(self._connection.topics.enqueue(), command, EnqueueReply, self._timeout)
            _check_reply(reply, part)
            for item in part:
                self._following.feed(JobId(item.id)).attached = True
        return [JobHandle(self, feed, request.result_type) for feed, request in zip(feeds, requests, strict=True)]

    # -- jobs ----------------------------------------------------------------------------------------------------------

    def handle(self, job_id: str, result_type: Any = Any) -> JobHandle[Any]:
        """The handle of a job that was enqueued elsewhere; its result is read as *result_type*."""
        return JobHandle(self, self._following.feed(JobId(checked_name("job id", job_id))), result_type)

    async def get(self, job_id: str) -> JobDetails:
        """The job as it is stored now.

        Raises:
            UnknownJob: no job has this id.
            SchedulerUnavailable: no answer in time.
        """
        reply = await self._query(QueryCommand(what="jobs", ids=[checked_name("job id", job_id)]))
        view = reply.jobs[0] if reply.jobs else None
        if view is None:
            raise UnknownJob(JobId(job_id))
        return job_details(view)

    async def find(
        self,
        *,
        status: JobStatus | Iterable[JobStatus] | None = None,
        queue: str | None = None,
        job_type: str | None = None,
        limit: int = 100,
        before_sequence: int | None = None,
    ) -> list[JobDetails]:
        """Jobs that match, latest enqueued first; *limit* is from 1 to 1000, *before_sequence* pages on."""
        statuses = [status] if isinstance(status, JobStatus) else list(status or ())
        reply = await self._query(
            QueryCommand(
                what="find",
                statuses=statuses,
                queue=queue,
                job_type=job_type,
                limit=limit,
                before_sequence=before_sequence,
            )
        )
        return [job_details(view) for view in reply.jobs if view is not None]

    async def cancel(self, job_id: str, reason: str = "") -> CancelOutcome:
        """Cancel a job.

        Returns:
            ``"cancelled"``: it will not run. ``"requested"``: it runs, and its handler has been told; if that ends well
            all the same, the job has succeeded. ``"finished"``: it had ended already.

        Raises:
            UnknownJob: no job has this id.
            SchedulerUnavailable: no answer in time.
        """
        self._check_open()
        topic = self._connection.topics.cancel(checked_name("job id", job_id))
        reply = await self._requests.ask(topic, CancelCommand(reason=reason), CancelReply, self._timeout)
        if reply.error:
            raise SchedulerUnavailable(reply.error)
        if reply.outcome == "unknown":
            raise UnknownJob(JobId(job_id))
        return reply.outcome

    async def workers(self) -> list[WorkerHeartbeat]:
        """The workers that are online."""
        return (await self._query(QueryCommand(what="workers"))).workers

    async def queues(self) -> list[QueueDetails]:
        """The queues that have jobs, and how they stand."""
        reply = await self._query(QueryCommand(what="queues"))
        return [QueueDetails(view.queue, view.counts, view.workers) for view in reply.queues]

    async def _query(self, query: QueryCommand) -> QueryReply:
        self._check_open()
        reply = await self._requests.ask(self._connection.topics.query(), query, QueryReply, self._timeout)
        if reply.error:
            raise SchedulerUnavailable(reply.error)
        return reply

    def _recurring_commands(self) -> tuple[RecurringCommands, Serializer]:
        self._check_open()
        return self._recurring, self._connection.serializer

    def _check_open(self) -> None:
        if not self._open:
            raise TransportClosed("the client is not started; use 'async with JobClient(…)' or await start()")

    # -- for handles ---------------------------------------------------------------------------------------------------

    async def attach(self, feed: JobFeed) -> None:
        """See that updates of the job come in."""
        self._check_open()
        await self._following.attach(feed)

    def load_result(self, update: JobStatusUpdate, result_type: Any) -> Any:
        """The result in *update* as *result_type*."""
        if result_type is None or update.result is None:
            return None
        return self._connection.serializer.load_value(update.result, result_type)

    # -- messages ------------------------------------------------------------------------------------------------------

    def on_connected(self, connection: int) -> None:
        self._connects += 1
        if self._connects > 1:
            self._requests.send_open_again()
            self._following.ask_all_again()

    def on_disconnected(self, reason: str) -> None:
        logger.warning("the connection to the broker is gone: %s", reason)

    def on_topic(self, topic: ParsedTopic, message: InboundMessage) -> None:
        decode = self._connection.serializer.decode
        match topic.kind:
            case TopicKind.CLIENT_REPLIES:
                self._requests.on_reply(message)
            case TopicKind.CLIENT_UPDATES:
                self._following.on_items(decode(message.payload, UpdatesMessage).jobs)
            case TopicKind.STATUS:
                self._following.on_items([decode(message.payload, StatusMessage).job])
            case TopicKind.SCHEDULER:
                self._on_scheduler(decode(message.payload, SchedulerPresenceMessage), retained=message.retain)
            case _:
                pass

    def _on_scheduler(self, message: SchedulerPresenceMessage, *, retained: bool) -> None:
        scheduler = message.scheduler
        known = self._schedulers.get(scheduler.scheduler_id)
        seen = (scheduler.incarnation, scheduler.connection)
        if not scheduler.is_online or known == seen:
            return
        self._schedulers[scheduler.scheduler_id] = seen
        if known is None and retained:
            return  # it was there before this client
        # What was asked while it was away has not reached it; what a new process was to tell us, it does not know.
        self._requests.send_open_again()
        if known is None or known[0] != scheduler.incarnation:
            self._following.ask_all_again()


def _commands(items: Sequence[EnqueueItem]) -> list[list[EnqueueItem]]:
    """*items* cut into lists that fit into one command each."""
    parts: list[list[EnqueueItem]] = []
    size = 0
    for item in items:
        item_size = len(bytes(item.arguments)) + ITEM_OVERHEAD
        if not parts or len(parts[-1]) >= MAX_ITEMS or size + item_size > MAX_COMMAND_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(item)
        size += item_size
    return parts


def _check_reply(reply: EnqueueReply, items: Sequence[EnqueueItem]) -> None:
    rejected = [exception for exception in reply.exceptions if exception.outcome == "rejected"]
    if rejected:
        first = rejected[0]
        name = items[first.index].job_type if first.index < len(items) else "?"
        more = f" (and {len(rejected) - 1} more)" if len(rejected) > 1 else ""
        raise EnqueueRejected(f"{name}: {first.message}{more}")
    if reply.error:
        raise EnqueueRejected(reply.error)
