# ÿþ
from beskar_jobs import job_handler
