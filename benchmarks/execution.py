"""What carrying out calls costs, as ratios within one run.

Run as ``python benchmarks/execution.py``. The floor of a call is ``json.loads`` + the function + ``json.dumps`` in the
same process; that of a batch is a pool of threads of the same size, or ``asyncio.gather``, that does the same waiting.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import statistics
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from toolcrib import Crib, ToolDefinition, ToolExecutor, ToolRegistry
from toolcrib.definition.decorator import define
from toolcrib.definition.invoke import invoke

TEXT = '{"a": 1, "b": 2, "note": "hello", "mode": "deep"}'
BATCH = 100
WAIT = 0.01
MANY = 1_000_000


def add(a: int, b: int = 1, note: str = "", mode: str = "fast") -> dict[str, int]:
    """Adds two numbers."""
    return {"sum": a + b}


async def add_later(a: int, b: int = 1, note: str = "", mode: str = "fast") -> dict[str, int]:
    """Adds two numbers."""
    return {"sum": a + b}


def nap(n: int) -> int:
    """Waits."""
    time.sleep(WAIT)
    return n


async def nap_later(n: int) -> int:
    """Waits."""
    await asyncio.sleep(WAIT)
    return n


def sent(name: str, arguments: str = TEXT, call_id: str = "a") -> dict[str, Any]:
    """A call as a provider sends it."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def registered(more: int = 0) -> ToolRegistry:
    """The tools of these measurements, and so many others."""
    registry = ToolRegistry()
    registry.register(define(add, run_in_thread=False))
    registry.register(define(add_later))
    registry.register(define(add, name="in_thread"))
    registry.register(define(nap))
    registry.register(define(nap_later))
    for index in range(more):
        registry.register(ToolDefinition(f"tool_{index}", "", {"type": "object"}, len))
    return registry


def microseconds(work: Callable[[], object], count: int = 5000, repeats: int = 7) -> float:
    """CPU time of one call, the median of several rounds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(count):
            work()
        times.append((time.process_time() - start) / count * 1e6)
    return statistics.median(times)


async def microseconds_of(work: Callable[[], Coroutine[Any, Any, Any]], count: int = 5000, repeats: int = 7) -> float:
    """As `microseconds`, on this event loop."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(count):
            await work()
        times.append((time.process_time() - start) / count * 1e6)
    return statistics.median(times)


async def seconds_of(work: Callable[[], Awaitable[Any]], repeats: int = 5) -> float:
    """Wall time, the best of several."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        await work()
        times.append(time.perf_counter() - start)
    return min(times)


def seconds(work: Callable[[], Any], repeats: int = 5) -> float:
    """Wall time, the best of several."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def line(what: str, value: float, unit: str, target: str = "") -> None:
    """One row of the report."""
    print(f"{what:<62} {value:9.2f} {unit:<6} {target}")


async def calls(floor: float) -> None:
    """One call, on each road."""
    crib = Crib(registry=registered())
    parsed = json.loads(TEXT)
    tool = crib.registry.resolve("add")
    line("synchronous: invoke / floor", microseconds(lambda: invoke(tool, parsed)) / floor, "x", "<= 1.0")
    for name in ("add", "add_later"):
        cost = await microseconds_of(lambda name=name: crib.run(name, parsed))
        line(f"the whole pipeline, {name}: await crib.run / floor", cost / floor, "x", "<= 1.5")
    executor = ToolExecutor(crib.registry, enable_cache=False)
    for name in ("add", "add_later"):
        cost = await microseconds_of(lambda name=name: executor.execute(sent(name)))
        line(f"from a model's call to its record, {name} / floor", cost / floor, "x")
    cost = await microseconds_of(lambda: executor.execute(sent("in_thread")), 1000)
    line("the same with a thread / floor", cost / floor, "x")
    cost = await microseconds_of(lambda: executor.execute(sent("add", '{"a": "one", "b": 2}')), 1000)
    line("a refused call with its message / floor", cost / floor, "x", "<= 3")
    remembering = ToolExecutor(crib.registry)
    cost = await microseconds_of(lambda: remembering.execute(sent("add")))
    line("a remembered result / floor", cost / floor, "x")
    executor.close()
    remembering.close()


async def sizes() -> None:
    """14 tools against 1,000; the rounds alternate, so that what else the machine does falls on both."""
    few, many = ToolExecutor(registered(9), False), ToolExecutor(registered(995), False)
    ratios = []
    for _ in range(9):
        first = await microseconds_of(lambda: few.execute(sent("add")), 3000, 1)
        second = await microseconds_of(lambda: many.execute(sent("add")), 3000, 1)
        ratios.append(second / first)
    line("1,000 registered / 14", statistics.median(ratios), "x", "<= 1.05")


async def batches() -> None:
    """A hundred calls that wait."""
    executor = ToolExecutor(registered(), enable_cache=False, threads=32)
    for size in (8, 32):
        batch = [sent("nap", json.dumps({"n": n}), str(n)) for n in range(BATCH)]
        with ThreadPoolExecutor(size) as pool:
            raw = seconds(lambda pool=pool: list(pool.map(nap, range(BATCH))))
        ours = await seconds_of(lambda size=size, batch=batch: executor.execute_batch(batch, most_at_once=size))
        line(f"{BATCH} synchronous tools of 10 ms, {size} at once / raw pool", ours / raw, "x", "<= 1.2")
        ours = await asyncio.to_thread(
            seconds, lambda size=size, batch=batch: executor.process_tool_calls_parallel(batch, max_workers=size)
        )
        line(f"the same by process_tool_calls_parallel({size}) / raw pool", ours / raw, "x", "<= 1.2")
    batch = [sent("nap_later", json.dumps({"n": n}), str(n)) for n in range(BATCH)]
    raw = await seconds_of(lambda: asyncio.gather(*(nap_later(n) for n in range(BATCH))))
    ours = await seconds_of(lambda: executor.execute_batch(batch, most_at_once=BATCH))
    line(f"{BATCH} asynchronous tools of 10 ms / raw gather", ours / raw, "x", "<= 1.5")
    executor.close()


async def memory(count: int = MANY) -> None:
    """How much a long life costs."""
    executor = ToolExecutor(registered())

    async def run(start: int, end: int) -> float:
        for n in range(start, end):
            await executor.execute(sent("add", f'{{"a": {n}}}', f"call_{n}"))
        gc.collect()
        return resident()

    before = await run(0, count // 10)
    line(f"memory between {count // 10:,} and {count:,} calls", await run(count // 10, count) - before, "MB", "< 20")


def resident() -> float:
    """Megabytes of memory that this process holds."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * resource.getpagesize() / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


async def main() -> None:
    """Measure and print."""
    floor = microseconds(lambda: json.dumps(add(**json.loads(TEXT))))
    line("floor: json.loads + call + json.dumps", floor, "us")
    await calls(floor)
    await sizes()
    await batches()
    await memory()


if __name__ == "__main__":
    asyncio.run(main())
