from __future__ import annotations

import attrs


@attrs.frozen
class MailArgs:
    address: str
    subject: str = "Hello"
