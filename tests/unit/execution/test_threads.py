"""Threads for synchronous tools."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Iterator

import pytest

from toolcrib.execution.threads import ThreadPool


@pytest.fixture
def pool() -> Iterator[ThreadPool]:
    pool = ThreadPool(2)
    yield pool
    pool.close()


async def test_values_and_errors_come_back(pool: ThreadPool) -> None:
    assert await pool.run(lambda: 42) == 42
    with pytest.raises(ZeroDivisionError):
        await pool.run(lambda: 1 // 0)
    with pytest.raises(SystemExit):
        await pool.run(lambda: (_ for _ in ()).throw(SystemExit(3)))


async def test_the_callers_context_is_seen(pool: ThreadPool) -> None:
    variable = contextvars.ContextVar("variable", default="none")
    variable.set("set")
    assert await pool.run(variable.get) == "set"


async def test_no_more_than_size_run_at_once(pool: ThreadPool) -> None:
    lock, running, most = threading.Lock(), 0, 0
    gate = threading.Barrier(2)

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        gate.wait(10)
        with lock:
            running -= 1

    await asyncio.gather(*(pool.run(work) for _ in range(20)))
    assert most == 2


async def test_hung_threads_are_abandoned_counted_and_replaced(pool: ThreadPool) -> None:
    release = threading.Event()
    running = threading.Semaphore(0)

    def hang() -> None:
        running.release()
        release.wait(30)

    hung = [asyncio.create_task(pool.run(hang)) for _ in range(2)]
    for _ in hung:
        assert await asyncio.to_thread(running.acquire, timeout=10)
    waiting = asyncio.create_task(pool.run(lambda: "late"))
    await asyncio.sleep(0)
    for task in hung:
        task.cancel()
    async with asyncio.timeout(10):
        while pool.abandoned < 2:  # noqa: ASYNC110 (a thread counts itself out)
            await asyncio.sleep(0.01)

    assert await pool.run(lambda: "next") == "next"
    assert await waiting == "late"
    release.set()
    async with asyncio.timeout(10):
        while pool.abandoned:  # noqa: ASYNC110 (a thread counts itself back in)
            await asyncio.sleep(0.01)


async def test_closing_cancels_what_waits() -> None:
    pool = ThreadPool(1)
    release = threading.Event()
    running = asyncio.create_task(pool.run(lambda: release.wait(30)))
    waiting = asyncio.create_task(pool.run(lambda: None))
    await asyncio.sleep(0.05)
    pool.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    release.set()
    assert await running
    with pytest.raises(RuntimeError, match="closed"):
        await pool.run(lambda: None)


async def test_work_that_waited_for_a_hung_thread_begins_when_that_is_given_up() -> None:
    pool, release = ThreadPool(1), threading.Event()
    try:
        hung = asyncio.create_task(pool.run(lambda: release.wait(30)))
        waiting = asyncio.create_task(pool.run(lambda: "done"))
        await asyncio.wait({waiting}, timeout=0.1)
        hung.cancel()
        async with asyncio.timeout(10):
            assert await waiting == "done"
    finally:
        release.set()
        pool.close()
