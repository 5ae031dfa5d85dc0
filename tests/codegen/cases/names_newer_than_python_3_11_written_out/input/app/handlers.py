from typing import TypedDict

from typing_extensions import ReadOnly

from beskar_jobs import JobContext, JobHandler, job_handler


class Args(TypedDict):
    fixed: ReadOnly[int]
    other: str


@job_handler("newer")
class NewerJobHandler(JobHandler[Args]):
    def execute(self, context: JobContext[Args]) -> None: ...
