import attrs


@attrs.frozen
class MailArgs:
    address: str
    subject: str = "Hello"
    sender: str | None = None


@attrs.frozen
class MailResult:
    message_id: str
