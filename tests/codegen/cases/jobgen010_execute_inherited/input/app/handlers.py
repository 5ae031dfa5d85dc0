from app.types import MailArgs, MailResult
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler


class Base(JobHandler[MailArgs]):
    def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.send")
class MailJobHandler(Base):
    pass
