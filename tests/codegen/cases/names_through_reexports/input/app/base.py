from app.types import MailArgs as MailArgs
from beskar_jobs import JobContext, JobHandler, job_handler

__all__ = ["JobContext", "JobHandler", "MailArgs", "job_handler"]
