from app.types import MailArgs, MailResult
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler


from typing import Generic, TypeVar

A = TypeVar("A")
R = TypeVar("R")


class Swapped(JobHandlerWithResult[A, R], Generic[R, A]):
    pass


class ForMail(Swapped[R, MailArgs], Generic[R]):
    pass


@job_handler("mail.send")
class MailJobHandler(ForMail[MailResult]):
    async def execute(self, context: JobContext[MailArgs]) -> MailResult:
        return MailResult("1")
