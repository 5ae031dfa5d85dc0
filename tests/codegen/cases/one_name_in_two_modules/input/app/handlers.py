from app import a, b
from beskar_jobs import JobContext, JobHandlerWithResult, job_handler


@job_handler("a.move")
class AMoveJobHandler(JobHandlerWithResult[a.Moved, b.Moved]):
    def execute(self, context: JobContext[a.Moved]) -> b.Moved: ...
