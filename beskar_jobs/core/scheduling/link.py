"""Whether the scheduler's own line to the broker lives: without that, nobody's silence means anything.

A broker that stands still (stopped, swapping, cut off by a network) makes every worker look silent at once, and when it
goes on it may publish Wills of clients that it found silent itself, all of them alive. The keep-alive of MQTT notices
that later than a worker's deadline. So after :data:`SILENCE` seconds without any message the scheduler publishes its
own presence, which it is subscribed to, and takes the time until that comes back:

* quickly: the line was alive all along, and who is silent is silent;
* late, or only on a new connection: the broker stood still. Everybody gets a fresh deadline, and for
  :data:`AFTERMATH` seconds an offline notice is not believed at once; its worker has a while to come back.

If it never comes back (access rules may forbid it) and the transport still holds its connection after :data:`GIVE_UP`
seconds, which spans its keep-alive, the line counts as alive.
"""

from __future__ import annotations

from typing import Final

SILENCE: Final = 3.0
QUICK: Final = 0.5
AFTERMATH: Final = 6.0
GIVE_UP: Final = 15.0


class LinkWatch:
    """Times are monotonic seconds."""

    def __init__(self) -> None:
        self._heard_at: float | None = None
        self._asked_at: float | None = None
        self._distrust_until = float("-inf")

    def connected(self, now: float) -> None:
        """A new connection: its line is alive. After a loss, what broke this one may have broken the workers' too."""
        if self._heard_at is not None:
            self._distrust_until = now + AFTERMATH
        self._heard_at, self._asked_at = now, None

    def heard(self, now: float) -> None:
        """Some message came in. While an echo is awaited that proves nothing yet: it may be from before."""
        self._heard_at = now

    def echoed(self, now: float) -> bool:
        """The scheduler's own presence came back; whether the line had stood still."""
        late = self.is_suspect(now)
        self._heard_at, self._asked_at = now, None
        if late:
            self._distrust_until = now + AFTERMATH
        return late

    def wants_echo(self, now: float) -> bool:
        """Whether to publish the presence now; if so, the echo is awaited from now on."""
        if self._asked_at is not None and now - self._asked_at >= GIVE_UP:
            self._heard_at, self._asked_at = now, None
        if self._asked_at is not None or self._heard_at is None or now - self._heard_at < SILENCE:
            return False
        self._asked_at = now
        return True

    def is_suspect(self, now: float) -> bool:
        """The echo is overdue."""
        return self._asked_at is not None and now - self._asked_at > QUICK

    def distrusts_wills(self, now: float) -> bool:
        """Whether an offline notice may be the doing of a broker that stood still."""
        return now < self._distrust_until or self.is_suspect(now)

    def next_deadline(self) -> float | None:
        """When ``wants_echo`` should be asked next."""
        if self._asked_at is not None:
            return self._asked_at + GIVE_UP
        return None if self._heard_at is None else self._heard_at + SILENCE
