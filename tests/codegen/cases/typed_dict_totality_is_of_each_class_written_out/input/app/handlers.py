from typing import NotRequired, Required, TypedDict

from beskar_jobs import JobContext, JobHandler, job_handler


class Base(TypedDict):
    req: int
    maybe: NotRequired[int]


class Loose(Base, total=False):
    text: str
    must: Required[str]


class Strict(Loose):
    last: int


@job_handler("loose")
class LooseJobHandler(JobHandler[Loose]):
    def execute(self, context: JobContext[Loose]) -> None: ...


@job_handler("strict")
class StrictJobHandler(JobHandler[Strict]):
    def execute(self, context: JobContext[Strict]) -> None: ...
