import attrs


@attrs.frozen
class MailArgs:
    address: str
    sender: str
    subject: str = "Hello"


@attrs.frozen
class MailResult:
    message_id: str
