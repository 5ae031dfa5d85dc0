from __future__ import annotations

import attrs


@attrs.frozen
class MailArgs:
    address: str = "a@example.org"
    subject: str = "Hello"
