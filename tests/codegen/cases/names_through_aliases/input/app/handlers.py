import beskar_jobs as bj
from app import types as t
from beskar_jobs import JobHandlerWithResult as WithResult
from beskar_jobs import job_handler as deco


@bj.job_handler("mail.send")
class MailJobHandler(bj.JobHandler[t.MailArgs]):
    async def execute(self, context: bj.JobContext[t.MailArgs]) -> None: ...


@deco("mail.check")
class MailCheckJobHandler(WithResult[t.MailArgs, t.MailResult]):
    async def execute(self, context: bj.JobContext[t.MailArgs]) -> t.MailResult:
        return t.MailResult("1")
