from app.types import MailArgs
from beskar_jobs import JobContext, JobHandler, job_handler, recurring


@recurring("0 3 * * *", name="nightly")
@job_handler("mail.send")
class MailJobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@recurring("0 4 * * *", name="nightly")
@job_handler("report.write")
class ReportJobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...
