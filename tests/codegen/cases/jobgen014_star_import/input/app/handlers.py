from beskar_jobs import *

from app.types import MailArgs


@job_handler("mail.send")
class MailJobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...
