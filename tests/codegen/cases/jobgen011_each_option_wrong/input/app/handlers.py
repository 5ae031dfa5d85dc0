from app.types import MailArgs, MailResult
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler


@job_handler("mail.0", queue=5)
class Mail0JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.1", priority=1.5)
class Mail1JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.2", retry=3)
class Mail2JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.3", timeout="60")
class Mail3JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.4", timeout=-1)
class Mail4JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.5", restart_on_crash="yes")
class Mail5JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.6", max_crashes=-1)
class Mail6JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.7", version=0)
class Mail7JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.8", version="2")
class Mail8JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.9", priority=True)
class Mail9JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...
