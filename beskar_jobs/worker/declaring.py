"""What a worker tells the scheduler of ``@recurring``: which entries its code declares, and which job types it knows.

It is told when a scheduler comes, after a reconnect, and each minute. Nobody answers: a message that is lost, or that
comes while storage is away, is made up for by the next, and one that says nothing new costs the scheduler next to
nothing. A worker whose handlers declare nothing says so too, since entries of an earlier release may be left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from beskar_jobs.model.recurring import RecurringDefinition
from beskar_jobs.ports.transport import OutboundMessage
from beskar_jobs.runtime.connection import RoleConnection
from beskar_jobs.wire.messages import RecurringCommand

DECLARE_AGAIN: Final = 60.0
"""Seconds after which a worker says it again."""


@attrs.define(eq=False)
class Declaring:
    """Makes the announcements of one worker.

    Attributes:
        next_at: monotonic time of the next one.
    """

    definitions: Sequence[RecurringDefinition]
    job_types: Sequence[str]
    incarnation: str
    next_at: float = 0.0

    def message(self, connection: RoleConnection, monotonic: float) -> OutboundMessage:
        """The announcement, to be sent at *monotonic*."""
        self.next_at = monotonic + DECLARE_AGAIN
        command = RecurringCommand(
            action="declare",
            definitions=list(self.definitions),
            job_types=list(self.job_types),
            incarnation=self.incarnation,
        )
        return OutboundMessage(connection.topics.recurring(), connection.serializer.encode(command))
