from app.types import MailArgs
from beskar_jobs import JobContext, JobHandler, job_handler, recurring


@recurring("0 3 * * *", time_zone="Europe/Berlin")
@job_handler("mail.send", queue="mail")
@recurring("@every 15m", name="mail.often")
class MailJobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...
