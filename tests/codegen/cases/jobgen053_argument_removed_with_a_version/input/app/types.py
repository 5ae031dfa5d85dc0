import attrs


@attrs.frozen
class MailArgs:
    address: str


@attrs.frozen
class MailResult:
    message_id: str
