"""Threads for synchronous tools."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

_thread = threading.local()

_Work = tuple[contextvars.Context, Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class ThreadPool:
    """Runs synchronous tools off the event loop, at most ``size`` at once.

    Unlike `concurrent.futures` it never waits for a thread that does not come back: a call that was given up is
    abandoned, counted, and its place given to another thread, so that hung tools block neither others nor the end of
    the program.

    Args:
        size: calls that may run at once.

    Example:
        >>> import asyncio
        >>> asyncio.run(ThreadPool(2).run(lambda: 42))
        42
    """

    def __init__(self, size: int = 32) -> None:
        self._size = size
        self._ready = threading.Condition()
        self._work: deque[_Work] = deque()
        self._threads = 0
        self._idle = 0
        self._closed = False
        self._lent = 0
        self.abandoned = 0

    async def run(self, call: Callable[[], Any]) -> Any:
        """What ``call`` returns, or whatever it raises; it sees the context variables of the caller."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._ready:
            if self._closed:
                raise RuntimeError("the thread pool is closed")
            self._work.append((contextvars.copy_context(), call, loop, future))
            self._staff()
        return await future

    def _staff(self) -> None:
        """See that somebody takes what waits, as far as ``size`` allows; the lock is held."""
        if self._idle >= len(self._work):
            self._ready.notify()
        elif self._threads - self.abandoned - self._lent < self._size:
            self._threads += 1
            threading.Thread(target=self._serve, name="toolcrib-tool", daemon=True).start()

    @contextlib.contextmanager
    def lend(self) -> Iterator[None]:
        """Give the place of the calling thread, which waits for other calls, to another thread meanwhile."""
        with self._ready:
            self._lent += 1
            if self._work:
                self._staff()
        try:
            yield
        finally:
            with self._ready:
                self._lent -= 1

    @property
    def busy(self) -> int:
        """Threads that run a call, abandoned ones included."""
        return self._threads - self._idle

    def close(self) -> None:
        """Let idle threads end and cancel what waits for one; what runs is not waited for."""
        with self._ready:
            self._closed = True
            waiting, self._work = self._work, deque()
            self._ready.notify_all()
        for _, _, loop, future in waiting:
            with contextlib.suppress(RuntimeError):  # that loop has ended
                loop.call_soon_threadsafe(future.cancel)

    def _serve(self) -> None:
        _thread.pool = self
        while (work := self._next()) is not None:
            context, call, loop, future = work
            if future.cancelled():
                continue
            running = _Running(self, future)
            loop.call_soon_threadsafe(future.add_done_callback, running.given_up)
            try:
                value, error = context.run(call), None
            except BaseException as raised:
                value, error = None, raised
            running.end()
            try:
                loop.call_soon_threadsafe(_settle, future, value, error)
            except RuntimeError:  # the loop ended before the tool did
                continue

    def _next(self) -> _Work | None:
        with self._ready:
            while self._threads - self.abandoned - self._lent <= self._size:
                if self._work:
                    return self._work.popleft()
                if self._closed:
                    break
                self._idle += 1
                self._ready.wait()
                self._idle -= 1
            self._threads -= 1
            if self._work:
                self._staff()
            return None


def lending() -> contextlib.AbstractContextManager[None]:
    """`ThreadPool.lend` for the pool that the calling thread belongs to; nothing elsewhere."""
    pool: ThreadPool | None = getattr(_thread, "pool", None)
    return contextlib.nullcontext() if pool is None else pool.lend()


class _Running:
    """One call on one thread; counts as abandoned between being given up and coming back."""

    def __init__(self, pool: ThreadPool, future: asyncio.Future[Any]) -> None:
        self._pool = pool
        self._ended = False
        self._abandoned = False

    def given_up(self, future: asyncio.Future[Any]) -> None:
        with self._pool._ready:
            if future.cancelled() and not self._ended:
                self._abandoned = True
                self._pool.abandoned += 1
                self._pool._staff()

    def end(self) -> None:
        with self._pool._ready:
            self._ended = True
            if self._abandoned:
                self._pool.abandoned -= 1


def _settle(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    elif isinstance(error, (StopIteration, GeneratorExit, KeyboardInterrupt)):
        future.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))
    else:
        future.set_exception(error)
