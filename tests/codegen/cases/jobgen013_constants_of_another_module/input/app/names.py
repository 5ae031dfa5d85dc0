from enum import StrEnum
from typing import Final

SEND: Final = "mail.send"


class Queues(StrEnum):
    MAIL = "mail"
