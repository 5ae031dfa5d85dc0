from app.types import MailArgs, MailResult
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler


@job_handler("mail.send")
def send(context: JobContext[MailArgs]) -> None: ...
