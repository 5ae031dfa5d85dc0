from __future__ import annotations

from collections.abc import Callable

import attrs


@attrs.frozen
class MailArgs:
    value: Callable[[], None]


@attrs.frozen
class MailResult:
    message_id: str
