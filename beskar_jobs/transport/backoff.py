"""How long to wait before the next attempt to connect. Pure: chance comes in as an argument."""

from __future__ import annotations


def reconnect_delay(attempt: int, *, first: float, cap: float, jitter: float) -> float:
    """Seconds before attempt number *attempt*, counted from 0: *first*, doubled each time, never more than *cap*.

    Args:
        jitter: in [0, 1); takes off up to a half, so that the clients of a broker do not come back in step.
    """
    return min(cap, first * 2.0 ** min(attempt, 60)) * (1 - jitter / 2)
