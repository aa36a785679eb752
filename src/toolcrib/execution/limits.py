"""Ends a call in time, also where its code takes no notice of being cancelled."""

from __future__ import annotations

import asyncio
import logging
import types
from collections.abc import Coroutine, Generator
from typing import Any

logger = logging.getLogger("toolcrib.execution")

GRACE = 0.25
"""Seconds that code has to clean up in after its deadline."""

GRACE_AFTER_CANCELLATION = 5.0
"""Seconds that code has to clean up in after its caller was cancelled."""


class TimeLimit:
    """Goes on with a coroutine inside the current task, for so many seconds.

    The caller has started it, and needs no limit where it never waits. One that waits is cancelled at its deadline the
    way asyncio does it; where it swallows the cancellation and goes on, it is closed after a grace period, so the
    answer is never held up. (`asyncio.timeout` would wait for it; a task of its own would outlive the loop.)

    Args:
        seconds: from now on.
        name: of the tool, for the log.

    Attributes:
        expired: whether the deadline passed before the coroutine ended.
    """

    __slots__ = (
        "_base",
        "_cancelled",
        "_closes_at",
        "_gate",
        "_given_up",
        "_loop",
        "_task",
        "expired",
        "name",
        "seconds",
    )

    def __init__(self, seconds: float, name: str = "") -> None:
        self.seconds = seconds
        self.name = name
        self.expired = False
        self._given_up = False
        self._cancelled = False
        self._gate: asyncio.Future[None] | None = None
        self._closes_at: asyncio.TimerHandle | None = None

    @types.coroutine
    def finish(self, coroutine: Coroutine[Any, Any, Any], waiting: Any) -> Generator[Any, Any, Any]:
        """What ``coroutine`` returns or raises.

        Args:
            coroutine: it has been started by ``send(None)``.
            waiting: what that gave, which it waits for.

        Raises:
            TimeoutError: it went on after its deadline and was closed.
            asyncio.CancelledError: the task was cancelled.
        """
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        self._task, self._base = task, task.cancelling()
        timer = self._loop.call_later(self.seconds, self._expire)
        try:
            while True:
                thrown = yield from (self._until(waiting) if waiting is not None else self._yielded())
                if self._given_up:
                    self._close(coroutine)
                waiting = coroutine.send(None) if thrown is None else coroutine.throw(thrown)
        except StopIteration as stop:
            return stop.value
        finally:
            timer.cancel()
            if self._closes_at is not None:
                self._closes_at.cancel()

    def _yielded(self) -> Generator[Any, Any, BaseException | None]:
        """Let others run once, as ``asyncio.sleep(0)`` asks for."""
        was_expired = self.expired
        try:
            yield
        except asyncio.CancelledError as error:
            self._was_cancelled()
            return error
        return asyncio.CancelledError() if self.expired and not was_expired else None

    def _until(self, waiting: Any) -> Generator[Any, Any, BaseException | None]:
        """Wait for what the coroutine waits for, or until it is given up; returns what to throw into it."""
        waiting._asyncio_future_blocking = False
        waiting.add_done_callback(self._open)
        was_expired = self.expired
        while not waiting.done():
            self._gate = self._loop.create_future()
            stop, reason = False, None
            try:
                yield from self._gate
            except asyncio.CancelledError as error:
                self._was_cancelled()
                if waiting.done():
                    return error
                stop, reason = True, error.args[0] if error.args else None  # by which anyio knows its own
            if self._given_up and not waiting.done():
                waiting.remove_done_callback(self._open)
                waiting.cancel()
                return None
            if self.expired and not was_expired:
                was_expired = stop = True
            if stop and not waiting.done() and not waiting.cancel(reason):
                return asyncio.CancelledError() if reason is None else asyncio.CancelledError(reason)
        return None

    def _open(self, _: Any = None) -> None:
        if self._gate is not None and not self._gate.done():
            self._gate.set_result(None)

    def _expire(self) -> None:
        self.expired = True
        self._close_after(GRACE)
        self._open()

    def _was_cancelled(self) -> None:
        self._cancelled = True
        if self._closes_at is None:
            self._close_after(GRACE_AFTER_CANCELLATION)

    def _close_after(self, seconds: float) -> None:
        if self._closes_at is not None:
            self._closes_at.cancel()
        self._closes_at = self._loop.call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        self._closes_at = None
        is_cancelled = self._task.cancelling() > self._base  # else a timeout inside the tool, which has dealt with it
        if self.expired or is_cancelled:
            self._given_up = True
            self._open()

    def _close(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        logger.warning("The tool %s took no notice of being cancelled and was closed", self.name)
        try:
            coroutine.close()
        except BaseException as error:
            logger.warning("The tool %s could not be closed: %r", self.name, error)
        if self._cancelled and not self.expired:
            raise asyncio.CancelledError
        raise TimeoutError
