from app.types import MailArgs, MailResult
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler


from datetime import timedelta

from beskar_jobs import Retry


@job_handler("mail.send", queue="mail", priority=5, retry=Retry(3, delays=[15, 60]), timeout=timedelta(minutes=1), restart_on_crash=False, max_crashes=2)
class MailJobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...
