"""The synchronous door to asynchronous code: it works with and without a running event loop (DESIGN §11.18)."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar

from toolcrib.execution.threads import lending

Outcome = TypeVar("Outcome")


class SynchronousDoor:
    """Runs coroutines on an event loop of its own, on a thread that ends with this object or the program.

    The caller's context variables are seen inside. It may be used from any thread, also by code that the loop of
    another thread runs, and by what runs inside of it.

    Example:
        >>> import asyncio
        >>> SynchronousDoor().run(asyncio.sleep(0, "done"))
        'done'
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._finalizer: Any = None

    def run(self, coroutine: Coroutine[Any, Any, Outcome]) -> Outcome:
        """What the coroutine returns or raises; an interrupt from the keyboard cancels it."""
        loop = self._started()
        if threading.current_thread() is self._thread:
            inner = SynchronousDoor()
            try:
                return inner.run(coroutine)
            finally:
                inner.close()
        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        try:
            with lending():
                return future.result()
        except KeyboardInterrupt:
            future.cancel()
            concurrent.futures.wait([future])
            raise

    def close(self) -> None:
        """End the thread; it is started again when it is needed."""
        with self._lock:
            thread, self._thread, self._loop = self._thread, None, None
            if self._finalizer is not None:
                self._finalizer()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                loop = self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(loop,), name="toolcrib-executor", daemon=True)
                self._thread.start()
                self._finalizer = weakref.finalize(self, _stop, loop)
                self._finalizer.atexit = False
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
