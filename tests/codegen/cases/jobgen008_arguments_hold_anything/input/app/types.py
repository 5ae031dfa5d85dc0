from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen
class MailArgs:
    value: Any


@attrs.frozen
class MailResult:
    message_id: str
