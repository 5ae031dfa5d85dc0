from __future__ import annotations

import attrs


@attrs.frozen
class MailArgs:
    """A mail.

    Attributes:
        address: whom it goes to.
    """

    address: str
    subject: str = "Hello"


@attrs.frozen
class MailResult:
    message_id: str
