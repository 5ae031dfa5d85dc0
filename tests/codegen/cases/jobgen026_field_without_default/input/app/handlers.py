from app.types import MailArgs
from beskar_jobs import JobContext, JobHandler, job_handler, recurring


@recurring("0 3 * * *")
@job_handler("mail.send", queue="mail")
class MailJobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...
