from __future__ import annotations

from typing import TYPE_CHECKING

from app.types import MailArgs
from beskar_jobs import JobHandler, job_handler

if TYPE_CHECKING:
    from beskar_jobs import JobContext


@job_handler("mail.send")
class MailJobHandler(JobHandler["MailArgs"]):
    async def execute(self, context: "JobContext[MailArgs]") -> None: ...
