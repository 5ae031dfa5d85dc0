import attrs


@attrs.frozen
class MailArgs:
    address: str
    title: str = "Hello"


@attrs.frozen
class MailResult:
    message_id: str
