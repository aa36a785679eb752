"""Runs the calls of one batch: some at once, exclusive ones alone, duplicates not at all (DESIGN §3.5)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence

Run = Callable[[int], Awaitable[None]]


async def run_batch(
    count: int, run: Run, *, most: int, exclusive: Collection[int] = (), after: Mapping[int, int] | None = None
) -> None:
    """Run ``run(0)`` to ``run(count - 1)``, which never raise; each starts in order.

    Args:
        count: how many.
        run: runs one.
        most: how many may run at once; 1 = one after the other.
        exclusive: those that run alone: all before them have ended, and those after them wait.
        after: of a duplicate, the one whose result it shares; it takes no place of its own.

    Cancelling it cancels what runs and waits for it; what has not started does not start.
    """
    after = after or {}
    if most <= 1 or count == 1:
        for index in range(count):
            await run(index)
        return
    for group in _groups(count, exclusive):
        await _run_group([index for index in group if index not in after], run, most)
        for index in group:
            if index in after:
                await run(index)


def _groups(count: int, exclusive: Collection[int]) -> Iterator[Sequence[int]]:
    """What may run together: between two exclusive calls, and each of those by itself."""
    start = 0
    for index in sorted(exclusive):
        if index > start:
            yield range(start, index)
        yield range(index, index + 1)
        start = index + 1
    if start < count:
        yield range(start, count)


async def _run_group(indices: Sequence[int], run: Run, most: int) -> None:
    if len(indices) == 1:
        await run(indices[0])
        return
    waiting = iter(indices)

    async def work() -> None:
        for index in waiting:
            await run(index)

    workers = [asyncio.create_task(work()) for _ in range(min(most, len(indices)))]
    try:
        await asyncio.gather(*workers)
    except BaseException:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        raise
