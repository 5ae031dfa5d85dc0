"""Processes that share work done in Python, which threads could not share."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING, Final

_MOST: Final = 8

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor


def usable_processes() -> int:
    """How many processes work may be shared out among."""
    return min(os.cpu_count() or 1, _MOST)


def process_pool(processes: int) -> ProcessPoolExecutor:
    """A pool whose processes have loaded already what this one has, where the platform can fork."""
    import multiprocessing  # noqa: PLC0415  # slow to load, and most runs stay alone
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415

    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
    # They end with the work: looking for garbage on the way takes a third of their time, and finds little.
    return ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context(method), initializer=gc.disable)
