"""How long a tool that does not start is left alone."""

from __future__ import annotations

import time
from collections import deque

from toolcrib.errors import CallError

FAILURES = 3
WINDOW_SECONDS = 60.0
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0


class Backoff:
    """After three failed starts within a minute, pauses of 1, 2, 4 … 30 s follow the failures.

    A minute without a start after a pause has run out is forgotten, and so is everything at `reset`.

    Example:
        >>> backoff = Backoff()
        >>> for _ in range(3):
        ...     backoff.failed(CallError("it exited with code 1"))
        >>> 0.9 < backoff.remaining() <= 1
        True
    """

    def __init__(self) -> None:
        self._failures: deque[float] = deque(maxlen=FAILURES)
        self._pause = 0.0
        self._until = 0.0
        self.error: CallError | None = None

    def failed(self, error: CallError) -> None:
        """A start failed just now."""
        now = time.monotonic()
        self.error = error
        self._failures.append(now)
        if self._pause and now - self._until > WINDOW_SECONDS:
            self._pause = 0.0
        if self._pause:
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
        elif len(self._failures) == FAILURES and now - self._failures[0] <= WINDOW_SECONDS:
            self._pause = FIRST_PAUSE
        self._until = now + self._pause

    def remaining(self) -> float:
        """Seconds until the next start may be tried."""
        return max(0.0, self._until - time.monotonic())

    def reset(self) -> None:
        """It started, it was changed, or somebody asked for a start."""
        self._failures.clear()
        self._pause = self._until = 0.0
        self.error = None
