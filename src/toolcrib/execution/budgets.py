"""What one run of a model may spend, and when it goes round in circles (contract N024)."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

from toolcrib.errors import CallError

_REMEMBERED = 256


class BudgetExceededError(CallError):
    """The run has used up what it may spend."""

    code = "budget_exceeded"


class LoopError(CallError):
    """The model makes the same call over and over and gets the same result."""

    code = "repeated_call"
    mender = "model"


REFUSALS = frozenset((BudgetExceededError.code, LoopError.code))
"""Codes of results that are not a tool's."""


class Run:
    """One run of a model: from a user's message to the answer.

    The loop breaker counts calls that are identical to an earlier one and had the same result, so that polling for
    something that changes is no loop: first the model is told, then the call is refused, then the run ends.

    Args:
        calls: most calls; None = any number.
        seconds: longest time.
        tokens: most tokens, as counted by `spend`.
        cost: most cost, in the currency that `spend` is told.
        note_after, refuse_after, end_after: how often the same call may bring the same result.
        clock: seconds, for tests.

    Attributes:
        ended: why the run has to end; None = it may go on.

    Example:
        >>> run = Run(calls=1)
        >>> run.start_call(None)
        >>> run.start_call(None)
        Traceback (most recent call last):
        ...
        toolcrib.execution.budgets.BudgetExceededError: This run has used up its 1 calls
    """

    def __init__(
        self,
        *,
        calls: int | None = None,
        seconds: float | None = None,
        tokens: int | None = None,
        cost: float | None = None,
        note_after: int = 3,
        refuse_after: int = 5,
        end_after: int = 8,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.calls = 0
        self.tokens = 0
        self.cost = 0.0
        self.ended: str | None = None
        self._most: dict[Literal["calls", "seconds", "tokens", "cost"], float | None] = {
            "calls": calls,
            "seconds": seconds,
            "tokens": tokens,
            "cost": cost,
        }
        self._clock = clock
        self._started = clock()
        self._note_after = note_after
        self._refuse_after = refuse_after
        self._end_after = end_after
        self._seen: OrderedDict[str, tuple[bytes, int]] = OrderedDict()

    def spend(self, *, tokens: int = 0, cost: float = 0.0) -> None:
        """Count what a request to the model took."""
        self.tokens += tokens
        self.cost += cost

    def stop(self, reason: str) -> None:
        """End the run; calls that have not started are refused."""
        self.ended = self.ended or reason

    def start_call(self, key: str | None) -> None:
        """Count one call before it runs.

        Args:
            key: what makes it the same as another; None = nothing.

        Raises:
            BudgetExceededError: the run may not make it.
            LoopError: it has brought the same result too often.
        """
        if self.ended is not None:
            raise BudgetExceededError(f"This run has ended: {self.ended}", hint="Answer with what is known.")
        for unit, used in self._used().items():
            most = self._most[unit]
            if most is not None and used >= most:
                self.stop(f"it has used up its {most:g} {unit}")
                raise BudgetExceededError(
                    f"This run has used up its {most:g} {unit}", hint="Answer with what is known."
                )
        self.calls += 1
        if key is None or key not in self._seen:
            return
        result, times = self._seen[key]
        if times < self._refuse_after:
            return
        self._seen[key] = (result, times + 1)
        if times + 1 >= self._end_after:
            self.stop(f"the same call was made {times + 1} times without anything new")
        raise LoopError(
            f"Refused: this call was made {times} times with the same result",
            hint="Do something else: other arguments, another tool, or answer with what is known.",
        )

    def end_call(self, key: str | None, content: str) -> str | None:
        """Count the result of a call; returns what the model should be told about it."""
        if key is None:
            return None
        digest = hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=16).digest()
        before = self._seen.get(key)
        times = before[1] + 1 if before is not None and before[0] == digest else 1
        self._seen[key] = (digest, times)
        self._seen.move_to_end(key)
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        if times < self._note_after:
            return None
        return f"This call has brought the same result {times} times; calling it again will not change it."

    def _used(self) -> dict[Literal["calls", "seconds", "tokens", "cost"], float]:
        return {
            "calls": self.calls,
            "seconds": self._clock() - self._started,
            "tokens": self.tokens,
            "cost": self.cost,
        }
