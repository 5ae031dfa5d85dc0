from app.types import MailArgs, MailResult
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler


from typing import Generic, TypeVar

T = TypeVar("T")


@job_handler("mail.send")
class MailJobHandler(JobHandler[T], Generic[T]):
    async def execute(self, context: JobContext[T]) -> None: ...
