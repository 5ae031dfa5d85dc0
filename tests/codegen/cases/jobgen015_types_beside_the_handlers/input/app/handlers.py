from beskar_jobs import JobContext, JobHandler, job_handler

import attrs


@attrs.frozen
class MailArgs:
    address: str


@job_handler("mail.send")
class MailJobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...
