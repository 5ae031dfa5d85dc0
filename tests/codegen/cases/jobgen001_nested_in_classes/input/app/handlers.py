from app.types import MailArgs, MailResult
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler


class Mail:
    class Outgoing:
        @job_handler("mail.send")
        class SendJobHandler(JobHandler[MailArgs]):
            async def execute(self, context: JobContext[MailArgs]) -> None: ...
