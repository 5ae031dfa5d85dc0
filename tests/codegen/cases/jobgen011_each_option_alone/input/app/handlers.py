from datetime import timedelta

from app.types import MailArgs, MailResult
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, Retry, job_handler


@job_handler("mail.0", queue="mail")
class Mail0JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.1", priority=0)
class Mail1JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.2", retry=Retry(3))
class Mail2JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.3", retry=Retry(max_retries=2, delays=[1, 2.5]))
class Mail3JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.4", retry=Retry.exponential(5, base=1))
class Mail4JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.5", timeout=0.5)
class Mail5JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.6", timeout=60)
class Mail6JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.7", timeout=timedelta(minutes=1))
class Mail7JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.8", restart_on_crash=True)
class Mail8JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.9", max_crashes=0)
class Mail9JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.10", version=2)
class Mail10JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.11", timeout=None)
class Mail11JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.12", retry=None)
class Mail12JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...


@job_handler("mail.13", priority=-5)
class Mail13JobHandler(JobHandler[MailArgs]):
    async def execute(self, context: JobContext[MailArgs]) -> None: ...
