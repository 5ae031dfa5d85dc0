from app.types import MailArgs, MailResult
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler


@job_handler("mail.send")
class MailJobHandler(JobHandlerWithResult[MailArgs, MailResult]):
    async def execute(self, context: JobContext[MailArgs]) -> MailResult: ...
