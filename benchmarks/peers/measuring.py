"""The figures of one framework, from one process. Times are CPU times of all threads."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers.base import Peer
from benchmarks.peers.distributions import installed_version, needed_distributions
from benchmarks.peers.work import ARGUMENTS, ASYNC, EXPECTED, SYNC, load_functions

ROUNDS = 7
ROUND_SECONDS = 0.05
FLOOR_CALLS = 2000


def measure(
    make: Callable[[], Peer], distribution: str, work: str, count: int, many: bool, import_seconds: float
) -> None:
    """Measure and print.

    Args:
        make: gives the framework's `Peer`.
        distribution: what a person installs for it.
        work: the path of the module with the functions.
        count: how many numbered functions it has.
        many: whether the numbered functions become tools too, or only the four others.
        import_seconds: what the import has cost already.
    """
    numbered, others = load_functions(Path(work), count)
    peer = make()
    usable = others if peer.asynchronous else others[:2]
    figures: dict[str, Any] = {"version": installed_version(distribution)}
    if many:
        warm = make()
        warm.define(usable)
        warm.schemas()
        figures |= definition(peer, numbered)
        peer.define(usable)
    else:
        figures |= {"import_s": import_seconds, "distributions": len(needed_distributions(distribution))}
        figures |= {"first_answer_s": import_seconds + first_answer(peer, usable)}
    kind = "many" if many else "few"
    figures |= {f"{name}_{kind}": value for name, value in asyncio.run(calls(peer, others[0])).items()}
    print(json.dumps(figures))
    # What a framework leaves running, such as threads of an exporter, is not waited for.
    sys.stdout.flush()
    os._exit(0)


def definition(peer: Peer, functions: list[Callable[..., Any]]) -> dict[str, float]:
    """What making the tools and their schemas costs once everything is imported."""
    gc.collect()
    before = resident_megabytes()
    define = milliseconds(lambda: peer.define(functions))
    first = milliseconds(peer.schemas)
    gc.collect()
    kept = resident_megabytes() - before
    again = milliseconds(peer.schemas)
    listed = peer.schemas()
    assert len(listed) == len(functions), f"{len(listed)} schemas of {len(functions)} tools"
    size = statistics.mean(len(json.dumps(entry, separators=(",", ":"))) for entry in listed)
    return {"define_ms": define, "schemas_ms": first, "again_ms": again, "bytes": size, "rss_mb": kept}


def first_answer(peer: Peer, functions: list[Callable[..., Any]]) -> float:
    """CPU seconds from a fresh import to the first answer, without the import."""
    started = time.process_time()
    peer.define(functions)
    peer.schemas()

    async def once() -> None:
        await peer.open()
        check(await peer.call(SYNC, ARGUMENTS))

    asyncio.run(once())
    return time.process_time() - started


async def calls(peer: Peer, function: Callable[..., Any]) -> dict[str, float]:
    """What one call costs, as a multiple of the floor measured beside it, and the floor in microseconds."""
    await peer.open()
    names = {"sync": SYNC, "async": ASYNC} if peer.asynchronous else {"sync": SYNC}
    batches = {kind: await batch_size(peer, name) for kind, name in names.items()}
    floors: list[float] = []
    ratios: dict[str, list[float]] = {kind: [] for kind in names}
    for _ in range(ROUNDS):
        gc.collect()
        floor = one_floor(function)
        floors.append(floor * 1e6)
        for kind, name in names.items():
            ratios[kind].append(await one_call(peer, name, batches[kind]) / floor)
    return {"floor_us": statistics.median(floors)} | {kind: statistics.median(each) for kind, each in ratios.items()}


async def batch_size(peer: Peer, name: str) -> int:
    """How many calls make a round; the calls that find this out also warm everything up."""
    for _ in range(10):
        check(await peer.call(name, ARGUMENTS))
    seconds = await one_call(peer, name, 10)
    return max(3, min(FLOOR_CALLS, int(ROUND_SECONDS / max(seconds, 1e-6))))


async def one_call(peer: Peer, name: str, count: int) -> float:
    """CPU seconds of one call, one after another."""
    started = time.process_time()
    for _ in range(count):
        await peer.call(name, ARGUMENTS)
    return (time.process_time() - started) / count


def one_floor(function: Callable[..., Any]) -> float:
    """CPU seconds of reading the arguments, calling the function and writing the answer, and nothing else."""
    started = time.process_time()
    for _ in range(FLOOR_CALLS):
        json.dumps(function(**json.loads(ARGUMENTS)))
    return (time.process_time() - started) / FLOOR_CALLS


def check(answer: str) -> None:
    """The right answer, or nothing is measured."""
    missing = [part for part in EXPECTED if part not in answer]
    assert not missing, f"{missing} not in the answer {answer!r}"


def milliseconds(work: Callable[[], object]) -> float:
    """CPU time of doing something once."""
    gc.collect()
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1e3


def resident_megabytes() -> float:
    """Memory of this process in RAM; not a number where there is no /proc."""
    statistics_of_memory = Path("/proc/self/statm")
    if not statistics_of_memory.exists():
        return float("nan")
    return int(statistics_of_memory.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
