"""Random batches, and what holds for each of them whatever is in it.

Run as ``python -m tests.unit.execution.random_batches 10000``.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import Counter
from typing import Any

from tests.unit.execution.executing import Desk
from toolcrib import Context


class Workshop:
    """Tools of every temper, and a count of what they did."""

    def __init__(self) -> None:
        self.desk = Desk(threads=6, timeout=20.0)
        self.ran: Counter[tuple[str, int]] = Counter()
        self.effects: Counter[int] = Counter()
        tool = self.desk.tool

        @tool(cache=True)
        async def cached(n: int) -> int:
            """Remembered."""
            self.ran["cached", n] += 1
            await asyncio.sleep(0)
            return n

        @tool
        def sync(n: int) -> int:
            """In a thread."""
            self.ran["sync", n] += 1
            return n

        @tool
        async def fails(n: int) -> None:
            """Fails."""
            self.ran["fails", n] += 1
            raise (ValueError("x"), SystemExit(1), asyncio.CancelledError(), BaseException("y"))[n % 4]

        @tool(timeout=0.005)
        async def slow(n: int) -> None:
            """Too slow."""
            self.ran["slow", n] += 1
            await asyncio.sleep(5)

        @tool(effects="write", exclusive=True)
        async def write(n: int) -> int:
            """Writes."""
            self.ran["write", n] += 1
            self.effects[n] += 1
            return self.effects[n]

        @tool(effects="external", concurrency=2)
        async def send(n: int) -> int:
            """Sends."""
            self.ran["send", n] += 1
            await asyncio.sleep(0)
            return n

        @tool(run_in_thread=False)
        async def nested(n: int, ctx: Context) -> Any:
            """Calls others."""
            self.ran["nested", n] += 1
            return await ctx.call("sync" if n % 2 else "cached", {"n": n + 100})

        @tool
        def nested_sync(n: int, ctx: Context) -> Any:
            """Calls others from a thread."""
            self.ran["nested_sync", n] += 1
            return ctx.call("sync", {"n": n + 200})

    NAMES = ("cached", "sync", "fails", "slow", "write", "send", "nested", "nested_sync", "unknown")
    WEIGHTS = (6, 6, 3, 0.3, 3, 3, 2, 1, 1)

    def batch(self, chance: random.Random) -> list[dict[str, Any]]:
        """A batch with some calls that cannot be read, and many that are the same."""
        calls = []
        for index in range(chance.randint(0, 12)):
            name = chance.choices(self.NAMES, self.WEIGHTS)[0]
            n = chance.randint(0, 3)
            text = chance.choice([json.dumps({"n": n}), f'{{"n": {n}.0}}', json.dumps({"n": str(n)}), "{", '{"n":"x"}'])
            calls.append({"id": f"c{index}", "type": "function", "function": {"name": name, "arguments": text}})
        return calls

    async def check(self, chance: random.Random) -> None:
        """Run one batch, sometimes cancelling it, and see that everything holds."""
        calls = self.batch(chance)
        self.ran.clear()
        history = self.desk.executor._call_history
        history.clear()
        self.desk.now += chance.choice([0, 0, 200])
        task = asyncio.create_task(self.desk.executor.execute_batch(calls, most_at_once=chance.choice([1, 2, 8])))
        if chance.random() < 0.1:
            for _ in range(chance.randint(1, 6)):
                await asyncio.sleep(0)
            task.cancel()
        records = (await asyncio.gather(task, return_exceptions=True))[0]
        if isinstance(records, BaseException):
            assert isinstance(records, asyncio.CancelledError)
            await self.settle()
        else:
            assert [record.id for record in records] == [call["id"] for call in calls]
            self.check_effects(records)
        assert Counter(record["id"] for record in history) == Counter(call["id"] for call in calls)

    async def settle(self) -> None:
        """Wait for threads that a cancelled batch had already begun: their tools cannot be stopped."""
        runner = self.desk.executor._runner
        assert runner is not None
        while runner.pool.busy:  # noqa: ASYNC110
            await asyncio.sleep(0.001)

    def check_effects(self, records: list[Any]) -> None:
        """What was done is what the records say, no more and no less."""
        by_id = {record.id: record for record in records}
        done: Counter[tuple[str, int]] = Counter()
        for record in records:
            if record.skipped:
                original = by_id[record.duplicate_of]
                assert not original.skipped
                assert original.name == record.name
                assert original.result is record.result
                assert record.name != "send"
            elif not record.cached and record.result.error_code not in ("invalid_params", "truncated", "unknown_tool"):
                done[record.name, int(json.loads(record.arguments)["n"])] += 1
        for (name, n), times in self.ran.items():
            if n < 100:
                assert done[name, n] == times, (name, n)
        assert done.keys() <= self.ran.keys()
        assert all(times == 1 for (name, _), times in done.items() if name == "write")

    def check_end(self) -> None:
        """Nothing is left behind."""
        pipeline = self.desk.executor._pipeline
        assert pipeline.cache is not None
        assert pipeline.cache._flights == {}
        assert pipeline._slots._tools == {}
        runner = self.desk.executor._runner
        assert runner is not None
        until = time.monotonic() + 10
        while (runner.pool.busy or runner.pool.abandoned) and time.monotonic() < until:
            time.sleep(0.01)
        assert (runner.pool.busy, runner.pool.abandoned, runner.pool._lent) == (0, 0, 0)
        self.desk.executor.close()


async def run(batches: int, seed: int) -> None:
    """So many batches, some at the same time."""
    workshop = Workshop()
    chance = random.Random(seed)
    for _ in range(batches):
        await workshop.check(chance)
    workshop.check_end()


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    started = time.monotonic()
    asyncio.run(run(count, seed))
    print(f"{count} batches held in {time.monotonic() - started:.1f} s (seed {seed})")
