from app.types import Options, Point
from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler

@job_handler("options.set")
class OptionsJobHandler(JobHandler[Options]):
    """Sets the options."""

    def execute(self, context: JobContext[Options]) -> None: ...


@job_handler("point.draw")
class PointJobHandler(JobHandlerWithResult[Point, Point]):
    def execute(self, context: JobContext[Point]) -> Point:
        return context.arguments
