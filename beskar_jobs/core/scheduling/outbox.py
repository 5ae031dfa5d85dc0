"""What the scheduler has to say, gathered until its shell can send it, and joined by whom it is for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, TypeVar

import attrs
import msgspec

from beskar_jobs.core.scheduling.records import Reply, Send
from beskar_jobs.model.job import Job, JobId, WaitingFor, WorkerRef
from beskar_jobs.wire.messages import (
    MAX_ITEMS,
    Attempt,
    Claim,
    ClaimRequest,
    ControlMessage,
    Message,
    StatusItem,
    UpdatesMessage,
)
from beskar_jobs.wire.topics import Topics
from beskar_jobs.wire.views import Progress, status_item

T = TypeVar("T")

MAX_WATCHED: Final = 1_000_000
"""Watched jobs at most, over all clients; a job watched beyond that is still found by its status topic."""
UPDATES_PER_MESSAGE: Final = 500
BYTES_PER_MESSAGE: Final = 1_000_000
"""Estimated; one item alone may be larger. Far below any broker's packet limit."""


@attrs.define(eq=False)
class _Control:
    """One control message in the making."""

    acknowledged: list[Attempt] = attrs.field(factory=list)
    cancel: list[Attempt] = attrs.field(factory=list)
    abandon: list[Attempt] = attrs.field(factory=list)
    report: str = ""

    def message(self, incarnation: str) -> ControlMessage:
        return ControlMessage(
            incarnation=incarnation,
            acknowledged=self.acknowledged,
            cancel=self.cancel,
            abandon=self.abandon,
            report=self.report,
        )


_State = tuple[Job, Progress, WaitingFor | None]
"""What a status item is made of - when it is sent, since under load most are overtaken before."""


class Outbox:
    """Messages to send. Statuses wait apart, latest state wins: under load a job's steps are told as one."""

    def __init__(self, scheduler_id: str, topics: Topics) -> None:
        self._topics = topics
        self._reply_topic = topics.scheduler_replies(scheduler_id)
        self._sends: list[Send] = []
        self._claims: defaultdict[tuple[WorkerRef, str], list[Claim]] = defaultdict(list)
        self._controls: defaultdict[WorkerRef, _Control] = defaultdict(_Control)
        self._statuses: dict[JobId, _State] = {}
        self._updates: defaultdict[str, dict[JobId, _State]] = defaultdict(dict)
        self._watchers: dict[JobId, tuple[str, ...]] = {}
        self._claim_requests = 0

    def reply(self, to: Reply | None, message: Message) -> None:
        if to is not None:
            self._sends.append(Send(to.topic, message, correlation=to.correlation))

    def claim(self, job: Job) -> None:
        """Offer the job to its worker."""
        spec, policy = job.spec, job.policy
        if job.worker is None:
            return
        self._claims[job.worker, spec.queue].append(
            Claim(
                spec.id,
                job.fence,
                spec.job_type,
                job.attempt,
                msgspec.Raw(spec.arguments),
                None if policy is None else policy.timeout,
                dict(spec.metadata),
                spec.traceparent,
            )
        )

    def control(self, ref: WorkerRef) -> _Control:
        """The control message to this worker, to be added to."""
        return self._controls[ref]

    def watch(self, job_id: JobId, client_id: str) -> None:
        clients = self._watchers.get(job_id, ())
        if client_id not in clients and (clients or len(self._watchers) < MAX_WATCHED):
            self._watchers[job_id] = (*clients, client_id)

    def unwatch(self, job_id: JobId, client_id: str) -> None:
        clients = tuple(other for other in self._watchers.pop(job_id, ()) if other != client_id)
        if clients:
            self._watchers[job_id] = clients

    def status(self, job: Job, progress: Progress, waiting_for: WaitingFor | None = None) -> None:
        """Tell the world, and the job's watchers, how it stands."""
        job_id = job.id
        state = self._statuses[job_id] = (job, progress, waiting_for)
        for client_id in self._watchers.get(job_id, ()):
            self._updates[client_id][job_id] = state
        if job.status.is_terminal:
            self._watchers.pop(job_id, None)

    def tell(self, client_id: str, job: Job, progress: Progress, waiting_for: WaitingFor | None = None) -> None:
        """Tell one client how a job stands."""
        self._updates[client_id][job.id] = (job, progress, waiting_for)

    def take(self) -> list[Send]:
        """All there is to send, but for the statuses."""
        sends, self._sends = self._sends, []
        # Controls first: a cancellation has to be there before the claim that it is for.
        for ref, control in self._controls.items():
            sends.append(Send(self._topics.control(ref.worker_id), control.message(ref.incarnation)))
        self._controls.clear()
        for (ref, queue), claims in self._claims.items():
            for part in _parts(claims, _claim_size, MAX_ITEMS):
                self._claim_requests += 1
                sends.append(
                    Send(
                        self._topics.dispatch(queue, ref.worker_id),
                        ClaimRequest(incarnation=ref.incarnation, claims=part),
                        response_topic=self._reply_topic,
                        correlation=self._claim_requests.to_bytes(8, "big"),
                    )
                )
        self._claims.clear()
        for client_id, updates in self._updates.items():
            topic = self._topics.client_updates(client_id)
            items = [status_item(*state) for state in updates.values()]
            parts = _parts(items, _status_size, UPDATES_PER_MESSAGE)
            sends.extend(Send(topic, UpdatesMessage(jobs=part)) for part in parts)
        self._updates.clear()
        return sends

    def take_statuses(self, limit: int) -> list[StatusItem]:
        """The statuses that have waited longest, *limit* at most."""
        if len(self._statuses) <= limit:
            states = list(self._statuses.values())
            self._statuses.clear()
        else:
            ids = list(islice(self._statuses, limit))
            states = [self._statuses.pop(job_id) for job_id in ids]
        return [status_item(*state) for state in states]

    @property
    def statuses(self) -> int:
        """How many jobs' statuses wait."""
        return len(self._statuses)


def _claim_size(claim: Claim) -> int:
    return 300 + len(bytes(claim.arguments))


def _status_size(item: StatusItem) -> int:
    size = 300 + len(bytes(item.result)) + len(item.message)
    if item.failure is not None:
        size += len(item.failure.message) + len(item.failure.traceback)
    return size


def _parts(items: list[T], size_of: Callable[[T], int], most: int) -> Iterable[list[T]]:
    """Cut by number and by size."""
    part: list[T] = []
    size = 0
    for item in items:
        item_size = size_of(item)
        if part and (len(part) >= most or size + item_size > BYTES_PER_MESSAGE):
            yield part
            part, size = [], 0
        part.append(item)
        size += item_size
    if part:
        yield part
