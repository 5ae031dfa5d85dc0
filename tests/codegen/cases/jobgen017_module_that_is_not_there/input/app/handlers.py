from app.missing import MailArgs
from beskar_jobs import JobContext, JobHandler, job_handler

@job_handler("mail.send")
class MailJobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...
