import attrs


@attrs.frozen
class MailArgs:
    address: str
    subject: str = "Hello"


@attrs.frozen
class MailResult:
    message_id: str
