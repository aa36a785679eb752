"""Scenarios of ``tests/cases/execution.jsonl``: what makes two calls the same, and what is remembered."""

from __future__ import annotations

import asyncio
import io
from typing import Annotated, Any

import pytest

from tests.unit.execution.executing import PATHS, SLACK, Desk, sent
from toolcrib import Context, Injected


def looking(desk: Desk) -> list[Any]:
    """A tool ``look`` that is cached, and what it was called with."""
    calls: list[Any] = []

    @desk.tool(cache=True)
    def look(a: Any = None, b: Any = None, limit: int = 10) -> dict[str, Any]:
        """Looks."""
        calls.append((a, b, limit))
        return {"a": a}

    return calls


@pytest.mark.parametrize(
    ("first", "second", "executions"),
    [
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, 1, id="C001 order of members"),
        pytest.param({"a": [1, 2]}, {"a": [2, 1]}, 2, id="C003 order of items"),
        pytest.param({"a": 1}, {"a": 1, "limit": 10}, 1, id="a default that is sent"),
        pytest.param({"a": 1}, {"a": 1, "b": None}, 1, id="a default of null that is sent"),
        pytest.param({"a": 1}, {"a": 1.0}, 2, id="an integer and a number, where anything goes"),
        pytest.param({"a": 1}, {"a": True}, 2, id="an integer and a boolean"),
        pytest.param({"a": 1}, {"a": "1"}, 2, id="an integer and text"),
        pytest.param({"a": {}}, {"a": []}, 2, id="empty object and empty list"),
        pytest.param({"a": None}, {"a": "null"}, 2, id="null and its name"),
        pytest.param({"a": 'x","b":"y'}, {"a": "x", "b": "y"}, 2, id="text that looks like a separator"),
        pytest.param({"a": {"x": {"p": 1, "q": 2}}}, {"a": {"x": {"q": 2, "p": 1}}}, 1, id="order of nested members"),
        pytest.param({"a": 0.0}, {"a": -0.0}, 2, id="zero and minus zero"),
        pytest.param({"a": 2**53}, {"a": 2**53 + 1}, 2, id="integers that a float cannot tell apart"),
    ],
)
async def test_C001_C003_what_is_one_call_and_what_two(desk: Desk, first: Any, second: Any, executions: int) -> None:
    calls = looking(desk)
    await desk.call("look", first)
    await desk.call("look", second)
    assert len(calls) == executions


async def test_C005_the_key_of_typed_arguments_is_made_after_validation(desk: Desk) -> None:
    calls = []

    @desk.tool(cache=True)
    def f(x: float, on: bool = False) -> float:
        """F."""
        calls.append(1)
        return x

    for arguments in ({"x": 1}, {"x": 1.0}, {"x": "1", "on": "false"}):
        assert (await desk.call("f", arguments)).data == 1.0
    assert len(calls) == 1


async def test_C007_text_is_not_normalised(desk: Desk) -> None:
    calls = looking(desk)
    for text in ("caf\u00e9", "cafe\u0301", "CAF\u00c9"):
        await desk.call("look", {"a": text})
    assert len(calls) == 3


@pytest.mark.parametrize("value", [{float("nan"): 1}, object(), io.StringIO("x"), float("nan")], ids=type)
async def test_C009_what_cannot_be_in_a_key_is_neither_remembered_nor_skipped(desk: Desk, value: Any) -> None:
    calls = []

    @desk.tool(cache=True)
    def f(d: Any) -> int:
        """F."""
        calls.append(d)
        return len(calls)

    assert (await desk.call("f", {"d": value})).data == 1
    assert (await desk.call("f", {"d": value})).data == 2
    batch = [{"id": name, "function": {"name": "f", "arguments": {"d": value}}} for name in "ab"]
    assert [record.skipped for record in await desk.executor.execute_batch(batch)] == [False, False]
    assert len(calls) == 4


async def test_C011_results_of_the_old_tool_are_not_those_of_the_new(desk: Desk) -> None:
    def version(number: int) -> Any:
        def f(a: int) -> int:
            """F."""
            return number

        return f

    desk.tool(cache=True)(version(1))
    assert (await desk.call("f", {"a": 1})).data == 1
    from toolcrib.definition.decorator import define

    desk.registry.register(define(version(2), cache=True), replace=True)
    assert (await desk.call("f", {"a": 1})).data == 2


async def test_C013_injected_values_count(desk: Desk) -> None:
    calls = []

    @desk.tool(cache=True)
    def file_read(path: str, project_id: Annotated[str, Injected]) -> str:
        """Reads."""
        calls.append(project_id)
        return project_id

    for project in ("p1", "p2", "p1"):
        assert (await desk.call("file_read", {"path": "a"}, Context(project_id=project))).data == project
    assert calls == ["p1", "p2"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param({"groups": ["acme", "globex"]}, {"groups": ["acme,globex"]}, id="C015 groups"),
        pytest.param({"user_id": "u1"}, {"user_id": "u2"}, id="users"),
        pytest.param({"user_id": "p"}, {"project_id": "p"}, id="user and project of one name"),
        pytest.param({}, {"user_id": ""}, id="nobody and an empty name"),
    ],
)
async def test_C015_each_scope_has_its_own_results(desk: Desk, one: Any, other: Any) -> None:
    calls = looking(desk)
    await desk.call("look", {"a": 1}, Context.of(one))
    await desk.call("look", {"a": 1}, Context.of(other))
    assert len(calls) == 2


async def test_C016_a_failure_is_not_remembered(desk: Desk) -> None:
    n = 0

    @desk.tool(cache=True)
    def flaky() -> int:
        """Flaky."""
        nonlocal n
        n += 1
        if n == 1:
            raise OSError("busy")
        return n

    first, second = await desk.call("flaky"), await desk.call("flaky")
    assert (first.error, second.data) == ("OSError: busy", 2)


@pytest.mark.parametrize("path", PATHS)
def test_C018_a_writing_tool_runs_again_in_the_next_turn(desk: Desk, path: str) -> None:
    rows: list[str] = []

    @desk.tool(effects="write")
    def append_row(text: str) -> int:
        """Appends."""
        rows.append(text)
        return len(rows)

    turns = [desk.contents(path, sent("append_row", {"text": "x"}))[0]["data"] for _ in range(2)]
    assert turns == [1, 2]


@pytest.mark.parametrize("path", PATHS)
def test_C020_a_refusal_is_not_replayed_once_it_no_longer_holds(desk: Desk, path: str) -> None:
    was_read = False

    @desk.tool
    def file_write(name: str) -> dict[str, Any]:
        """Writes."""
        return {"success": True, "data": "written"} if was_read else {"success": False, "error": "read first"}

    @desk.tool
    def file_read(name: str) -> str:
        """Reads."""
        nonlocal was_read
        was_read = True
        return "content"

    steps = [desk.contents(path, sent(name, {"name": "n"}))[0] for name in ("file_write", "file_read", "file_write")]
    assert [(each["error"], each["data"]) for each in steps] == [
        ("read first", None),
        (None, "content"),
        (None, "written"),
    ]


@pytest.mark.parametrize("path", PATHS)
def test_C022_identical_writes_in_one_response_run_once_and_each_is_answered(desk: Desk, path: str) -> None:
    created: list[str] = []

    @desk.tool(effects="write")
    def create_issue(title: str) -> dict[str, Any]:
        """Creates."""
        created.append(title)
        return {"number": len(created)}

    calls = [sent("create_issue", {"title": "t"}, name) for name in ("c1", "c2")]
    first, second = desk.messages(path, *calls)
    assert created == ["t"]
    assert (first["tool_call_id"], second["tool_call_id"]) == ("c1", "c2")
    content = desk.executor._call_history[1]
    assert (content["skipped"], content["duplicate_of"], content["success"]) == (True, "c1", True)
    for part in ("Duplicate of c1: not executed again", '"data": {"number": 1}', '"skipped": true'):
        assert part in second["content"]


async def test_C024_the_cache_is_bounded_by_bytes(desk: Desk) -> None:
    calls = []

    @desk.tool(cache=True)
    def big(n: int, size: int) -> str:
        """Big."""
        calls.append(n)
        return "x" * size

    for n in range(20):
        await desk.call("big", {"n": n, "size": 50_000_000 if n < 2 else 5_000_000})
    cache = desk.executor._pipeline.cache
    assert cache is not None
    assert cache.size <= 64 * 1024 * 1024
    assert sum(entry.size for entry in cache.entries.values()) == cache.size
    await desk.call("big", {"n": 19, "size": 5_000_000})
    assert calls == list(range(20))


async def test_C024_the_cache_is_bounded_by_entries(desk: Desk) -> None:
    looking(desk)
    for n in range(1100):
        await desk.call("look", {"a": n})
    assert len(desk.executor._cache) == 1024


@pytest.mark.parametrize("path", PATHS)
def test_C026_what_a_tool_does_to_its_arguments_shows_nowhere_else(desk: Desk, path: str) -> None:
    eaten = []

    @desk.tool
    def eat(d: dict[str, int]) -> str:
        """Eats."""
        eaten.append(dict(d))
        d.clear()
        return "ok"

    arguments = {"d": {"k": 1}}
    call = {"id": "a", "function": {"name": "eat", "arguments": arguments}}
    desk.messages(path, call)
    desk.messages(path, call)
    assert arguments == {"d": {"k": 1}}
    assert eaten == [{"k": 1}]
    assert [each["function"]["arguments"] for each in desk.executor._call_history] == ['{"d": {"k": 1}}'] * 2


async def test_C026_what_a_caller_does_to_a_result_is_not_remembered(desk: Desk) -> None:
    @desk.tool(cache=True)
    def listed() -> list[int]:
        """Lists."""
        return [1]

    for _ in range(3):
        result = await desk.call("listed")
        assert result.data == [1]
        result.data.append(2)


async def test_C028_ten_at_once_run_once(desk: Desk) -> None:
    runs = []
    release = asyncio.Event()

    @desk.tool(cache=True)
    async def slow(q: str) -> dict[str, str]:
        """Slow."""
        runs.append(q)
        await release.wait()
        return {"q": q}

    tasks = [asyncio.create_task(desk.call("slow", {"q": "x"})) for _ in range(10)]
    for _ in range(5):
        await asyncio.sleep(0)
    release.set()
    results = await asyncio.gather(*tasks)
    assert len(runs) == 1
    assert [result.data for result in results] == [{"q": "x"}] * 10
    assert len({id(result.data) for result in results}) == 10


async def test_C028_where_the_first_is_cancelled_another_runs(desk: Desk) -> None:
    runs = []

    @desk.tool(cache=True)
    async def slow() -> int:
        """Slow."""
        runs.append(1)
        await asyncio.sleep(30 if len(runs) == 1 else 0)
        return len(runs)

    tasks = [asyncio.create_task(desk.call("slow")) for _ in range(4)]
    await asyncio.sleep(0.01)
    tasks[0].cancel()
    async with asyncio.timeout(5 * SLACK):
        assert [result.data for result in await asyncio.gather(*tasks[1:])] == [2, 2, 2]
    assert tasks[0].cancelled()


async def test_C030_a_call_does_not_wait_for_itself(desk: Desk) -> None:
    @desk.tool(cache=True)
    def loop(n: int, ctx: Context) -> Any:
        """Loops."""
        return ctx.call("loop", {"n": n})

    @desk.tool(cache=True)
    async def ring(n: int, ctx: Context) -> Any:
        """Loops by way of another."""
        return await ctx.call("loop", {"n": n})

    for name in ("loop", "ring"):
        async with asyncio.timeout(2 * SLACK):
            result = await desk.call(name, {"n": 1})
        assert "recursion" in str(result.error)
