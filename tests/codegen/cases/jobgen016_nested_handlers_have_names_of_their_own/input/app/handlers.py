from app.types import MailArgs, MailResult
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler


class In:
    @job_handler("mail.receive")
    class MailJobHandler(JobHandler[MailArgs]):
        async def execute(self, context: JobContext[MailArgs]) -> None: ...


class Out:
    @job_handler("mail.send")
    class MailJobHandler(JobHandler[MailArgs]):
        async def execute(self, context: JobContext[MailArgs]) -> None: ...
