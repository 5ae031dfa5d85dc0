from app.types import MailArgs, MailResult
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler


@job_handler("numbers.add")
class AddJobHandler(JobHandlerWithResult[list[int], int]):
    def execute(self, context: JobContext[list[int]]) -> int:
        return sum(context.arguments)


@job_handler("everything.clean")
class CleanJobHandler(JobHandler[None]):
    def execute(self, context: JobContext[None]) -> None: ...
