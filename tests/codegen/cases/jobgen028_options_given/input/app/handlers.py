from app.types import MailArgs
from beskar_jobs import JobContext, JobHandler, job_handler, recurring


@recurring("0 3 * * *", overlap="skip_if_running", misfire="fire_all", misfire_limit=9, jitter=30)
@job_handler("mail.send", queue="mail")
class MailJobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...
