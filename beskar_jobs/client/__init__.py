"""Clients: enqueue by class, watch, await typed results. ``JobClient`` for asyncio, ``SyncJobClient`` for the rest."""

from beskar_jobs.client.client import JobClient
from beskar_jobs.client.handle import JobHandle
from beskar_jobs.client.sync import SyncJobClient, SyncJobHandle

__all__ = ["JobClient", "JobHandle", "SyncJobClient", "SyncJobHandle"]
