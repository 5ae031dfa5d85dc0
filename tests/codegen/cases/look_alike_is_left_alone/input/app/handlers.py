from app.types import MailArgs
from beskar_jobs import JobContext, JobHandler

def job_handler(name: str):
    return lambda cls: cls


@job_handler("mail.send")
class MailJobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...
