from app.base import JobContext, JobHandler, MailArgs, job_handler

@job_handler("mail.send")
class MailJobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...
