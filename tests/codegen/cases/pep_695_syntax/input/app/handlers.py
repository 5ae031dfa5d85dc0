from app.types import MailArgs, MailResult
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler


type Names = list[str]


class ForArgs[T](JobHandler[T]):
    pass


@job_handler("mail.send")
class MailJobHandler(ForArgs[MailArgs]):
    def execute(self, context: JobContext[MailArgs]) -> None: ...


def first[T](items: list[T]) -> T:
    return items[0]
