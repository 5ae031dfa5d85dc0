from app.types import MailArgs
from beskar_jobs import JobContext, JobHandler, job_handler, recurring


@job_handler("mail.send", queue="mail")
class MailJobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@recurring("0 3 * * *")
class Report:
    """Nobody would run this."""


@recurring("0 3 * * *")
def report() -> None: ...
