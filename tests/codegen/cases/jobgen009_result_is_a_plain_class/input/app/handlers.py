from app.types import MailArgs, MailResult
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler


class Plain:
    def __init__(self, name: str) -> None:
        self.name = name


@job_handler("mail.send")
class MailJobHandler(JobHandlerWithResult[MailArgs, Plain]):
    async def execute(self, context: JobContext[MailArgs]) -> Plain:
        return Plain("x")
