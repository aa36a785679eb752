"""Waiting for something that may happen on another thread or event loop."""

from __future__ import annotations

import asyncio
import contextlib


class Waiters:
    """Tasks that wait for one thing; kept by whoever makes it happen, under a lock of theirs."""

    __slots__ = ("_futures",)

    def __init__(self) -> None:
        self._futures: list[asyncio.Future[None]] = []

    def __bool__(self) -> bool:
        return bool(self._futures)

    def add(self) -> asyncio.Future[None]:
        """A future for the current task to await; the lock is held."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._futures.append(future)
        return future

    def discard(self, future: asyncio.Future[None]) -> bool:
        """Forget one that waits no more; whether it was still waiting."""
        try:
            self._futures.remove(future)
        except ValueError:
            return False
        return True

    def wake(self, most: int | None = None) -> None:
        """Let the first ``most`` of them go on, or all; the lock is held."""
        count = len(self._futures) if most is None else most
        woken, self._futures = self._futures[:count], self._futures[count:]
        for future in woken:
            with contextlib.suppress(RuntimeError):  # its loop has ended
                future.get_loop().call_soon_threadsafe(_settle, future)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
