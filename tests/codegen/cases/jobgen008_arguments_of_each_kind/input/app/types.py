from __future__ import annotations

from datetime import datetime
from uuid import UUID

import attrs


@attrs.frozen
class MailArgs:
    value: dict[str, list[UUID | None] | datetime]


@attrs.frozen
class MailResult:
    message_id: str
