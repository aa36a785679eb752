"""S1's executor: one result for each call, remembered, deduplicated, in order (contract N008-N025)."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.unit.execution.executing import PATHS, SLACK, Desk, counting, sent
from toolcrib import Context, ToolExecutor, ToolRegistry
from toolcrib.errors import DefinitionError
from toolcrib.execution.budgets import Run

KEYS_OF_S1 = ["id", "type", "function", "result", "success", "skipped", "execution_time"]


def test_N008_the_executor_of_the_document() -> None:
    executor = ToolExecutor(ToolRegistry())
    assert (executor.enable_cache, executor.cache_ttl) == (True, 300)
    assert (dict(executor._cache), executor._call_history) == ({}, [])
    assert isinstance(executor._call_history, list)
    by_place = ToolExecutor(ToolRegistry(), False, 5)
    assert (by_place.enable_cache, by_place.cache_ttl) == (False, 5)


@pytest.mark.parametrize("path", PATHS)
def test_N009_N016_one_message_for_each_call_in_order(desk: Desk, path: str) -> None:
    counting(desk)
    messages = desk.messages(path, *(sent("count", {"x": n}, f"c{n}") for n in range(20)))
    assert [each["tool_call_id"] for each in messages] == [f"c{n}" for n in range(20)]
    assert {tuple(each) for each in messages} == {("role", "tool_call_id", "name", "content")}
    assert {(each["role"], each["name"]) for each in messages} == {("tool", "count")}
    assert desk.messages(path) == []


def test_N010_the_time_of_a_batch_is_that_of_its_slowest_call(desk: Desk) -> None:
    @desk.tool
    def nap(n: int) -> int:
        """Naps."""
        time.sleep(0.3)
        return n

    started = time.monotonic()
    desk.messages("parallel", *(sent("nap", {"n": n}, str(n)) for n in range(4)), workers=4)
    assert time.monotonic() - started < 0.3 * 4


def test_N011_the_private_names_of_the_document(desk: Desk) -> None:
    calls = counting(desk)
    seen: set[str] = set()
    call_id, name, arguments, key, early = desk.executor._prepare_call(sent("count", {"x": "1"}), {}, seen)
    assert (call_id, name, arguments, early, seen) == ("a", "count", {"x": 1}, None, {key})
    assert desk.executor._execute_and_record(name, arguments, key) == {"success": True, "data": 1, "error": None}
    again = desk.executor._prepare_call(sent("count", {"x": 1}), {}, seen)[-1]
    assert again == {"success": True, "data": 1, "error": None, "skipped": True}
    assert calls == [1]
    assert desk.executor._prepare_call(sent("nothing"), None, set())[-1]["error"] == "Tool not found: nothing"


@pytest.mark.parametrize("path", PATHS)
def test_N013_N015_the_record_of_a_call(desk: Desk, path: str) -> None:
    counting(desk)
    arguments = '{"x":  1}'
    (message,) = desk.messages(path, sent("count", arguments, "call_1"))
    (record,) = desk.executor._call_history
    assert list(record)[: len(KEYS_OF_S1)] == KEYS_OF_S1
    assert (record["id"], record["type"]) == ("call_1", "function")
    assert record["function"] == {"name": "count", "arguments": arguments}
    assert record["result"] == message["content"] == '{"success": true, "data": 1, "error": null}'
    assert (record["success"], record["skipped"], record["cached"]) == (True, False, False)
    assert isinstance(record["execution_time"], float)
    json.dumps(record)


@pytest.mark.parametrize("path", PATHS)
def test_N014_N022_the_same_call_twice_in_a_batch_runs_once(desk: Desk, path: str) -> None:
    calls = counting(desk)
    desk.messages(path, sent("count", {"x": 1}, "a"), sent("count", '{"x":1.0}', "b"), sent("count", {"x": 2}, "c"))
    records = desk.executor._call_history
    by_id = {record["id"]: record for record in records}
    assert sorted(calls) == [1, 2]
    assert (by_id["b"]["skipped"], by_id["b"]["duplicate_of"], by_id["b"]["success"]) == (True, "a", True)
    assert json.loads(by_id["b"]["result"])["data"] == json.loads(by_id["a"]["result"])["data"]
    assert not by_id["a"]["skipped"]
    assert not by_id["c"]["skipped"]


@pytest.mark.parametrize("path", PATHS)
def test_N022_a_duplicate_of_a_failure_fails_alike(desk: Desk, path: str) -> None:
    calls = []

    @desk.tool
    def fails() -> None:
        """Fails."""
        calls.append(1)
        raise ValueError("no")

    first, second = desk.contents(path, sent("fails", call_id="a"), sent("fails", call_id="b"))
    assert (first["error"], second["error"], second["skipped"], len(calls)) == ("ValueError: no",) * 2 + (True, 1)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("facts", "executions"),
    [
        ({}, 1),
        ({"effects": "write"}, 1),
        ({"effects": "external"}, 2),
        ({"effects": "external", "dedup": True}, 1),
        ({"dedup": False, "cache": False}, 2),
        ({"dedup_key": lambda arguments: arguments["x"] // 10}, 1),
    ],
)
def test_N022_which_tools_are_deduplicated(desk: Desk, path: str, facts: Any, executions: int) -> None:
    calls = counting(desk, **facts)
    second = 1 if "dedup_key" not in facts else 2
    desk.messages(path, sent("count", {"x": 1}, "a"), sent("count", {"x": second}, "b"))
    assert len(calls) == executions


@pytest.mark.parametrize("path", PATHS)
def test_N022_reading_again_after_a_write_is_no_duplicate(desk: Desk, path: str) -> None:
    content = ["old"]

    @desk.tool(reads=("file",), exclusive=True)
    def read() -> str:
        """Reads."""
        return content[-1]

    @desk.tool(effects="write", mutates=("file",), exclusive=True)
    def write(text: str) -> None:
        """Writes."""
        content.append(text)

    batch = [sent("read", call_id="a"), sent("write", {"text": "new"}, "b"), sent("read", call_id="c")]
    assert [each["data"] for each in desk.contents(path, *batch)] == ["old", None, "new"]


@pytest.mark.parametrize("path", PATHS)
def test_N021_N023_a_result_is_given_again_for_300_seconds(desk: Desk, path: str) -> None:
    calls = counting(desk)
    for now, data in ((0, 1), (299, 1), (301, 2), (600, 2), (602, 3)):
        desk.now = now
        assert desk.contents(path, sent("count"))[0]["data"] == data
    assert [record["cached"] for record in desk.executor._call_history] == [False, True, False, True, False]
    assert not any(record["skipped"] for record in desk.executor._call_history)
    assert len(calls) == 3


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("facts", "after", "executions"),
    [
        ({"cache": 10}, 9, 1),
        ({"cache": 10}, 11, 2),
        ({"cache": False}, 0, 2),
        ({"effects": "read"}, 0, 1),
        ({"effects": "write"}, 0, 2),
        ({"effects": "external"}, 0, 2),
        ({"mutates": ("rows",)}, 0, 2),
    ],
)
def test_N021_which_results_are_remembered(desk: Desk, path: str, facts: Any, after: float, executions: int) -> None:
    calls = counting(desk, **facts)
    desk.messages(path, sent("count"))
    desk.now = after
    desk.messages(path, sent("count"))
    assert len(calls) == executions


@pytest.mark.parametrize("path", PATHS)
def test_N021_nothing_is_remembered_without_the_cache(path: str) -> None:
    desk = Desk(enable_cache=False)
    calls = counting(desk)
    desk.messages(path, sent("count"))
    desk.messages(path, sent("count"))
    assert len(calls) == 2
    assert dict(desk.executor._cache) == {}
    desk.executor.close()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("reader", "writer", "executions"),
    [
        ({"reads": ("rows",)}, {"mutates": ("rows",)}, 2),
        ({"reads": ("rows",)}, {"mutates": ("other",)}, 1),
        ({}, {"mutates": ("count",)}, 2),
        ({"category": "database"}, {"mutates": ("database",)}, 2),
        ({}, {"effects": "write"}, 2),
        ({"effects": "none"}, {"effects": "write"}, 1),
        ({}, {"effects": "external"}, 1),
    ],
)
def test_N021_a_write_ends_what_was_read_before(
    desk: Desk, path: str, reader: Any, writer: Any, executions: int
) -> None:
    calls = counting(desk, **reader)
    desk.tool(name="change", description="", parameters={"type": "object"}, **writer)(lambda arguments: None)
    for name in ("count", "change", "count", "count"):
        desk.messages(path, sent(name))
    assert len(calls) == executions


async def test_N021_what_was_read_while_a_write_ended_is_not_remembered(desk: Desk) -> None:
    started, finish = asyncio.Event(), asyncio.Event()
    calls = []

    @desk.tool(cache=True)
    async def read() -> int:
        """Reads."""
        calls.append(1)
        started.set()
        await finish.wait()
        return len(calls)

    @desk.tool(effects="write")
    async def write() -> None:
        """Writes."""

    reading = asyncio.create_task(desk.call("read"))
    await started.wait()
    await desk.call("write")
    finish.set()
    assert (await reading).data == 1
    assert (await desk.call("read")).data == 2


def test_a_tool_that_writes_cannot_be_declared_cacheable(desk: Desk) -> None:
    with pytest.raises(DefinitionError, match="would not be carried out"):
        counting(desk, effects="write", cache=True)


@pytest.mark.parametrize("path", PATHS)
def test_N024_a_failed_call_is_not_repeated_and_may_be_made_again(desk: Desk, path: str) -> None:
    calls = []

    @desk.tool
    def fails() -> None:
        """Fails."""
        calls.append(1)
        raise ValueError("no")

    desk.messages(path, sent("fails"))
    assert len(calls) == 1
    desk.messages(path, sent("fails"))
    assert len(calls) == 2


async def test_N024_the_loop_breaker_notes_refuses_and_ends_the_run(desk: Desk) -> None:
    calls = counting(desk, cache=False)
    constant = []

    @desk.tool(cache=False)
    def same() -> int:
        """Always the same."""
        constant.append(1)
        return 1

    run = Run()
    contents = [json.loads((await desk.executor.execute(sent("same"), run=run)).content) for _ in range(9)]
    assert ["note" in each for each in contents[:5]] == [False, False, True, True, True]
    assert [each["success"] for each in contents] == [True] * 5 + [False] * 4
    assert "with the same result" in contents[5]["error"]
    assert len(constant) == 5
    assert run.ended is not None
    assert "This run has ended" in contents[8]["error"]

    polling = Run()
    records = [await desk.executor.execute(sent("count"), run=polling) for _ in range(20)]
    assert all(record.success for record in records)
    assert (len(calls), polling.ended) == (20, None)


async def test_a_run_spends_no_more_than_it_may(desk: Desk) -> None:
    counting(desk)
    run = Run(calls=2)
    records = await desk.executor.execute_batch([sent("count", {"x": n}, str(n)) for n in range(4)], run=run)
    assert [record.success for record in records] == [True, True, False, False]
    assert records[2].result.error_code == "budget_exceeded"
    run = Run(tokens=100)
    run.spend(tokens=100)
    assert (await desk.executor.execute(sent("count"), run=run)).result.error == "This run has used up its 100 tokens"


async def test_N025_cancelling_a_batch_ends_its_calls_and_records_each(desk: Desk) -> None:
    begun, ended, never = asyncio.Event(), asyncio.Event(), []

    @desk.tool
    async def hang(n: int) -> None:
        """Hangs."""
        begun.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()

    @desk.tool(exclusive=True)
    async def later() -> None:
        """Comes later."""
        never.append(1)

    calls = [sent("hang", {"n": 1}, "a"), sent("hang", {"n": 2}, "b"), sent("later", call_id="c")]
    task = asyncio.create_task(desk.executor.execute_batch(calls))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
    assert never == []
    assert [(each["id"], each["status"]) for each in desk.executor._call_history] == [
        (name, "cancelled") for name in "abc"
    ]


async def test_N025_cancellation_reaches_a_synchronous_tool_and_its_nested_calls(desk: Desk) -> None:
    begun, told = threading.Event(), threading.Event()
    nested_ended = asyncio.Event()

    @desk.tool
    async def inner() -> None:
        """Inner."""
        begun.set()
        try:
            await asyncio.sleep(30)
        finally:
            nested_ended.set()

    @desk.tool(timeout=0.3)
    def outer(ctx: Context) -> None:
        """Outer."""
        result = ctx.call("inner")
        if ctx.cancelled and result.error_code == "cancelled" and ctx.call("inner").error_code == "cancelled":
            told.set()

    assert (await desk.call("outer")).error_code == "timeout"
    async with asyncio.timeout(2 * SLACK):
        await nested_ended.wait()
    assert await asyncio.to_thread(told.wait, 2 * SLACK)


async def test_N025_a_timeout_inside_a_tool_is_the_tools_own(desk: Desk) -> None:
    anyio = pytest.importorskip("anyio")

    @desk.tool
    async def tries() -> str:
        """Gives up waiting, in the ways of anyio and of asyncio."""
        with anyio.move_on_after(0.01):
            await anyio.sleep(30)
        async with anyio.create_task_group() as group:
            with anyio.move_on_after(0.01):
                await anyio.Event().wait()
            group.cancel_scope.cancel()
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(30)
        except TimeoutError:
            return "went on"
        return "not reached"

    assert (await desk.call("tries")).data == "went on"


async def test_an_exclusive_call_runs_alone(desk: Desk) -> None:
    running: set[str] = set()
    seen: dict[str, set[str]] = {}

    async def body(name: str) -> None:
        running.add(name)
        for other in running:
            seen.setdefault(other, set()).update(running)
        await asyncio.sleep(0.01)
        running.discard(name)

    desk.tool(name="shared", description="", parameters={"properties": {"n": {}}})(
        lambda arguments: body(arguments["n"])
    )
    desk.tool(name="alone", description="", parameters={"type": "object"}, exclusive=True)(lambda arguments: body("x"))
    names = ["1", "2", "x", "3", "4"]
    await desk.executor.execute_batch(
        [sent("alone" if n == "x" else "shared", {} if n == "x" else {"n": n}, n) for n in names]
    )
    assert seen == {"1": {"1", "2"}, "2": {"1", "2"}, "x": {"x"}, "3": {"3", "4"}, "4": {"3", "4"}}


@pytest.mark.parametrize(("concurrency", "expected"), [(None, 8), (3, 3), (1, 1)])
async def test_how_many_calls_run_at_once(desk: Desk, concurrency: int | None, expected: int) -> None:
    running, most = 0, 0

    @desk.tool(concurrency=concurrency)
    async def busy(n: int) -> None:
        """Is busy."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.005)
        running -= 1

    batch = [sent("busy", {"n": n}, str(n)) for n in range(20)]
    assert all(record.success for record in await desk.executor.execute_batch(batch))
    assert most == expected
    assert desk.executor._pipeline._slots.running("busy") == 0


async def test_11_18_the_synchronous_door_works_inside_a_running_loop(desk: Desk) -> None:
    calls = counting(desk)

    @desk.tool
    async def again() -> Any:
        """Uses the door from the inside."""
        return desk.contents("sequential", sent("count"))[0]["data"]

    assert desk.contents("sequential", sent("count"))[0]["data"] == 1
    assert desk.contents("parallel", sent("again"))[0]["data"] == 1
    assert (await desk.call("again")).data == 1
    assert len(calls) == 1


def test_the_history_is_bounded() -> None:
    desk = Desk(history=10)
    counting(desk)
    for n in range(15):
        desk.messages("sequential", sent("count", {"x": n}, str(n)))
    assert [record["id"] for record in desk.executor._call_history] == [str(n) for n in range(5, 15)]
    desk.executor.close()


def test_what_was_ignored_is_told(desk: Desk) -> None:
    counting(desk)
    (content,) = desk.contents("sequential", sent("count", {"x": 1, "color": "red"}))
    assert (content["data"], content["ignored_arguments"]) == (1, ["color"])


def test_one_executor_serves_many_threads(desk: Desk) -> None:
    calls = counting(desk)

    def turn(index: int) -> list[Any]:
        batch = [sent("count", {"x": n}, f"{index}.{n}") for n in range(20)]
        return [each["tool_call_id"] for each in desk.messages(PATHS[index % 2], *batch)]

    with ThreadPoolExecutor(8) as pool:
        for index, ids in enumerate(pool.map(turn, range(16))):
            assert ids == [f"{index}.{n}" for n in range(20)]
    assert sorted(calls) == list(range(20))
    assert len(desk.executor._call_history) == 16 * 20


def test_an_executor_that_is_gone_leaves_no_thread() -> None:
    desk = Desk()
    counting(desk)
    desk.messages("parallel", *(sent("count", {"x": n}, str(n)) for n in range(8)))
    runner, loop_thread = desk.executor._runner, desk.executor._door._thread
    assert runner is not None
    assert loop_thread is not None
    pool = runner.pool
    del desk, runner
    gc.collect()
    loop_thread.join(5 * SLACK)
    assert not loop_thread.is_alive()
    until = time.monotonic() + 5 * SLACK
    while pool._threads and time.monotonic() < until:
        time.sleep(0.01)
    assert pool._threads == 0


async def test_a_call_waits_for_an_identical_one_no_longer_than_it_may(desk: Desk) -> None:
    @desk.tool(cache=True)
    async def slow() -> None:
        """Slow."""
        await asyncio.sleep(30)

    pipeline = desk.executor._pipeline
    first = asyncio.create_task(pipeline.run("slow", {}, timeout=20))
    await asyncio.sleep(0)
    async with asyncio.timeout(2 * SLACK):
        assert (await pipeline.run("slow", {}, timeout=0.05)).error_code == "timeout"
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)


async def test_the_facts_of_a_tool_must_make_sense(desk: Desk) -> None:
    for facts in ({"concurrency": 0}, {"max_depth": "deep"}):
        with pytest.raises(DefinitionError):
            counting(desk, **facts)
