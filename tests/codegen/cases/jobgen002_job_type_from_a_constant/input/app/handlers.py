from app.types import MailArgs, MailResult
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler


MAIL = "mail." + "send"


@job_handler(MAIL)
class MailJobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...
