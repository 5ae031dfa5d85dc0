"""The scheduler process: the shell around :mod:`beskar_jobs.core.scheduling`."""

from beskar_jobs.scheduler.scheduler import JobScheduler

__all__ = ["JobScheduler"]
