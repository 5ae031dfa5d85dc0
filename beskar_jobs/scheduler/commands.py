"""Commands of clients: decoded, brought to the session or to storage, and answered, also where they are malformed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

from beskar_jobs.core.scheduling import Reply, SchedulerSession
from beskar_jobs.model.errors import (
    BeskarError,
    InvalidValue,
    PayloadInvalid,
    StorageError,
    ValueNotSerializable,
)
from beskar_jobs.model.job import JobId
from beskar_jobs.model.recurring import RecurringDefinition, RecurringJob
from beskar_jobs.ports.clock import Now
from beskar_jobs.ports.storage import JobStorage
from beskar_jobs.ports.transport import InboundMessage
from beskar_jobs.runtime.connection import RoleConnection
from beskar_jobs.scheduler.queries import answer
from beskar_jobs.wire.messages import (
    CancelCommand,
    CancelReply,
    EnqueueCommand,
    EnqueueReply,
    Message,
    QueryCommand,
    QueryReply,
    RecurringCommand,
    RecurringReply,
)
from beskar_jobs.wire.topics import ParsedTopic, TopicKind

LIST_BYTES: Final = 1024 * 1024
"""Arguments in one answer to a list of recurring entries; the asker goes on behind the last entry that it got."""

_Failure = type[EnqueueReply] | type[CancelReply] | type[QueryReply] | type[RecurringReply]
_FAILURES: Final[dict[TopicKind, _Failure]] = {
    TopicKind.ENQUEUE: EnqueueReply,
    TopicKind.CANCEL: CancelReply,
    TopicKind.QUERY: QueryReply,
    TopicKind.RECURRING: RecurringReply,
}


class Commands:
    """Takes every message on a command topic.

    Args:
        spawn: runs what has to wait for storage.
        step_soon: has the session's messages sent.
    """

    def __init__(
        self,
        session: SchedulerSession,
        storage: JobStorage,
        connection: RoleConnection,
        spawn: Callable[[Coroutine[None, None, None]], None],
        step_soon: Callable[[], None],
    ) -> None:
        self._session = session
        self._storage = storage
        self._connection = connection
        self._spawn = spawn
        self._step_soon = step_soon

    def on_command(self, topic: ParsedTopic, message: InboundMessage, now: Now) -> None:
        reply = self._reply_to(message)
        decode = self._connection.serializer.decode
        try:
            match topic.kind:
                case TopicKind.ENQUEUE:
                    self._session.on_enqueue(decode(message.payload, EnqueueCommand), reply, now)
                case TopicKind.CANCEL:
                    reason = decode(message.payload, CancelCommand).reason
                    self._session.on_cancel(JobId(topic.name), reason, reply, now)
                case TopicKind.RECURRING:
                    self._on_recurring(decode(message.payload, RecurringCommand), reply, now)
                case _:
                    self._spawn(self._answer(decode(message.payload, QueryCommand), reply))
        except PayloadInvalid as problem:
            self._session.outbox.reply(reply, _FAILURES[topic.kind](error=str(problem)))
            self._connection.complain(f"payload on {topic.kind.value}", f"refused a {topic.kind.value}: {problem}")

    def _reply_to(self, message: InboundMessage) -> Reply | None:
        """Where to answer; only to a client's own replies topic, lest a request makes us speak for it elsewhere."""
        if message.response_topic is None:
            return None
        topic = self._connection.topics.parse(message.response_topic)
        if topic is None or topic.kind is not TopicKind.CLIENT_REPLIES:
            self._connection.complain("response topic", f"no reply to {message.response_topic[:200]!r}")
            return None
        return Reply(message.response_topic, message.correlation)

    async def _answer(self, query: QueryCommand, reply: Reply | None) -> None:
        message: Message
        try:
            message = await answer(query, self._session, self._storage)
        except StorageError as problem:
            message = QueryReply(error=f"storage is away: {problem}")
        except BeskarError as problem:
            message = QueryReply(error=f"the query cannot be answered: {problem}")
            self._connection.complain("query", f"a query cannot be answered: {problem}")
        self._session.outbox.reply(reply, message)
        self._step_soon()

    def _on_recurring(self, command: RecurringCommand, reply: Reply | None, now: Now) -> None:
        outbox = self._session.outbox
        match command.action:
            case "list":
                outbox.reply(reply, RecurringReply(entries=self._page(command)))
            case "history":
                self._spawn(self._history(command, reply))
            case _ if hindrance := self._session.hindrance():
                outbox.reply(reply, RecurringReply(error=hindrance, busy=True))
            case _:
                self._change(command, reply, now)

    def _change(self, command: RecurringCommand, reply: Reply | None, now: Now) -> None:
        recurring, outbox = self._session.recurring, self._session.outbox
        match command.action:
            case "upsert":
                if command.definition is None:
                    raise PayloadInvalid("RecurringCommand: upsert needs a definition")
                try:
                    self._check_arguments(command.definition)
                    recurring.upsert(command.definition, command.paused, reply, now)
                except InvalidValue as problem:
                    outbox.reply(reply, RecurringReply(error=str(problem)))
            case "declare":
                try:
                    for definition in (declared := command.definitions):
                        self._check_arguments(definition)
                except InvalidValue as problem:
                    raise PayloadInvalid(f"RecurringCommand: {problem}") from problem
                for refused in recurring.declare(declared, command.job_types, command.incarnation, now):
                    self._connection.complain("declared recurring job", f"refused what a worker declares: {refused}")
                outbox.reply(reply, RecurringReply())
            case "remove":
                recurring.remove(command.name, reply)
            case "pause":
                recurring.pause(command.name, reply, now)
            case "resume":
                recurring.resume(command.name, reply, now)
            case _:
                if not command.job_id:
                    raise PayloadInvalid("RecurringCommand: trigger needs the id of the job to make")
                recurring.trigger(command.name, JobId(command.job_id), command.watcher, reply, now)

    def _check_arguments(self, definition: RecurringDefinition) -> None:
        """Arguments go into messages to workers as they are; what is no value of the format would spoil the message."""
        try:
            self._connection.serializer.load_value(definition.arguments, Any)
        except ValueNotSerializable as problem:
            raise InvalidValue(f"arguments of {definition.name!r}: {problem}") from None

    def _page(self, command: RecurringCommand) -> list[RecurringJob]:
        """Entries beyond a name, in order; an empty page says that there are no more."""
        recurring = self._session.recurring
        if command.name:
            entry = recurring.get(command.name)
            return [] if entry is None else [entry]
        page: list[RecurringJob] = []
        size = 0
        for name in recurring.names_after(command.after):
            entry = recurring.get(name)
            assert entry is not None  # no turn of the loop lies between
            size += len(entry.definition.arguments)
            if page and (size > LIST_BYTES or len(page) >= command.limit):
                break
            page.append(entry)
        return page

    async def _history(self, command: RecurringCommand, reply: Reply | None) -> None:
        try:
            if self._session.recurring.get(command.name) is None:
                message = RecurringReply(unknown=True)
            else:
                found = await self._storage.occurrences(command.name, command.limit)
                message = RecurringReply(occurrences=list(found))
        except StorageError as problem:
            message = RecurringReply(error=f"storage is away: {problem}")
        self._session.outbox.reply(reply, message)
        self._step_soon()
