"""Names that processes and jobs give themselves."""

from __future__ import annotations

import os
import re
import secrets
import socket
import time

from beskar_jobs.model.job import JobId


def new_job_id() -> JobId:
    """32 hexadecimal digits that sort by time of creation (12 of milliseconds, 20 random)."""
    return JobId(f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}")


def new_incarnation() -> str:
    """Tells this process start from every other, and sorts after the ones before it."""
    return f"{time.time_ns() // 1_000_000:012x}-{secrets.token_hex(4)}"


def process_name() -> str:
    """``host-pid``, fit for a topic: a name for a process that was given none."""
    host = re.sub(r"[^A-Za-z0-9_.-]", "-", socket.gethostname())[:60].strip(".-") or "host"
    return f"{host}-{os.getpid()}-{secrets.token_hex(2)}"
