"""Topics: who speaks to whom about what. Building and parsing are inverse, and parsing is one pass over the topic.

After the prefix (one or more levels, default ``jobs``):

=================================  =========================  ==================================================
topic                              from -> to                 what
=================================  =========================  ==================================================
``commands/enqueue``               client -> scheduler        request: one or many jobs
``commands/cancel/{jobId}``        client -> scheduler        request
``commands/query``                 client -> scheduler        request: jobs, workers, queues; watch jobs
``commands/recurring``             client -> scheduler        request; also what the code of a worker declares
``clients/{clientId}/replies``     scheduler -> client        replies to requests
``clients/{clientId}/updates``     scheduler -> client        batched status updates of the jobs that it watches
``dispatch/{queue}/{workerId}``    scheduler -> worker        request: claims of one or several jobs of that queue
``schedulers/{id}/replies``        worker -> scheduler        replies to claim requests
``events/{workerId}/batch``        worker -> scheduler        progress and ends of attempts, one or many
``workers/{workerId}/control``     scheduler -> worker        acknowledge, cancel, abandon, report
``workers/{workerId}/heartbeat``   worker -> all, retained    presence, Will
``schedulers/{id}``                scheduler -> all, retained presence, Will
``status/{jobId}``                 scheduler -> all, retained the last state of a job
=================================  =========================  ==================================================

Events go by worker, not by job (``events/{jobId}/...``): one form for one event and for hundreds, and a broker's ACL
can hold each worker to its own topic. ``clients/{clientId}/updates`` spares a client that awaits thousands of results
one subscription for each.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import attrs

from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.model.names import name_problem

DEFAULT_PREFIX: Final = "jobs"


class TopicKind(Enum):
    """What a topic is for; the value is its shape after the prefix, ``{}`` standing for a name."""

    ENQUEUE = "commands/enqueue"
    CANCEL = "commands/cancel/{}"
    QUERY = "commands/query"
    RECURRING = "commands/recurring"
    CLIENT_REPLIES = "clients/{}/replies"
    CLIENT_UPDATES = "clients/{}/updates"
    DISPATCH = "dispatch/{}/{}"
    SCHEDULER_REPLIES = "schedulers/{}/replies"
    EVENTS = "events/{}/batch"
    CONTROL = "workers/{}/control"
    HEARTBEAT = "workers/{}/heartbeat"
    SCHEDULER = "schedulers/{}"
    STATUS = "status/{}"


# Looked up by the first level, the number of levels, and the last level where that is a word and not a name.
_SHAPES: Final = {
    (levels[0], len(levels), None if levels[-1] == "{}" else levels[-1]): kind
    for kind in TopicKind
    for levels in [kind.value.split("/")]
}


@attrs.frozen
class ParsedTopic:
    """A topic taken apart: its kind, and the names in it from left to right."""

    kind: TopicKind
    names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The last name: the job, worker, client or scheduler that the topic is about."""
        return self.names[-1]


class Topics:
    """The topics below one prefix.

    Args:
        prefix: separates tenants on one broker; may have several levels (``acme/jobs``).

    Raises:
        InvalidValue: the prefix cannot stand in a topic.
    """

    def __init__(self, prefix: str = DEFAULT_PREFIX) -> None:
        for level in prefix.split("/"):
            if problem := name_problem(level):
                raise InvalidValue(f"topic prefix {prefix!r}: level {level!r} {problem}")
        self.prefix = prefix
        self._start = prefix + "/"

    def build(self, kind: TopicKind, *names: str) -> str:
        """The topic of this *kind* with these *names*; ``+`` as a name makes a filter."""
        return self._start + kind.value.format(*names)

    def parse(self, topic: str) -> ParsedTopic | None:
        """*topic* taken apart; ``None`` if it is none of ours."""
        if not topic.startswith(self._start):
            return None
        levels = topic[len(self._start) :].split("/")
        kind = _SHAPES.get((levels[0], len(levels), levels[-1])) or _SHAPES.get((levels[0], len(levels), None))
        if kind is None:
            return None
        names: list[str] = []
        for shape, level in zip(kind.value.split("/"), levels, strict=True):
            if shape == "{}":
                if name_problem(level) is not None:
                    return None
                names.append(level)
            elif shape != level:
                return None
        return ParsedTopic(kind, tuple(names))

    def enqueue(self) -> str:
        return self.build(TopicKind.ENQUEUE)

    def cancel(self, job_id: str) -> str:
        return self.build(TopicKind.CANCEL, job_id)

    def query(self) -> str:
        return self.build(TopicKind.QUERY)

    def recurring(self) -> str:
        return self.build(TopicKind.RECURRING)

    def client_replies(self, client_id: str) -> str:
        return self.build(TopicKind.CLIENT_REPLIES, client_id)

    def client_updates(self, client_id: str) -> str:
        return self.build(TopicKind.CLIENT_UPDATES, client_id)

    def dispatch(self, queue: str, worker_id: str) -> str:
        return self.build(TopicKind.DISPATCH, queue, worker_id)

    def scheduler_replies(self, scheduler_id: str) -> str:
        return self.build(TopicKind.SCHEDULER_REPLIES, scheduler_id)

    def events(self, worker_id: str) -> str:
        return self.build(TopicKind.EVENTS, worker_id)

    def control(self, worker_id: str) -> str:
        return self.build(TopicKind.CONTROL, worker_id)

    def heartbeat(self, worker_id: str) -> str:
        return self.build(TopicKind.HEARTBEAT, worker_id)

    def scheduler(self, scheduler_id: str) -> str:
        return self.build(TopicKind.SCHEDULER, scheduler_id)

    def status(self, job_id: str) -> str:
        return self.build(TopicKind.STATUS, job_id)
