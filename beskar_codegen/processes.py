"""Processes that share work which libcst does in Python, and which threads could not share."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor


def process_pool(processes: int) -> ProcessPoolExecutor:
    """A pool whose processes have loaded already what this one has, where the platform can fork."""
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
    return ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context(method))
