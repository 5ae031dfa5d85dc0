import sys

from beskar_jobs import JobContext, JobHandler, job_handler

ADDED = "q1"
ADDED += "3"
BRANCHED = "q1"
if len(sys.argv) > 1:
    BRANCHED = "q2"
KEPT = "q1"
KEPT = "q2"


@job_handler("added", queue=ADDED)
class AddedJobHandler(JobHandler[None]):
    def execute(self, context: JobContext[None]) -> None: ...


@job_handler("branched", queue=BRANCHED)
class BranchedJobHandler(JobHandler[None]):
    def execute(self, context: JobContext[None]) -> None: ...


@job_handler("kept", queue=KEPT)
class KeptJobHandler(JobHandler[None]):
    def execute(self, context: JobContext[None]) -> None: ...
