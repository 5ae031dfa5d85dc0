from app.types import MailArgs, MailResult
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler


import os


@job_handler("mail.send", queue=os.environ["QUEUE"])
class MailJobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...
