"""The worker's log of what it runs: a line at the start and one at the end of every attempt.

There may be thousands a second, so the level is asked before anything is made of a line. A failed attempt is a
warning with the traceback as it is stored: cut to a bound, and a text already, since printing an exception of a user's
may fail.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from beskar_jobs.wire.messages import AttemptEvent, Claim

logger: Final = logging.getLogger("beskar_jobs.worker")


def log_starts(claims: Sequence[Claim]) -> None:
    if logger.isEnabledFor(logging.INFO):
        for claim in claims:
            logger.info("job %s (%s): attempt %d starts", claim.job_id, claim.job_type, claim.attempt)


def log_end(claim: Claim, event: AttemptEvent | None, seconds: float) -> None:
    """Tell how an attempt ended.

    Args:
        event: ``None``: this worker has lost the job, and nobody waits for the outcome.
    """
    if event is not None and event.failure is not None:
        traceback = event.failure.traceback.rstrip()
        logger.warning(
            "job %s (%s): attempt %d failed after %.3f s: %s%s",
            claim.job_id,
            claim.job_type,
            claim.attempt,
            seconds,
            event.failure.summary,
            f"\n{traceback}" if traceback else "",
        )
    elif logger.isEnabledFor(logging.INFO):
        outcome = "abandoned" if event is None else event.kind
        logger.info(
            "job %s (%s): attempt %d %s after %.3f s", claim.job_id, claim.job_type, claim.attempt, outcome, seconds
        )
