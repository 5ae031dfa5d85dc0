"""When a failed attempt is tried again: a value, with the dice (``r``) brought by the caller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final, Self

import attrs

from beskar_jobs.model.errors import InvalidValue

MAX_RETRIES: Final = 1_000_000
MAX_DELAY_SECONDS: Final = 10 * 365 * 24 * 3600.0

Seconds = float | int | timedelta
ExceptionNames = Iterable[type[BaseException] | str]


def _seconds(value: Seconds) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidValue(f"a retry delay is a number of seconds or a timedelta, not {value!r}")
    return float(value)


def _delays(values: Seconds | Sequence[Seconds]) -> tuple[float, ...]:
    if isinstance(values, int | float | timedelta):
        return (_seconds(values),)
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidValue(f"delays is a number of seconds, a timedelta, or several of them, not {values!r}")
    return tuple(_seconds(value) for value in values)


def exception_name(exception: type[BaseException] | str) -> str:
    """The name under which an exception class is known across processes: ``module.qualname``."""
    if isinstance(exception, str):
        return exception
    if not (isinstance(exception, type) and issubclass(exception, BaseException)):
        raise InvalidValue(f"retry_on and give_up_on take exception classes or their names, not {exception!r}")
    return f"{exception.__module__}.{exception.__qualname__}"


def _exception_names(exceptions: ExceptionNames) -> tuple[str, ...]:
    if isinstance(exceptions, str | type):
        exceptions = (exceptions,)
    if not isinstance(exceptions, Iterable):
        raise InvalidValue(f"retry_on and give_up_on take exception classes or their names, not {exceptions!r}")
    return tuple(exception_name(exception) for exception in exceptions)


def _clamped(jitter: float) -> float:
    if isinstance(jitter, bool) or not isinstance(jitter, int | float):
        raise InvalidValue(f"jitter is a number from 0 to 1, not {jitter!r}")
    return float(min(1.0, max(0.0, jitter)))


@attrs.frozen
class Retry:
    """How often and when a failed job is tried again.

    Args:
        max_retries: attempts after the first: ``Retry(3)`` makes four attempts at most; 0 never tries again.
        delays: seconds (or timedeltas) before the first, second, … retry; the last one repeats. There may be more than
            *max_retries*, so that one list goes with several bounds; the rest is not used.
        jitter: spread of the delay, multiplicative: ``delay * (1 + jitter * r)`` with r in [-1, 1]; clamped to [0, 1].
        retry_on: only these exceptions (or their subclasses) are tried again; empty: all.
        give_up_on: these exceptions (or their subclasses) are never tried again; wins over *retry_on*.

    Raises:
        InvalidValue: a negative or endless number, or something that is no exception class.
    """

    max_retries: int
    delays: tuple[float, ...] = attrs.field(default=(0.0,), converter=_delays)
    jitter: float = attrs.field(default=0.0, converter=_clamped)
    retry_on: tuple[str, ...] = attrs.field(default=(), converter=_exception_names)
    give_up_on: tuple[str, ...] = attrs.field(default=(), converter=_exception_names)

    def __attrs_post_init__(self) -> None:
        if isinstance(self.max_retries, bool) or not isinstance(self.max_retries, int):
            raise InvalidValue(f"max_retries is a whole number, not {self.max_retries!r}")
        if not 0 <= self.max_retries <= MAX_RETRIES:
            raise InvalidValue(f"max_retries is from 0 to {MAX_RETRIES}, not {self.max_retries}")
        if not 0 <= self.jitter <= 1:  # a decoder of messages runs no converters
            object.__setattr__(self, "jitter", _clamped(self.jitter))
        if not self.delays:
            raise InvalidValue("delays is empty; leave it out to retry at once")
        for delay in self.delays:
            if not 0 <= delay <= MAX_DELAY_SECONDS:
                raise InvalidValue(f"a retry delay is from 0 to {MAX_DELAY_SECONDS:.0f} seconds, not {delay}")

    @classmethod
    def exponential(
        cls,
        max_retries: int,
        *,
        base: Seconds = 1.0,
        cap: Seconds = 3600.0,
        jitter: float = 0.1,
        retry_on: ExceptionNames = (),
        give_up_on: ExceptionNames = (),
    ) -> Self:
        """Delays of *base*, 2·*base*, 4·*base*, … seconds, none above *cap*."""
        first, highest = _seconds(base), _seconds(cap)
        if not 0 < first <= highest:
            raise InvalidValue(f"an exponential retry needs 0 < base <= cap, not base={first}, cap={highest}")
        delays = [first]
        while delays[-1] < highest and len(delays) < max(1, max_retries):
            delays.append(min(delays[-1] * 2, highest))
        return cls(max_retries, delays=delays, jitter=jitter, retry_on=retry_on, give_up_on=give_up_on)

    def delay(self, retry: int, r: float) -> timedelta:
        """How long to wait before the *retry*-th retry (from 1); *r* in [-1, 1] comes from the caller's dice."""
        delay = self.delays[min(retry, len(self.delays)) - 1]
        return timedelta(seconds=max(0.0, delay * (1 + self.jitter * r)))

    def covers(self, exception_names: Sequence[str]) -> bool:
        """Whether an exception with these names (its own and its bases') may be tried again at all."""
        names = set(exception_names)
        if names.intersection(self.give_up_on):
            return False
        return not self.retry_on or bool(names.intersection(self.retry_on))


NO_RETRY: Final = Retry(0)
"""The global default."""
