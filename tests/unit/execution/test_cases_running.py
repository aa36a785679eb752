"""Scenarios of ``tests/cases/execution.jsonl``: the event loop, deadlines and exceptions."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
import threading
import time
from contextvars import ContextVar
from typing import Any

import pytest

from tests.unit.execution.executing import PATHS, SLACK, Desk, sent
from toolcrib import Context, ToolResultStatus
from toolcrib.execution.executor import Progress
from toolcrib.execution.record import CallRecord


async def test_C031_synchronous_tools_do_not_hold_up_the_loop(desk: Desk) -> None:
    @desk.tool
    def nap(n: int) -> int:
        """Naps."""
        time.sleep(0.5)
        return n

    gaps: list[float] = []

    async def tick() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            gaps.append(time.monotonic() - before)

    ticking = asyncio.create_task(tick())
    started = time.monotonic()
    results = await asyncio.gather(*(desk.call("nap", {"n": n}) for n in range(3)))
    took = time.monotonic() - started
    ticking.cancel()
    assert [result.data for result in results] == [0, 1, 2]
    assert took < 0.9 * SLACK
    assert max(gaps) < 0.1 * SLACK


V: ContextVar[str] = ContextVar("v", default="nobody")


async def test_C033_context_variables_reach_the_thread_and_do_not_mix(desk: Desk) -> None:
    both = threading.Barrier(2)

    @desk.tool(cache=False)
    def who() -> str:
        """Who."""
        both.wait(10)
        return V.get()

    async def as_user(name: str) -> Any:
        V.set(name)
        return (await desk.call("who")).data

    assert await asyncio.gather(*(asyncio.create_task(as_user(name)) for name in ("u1", "u2"))) == ["u1", "u2"]


def test_C033_context_variables_pass_the_synchronous_door(desk: Desk) -> None:
    @desk.tool
    def who() -> str:
        """Who."""
        return V.get()

    token = V.set("somebody")
    try:
        assert desk.contents("sequential", sent("who"))[0]["data"] == "somebody"
    finally:
        V.reset(token)


async def test_C035_a_tool_may_ask_for_the_loops_thread(desk: Desk) -> None:
    @desk.tool(run_in_thread=False)
    def gui() -> str:
        """Runs where the loop does."""
        return threading.current_thread().name

    assert (await desk.call("gui")).data == threading.current_thread().name


@pytest.mark.parametrize("path", PATHS)
def test_C037_nested_calls_have_slots_of_their_own(path: str) -> None:
    desk = Desk(threads=1)

    @desk.tool(max_depth=3, concurrency=2)
    def sub_agent(n: int, ctx: Context, branch: int = 0) -> Any:
        """Calls itself."""
        return ctx.call("sub_agent", {"n": n - 1, "branch": branch}) if n else "done"

    calls = [sent("sub_agent", {"n": 2, "branch": branch}, str(branch)) for branch in range(4)]
    started = time.monotonic()
    assert [each["data"] for each in desk.contents(path, *calls)] == ["done"] * 4
    assert time.monotonic() - started < 5 * SLACK
    too_deep = desk.contents(path, sent("sub_agent", {"n": 3, "branch": 9}))[0]
    assert "recursion" in too_deep["error"]
    desk.executor.close()


async def test_C040_hung_tools_do_not_hold_up_others() -> None:
    desk = Desk(threads=3)
    release = threading.Event()

    @desk.tool(timeout=0.3)
    def stuck(n: int) -> None:
        """Is stuck."""
        release.wait(30)

    @desk.tool
    def fast() -> str:
        """Is fast."""
        return "done"

    calls = [sent("stuck", {"n": n}, str(n)) for n in range(5)]
    records = await desk.executor.execute_batch(calls)
    assert {record.result.status for record in records} == {ToolResultStatus.TIMEOUT}
    started = time.monotonic()
    assert (await desk.call("fast")).data == "done"
    assert time.monotonic() - started < 1 * SLACK
    release.set()
    desk.executor.close()


async def test_C042_a_tool_that_takes_no_notice_of_its_cancellation(desk: Desk, caplog: Any) -> None:
    @desk.tool(timeout=0.2)
    async def deaf() -> None:
        """Is deaf."""
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(1)

    started = time.monotonic()
    with caplog.at_level(logging.WARNING, "toolcrib.execution"):
        result = await desk.call("deaf")
    assert time.monotonic() - started < 1 * SLACK
    assert result.status is ToolResultStatus.TIMEOUT
    assert result.error == "Tool 'deaf' did not answer within 0.2 s"
    assert "deaf" in caplog.text


async def test_C042_nor_where_it_waits_for_a_task_that_takes_none(desk: Desk) -> None:
    stop = asyncio.Event()

    async def deaf() -> None:
        while not stop.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await stop.wait()

    tasks: list[asyncio.Task[None]] = []

    @desk.tool(timeout=0.1)
    async def waits() -> None:
        """Waits."""
        tasks.append(asyncio.create_task(deaf()))
        await tasks[0]

    async with asyncio.timeout(1 * SLACK):
        assert (await desk.call("waits")).status is ToolResultStatus.TIMEOUT
    stop.set()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_timeout_inside_of_a_tool_is_the_tools_own_affair(desk: Desk) -> None:
    @desk.tool(timeout=20)
    async def patient() -> str:
        """Tries and goes on."""
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(10)
        except TimeoutError:
            await asyncio.sleep(0.01)
            return "went on"
        return "never"

    assert (await desk.call("patient")).data == "went on"


@pytest.mark.parametrize("path", PATHS)
def test_C044_a_cancellation_from_inside_is_a_failure(desk: Desk, path: str) -> None:
    @desk.tool
    async def c() -> None:
        """Cancels."""
        raise asyncio.CancelledError

    @desk.tool
    def ok() -> int:
        """Works."""
        return 1

    first, second = desk.contents(path, sent("c", call_id="a"), sent("ok", call_id="b"))
    assert "CancelledError" in first["error"]
    assert second["data"] == 1


class HaltError(BaseException):
    """No `Exception`."""


class BadError(Exception):
    """Cannot even say its text."""

    def __str__(self) -> str:
        raise ValueError("no")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize(("case", "text"), [("C046", "exit 2"), ("C048", "HaltError: x"), ("C050", "BadError")])
def test_C046_C048_C050_whatever_is_raised_is_a_result(desk: Desk, case: str, text: str, kind: str, path: str) -> None:
    def fail() -> None:
        """Fails."""
        if case == "C046":
            sys.exit(2)
        raise HaltError("x") if case == "C048" else BadError

    async def fail_later() -> None:
        """Fails later."""
        await asyncio.sleep(0)
        fail()

    desk.tool(name="fails")(fail if kind == "sync" else fail_later)

    @desk.tool
    def ok() -> int:
        """Works."""
        return 1

    first, second = desk.contents(path, sent("fails", call_id="a"), sent("ok", call_id="b"))
    assert text in first["error"]
    assert (first["success"], second["data"]) == (False, 1)


@pytest.mark.parametrize("path", PATHS)
def test_C052_messages_have_the_order_of_the_calls(desk: Desk, path: str) -> None:
    @desk.tool
    def a() -> str:
        """Slow."""
        time.sleep(0.3)
        return "a"

    @desk.tool
    def b() -> str:
        """Raises."""
        raise ValueError("b")

    @desk.tool
    async def c() -> str:
        """Faster."""
        await asyncio.sleep(0.1)
        return "c"

    messages = desk.messages(path, *(sent(name, call_id=name) for name in "abc"))
    assert [each["tool_call_id"] for each in messages] == ["a", "b", "c"]
    assert [json.loads(each["content"])["success"] for each in messages] == [True, False, True]


async def test_C052_records_are_streamed_as_they_are_finished(desk: Desk) -> None:
    @desk.tool
    async def sleeps(seconds: float, ctx: Context) -> float:
        """Sleeps."""
        ctx.progress(0, 1, "asleep")
        await asyncio.sleep(seconds)
        return seconds

    calls = [sent("sleeps", {"seconds": seconds}, str(seconds)) for seconds in (0.3, 0.0, 0.1)]
    events = [event async for event in desk.executor.stream(calls)]
    assert [event.id for event in events if isinstance(event, CallRecord)] == ["0.0", "0.1", "0.3"]
    assert [(event.done, event.total, event.message) for event in events if isinstance(event, Progress)] == [
        (0, 1, "asleep")
    ] * 3
