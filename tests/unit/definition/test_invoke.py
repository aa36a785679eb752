"""The one way to call a handler, and the synchronous door (contract N006, N025)."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from toolcrib.definition.context import Context
from toolcrib.definition.decorator import define
from toolcrib.definition.deployment import Deployment
from toolcrib.definition.invoke import bind, call_handler, invoke, is_sync
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import InvalidParamsError, NotRunningError
from toolcrib.registry.registry import ToolRegistry


def double(x: int) -> int:
    """Doubles."""
    return 2 * x


async def double_later(x: int) -> int:
    await asyncio.sleep(0)
    return 2 * x


def count(x: int) -> Iterator[int]:
    yield from range(x)


async def count_later(x: int) -> AsyncIterator[int]:
    for number in range(x):
        yield number


@functools.wraps(double_later)
def wrapped(*args: Any, **kwargs: Any) -> Any:
    return double_later(*args, **kwargs)


class Later:
    async def __call__(self, x: int) -> int:
        return 2 * x


KINDS = [
    (double, True, 6), (double_later, False, 6), (count, True, [0, 1, 2]), (count_later, False, [0, 1, 2]),
    (wrapped, True, 6), (functools.partial(double_later), False, 6), (Later(), False, 6),
]  # fmt: skip


@pytest.mark.parametrize(("function", "sync", "data"), KINDS)
def test_N006_every_kind_of_function_gives_its_result_from_synchronous_code(
    function: Any, sync: bool, data: Any
) -> None:
    tool = define(function)

    assert is_sync(tool) is sync
    assert invoke(tool, {"x": 3}).data == data


@pytest.mark.parametrize(("function", "sync", "data"), KINDS)
async def test_N006_and_inside_a_running_event_loop(function: Any, sync: bool, data: Any) -> None:
    tool = define(function)

    assert invoke(tool, {"x": 3}).data == data
    assert await call_handler(tool, {"x": 3}) == data
    assert await call_handler(tool, {"x": 3}, in_thread=asyncio.to_thread) == data


async def test_N006_a_synchronous_handler_runs_in_the_thread_it_is_given() -> None:
    def where() -> Iterator[str]:
        yield threading.current_thread().name

    tool = define(where)

    assert await call_handler(tool, {}, in_thread=asyncio.to_thread) != [threading.current_thread().name]
    assert await call_handler(tool, {}) == [threading.current_thread().name]


VARIABLE: ContextVar[str] = ContextVar("variable")


async def test_N006_context_variables_reach_a_handler_that_gets_a_loop_of_its_own() -> None:
    async def who() -> str:
        return VARIABLE.get()

    VARIABLE.set("me")

    assert invoke(define(who), {}).data == "me"


def test_N006_a_handler_of_one_dict_gets_its_own_copy() -> None:
    sent = {"a": 1}

    def handler(arguments: dict[str, Any]) -> int:
        return arguments.pop("a")  # type: ignore[no-any-return]

    tool = ToolDefinition("t", "", {}, handler)

    assert (invoke(tool, sent).data, sent) == (1, {"a": 1})


class Nameless(Exception):
    def __str__(self) -> str:
        raise ValueError


class Halt(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ValueError("no city"), "ValueError: no city"), (SystemExit(2), "exit 2"), (Halt("x"), "Halt"),
        (Nameless(), "Nameless"), (asyncio.CancelledError(), "CancelledError"), (RecursionError(), "RecursionError"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sync", [True, False])
def test_N025_no_exception_of_a_tool_escapes(error: BaseException, says: str, sync: bool) -> None:
    def fail() -> None:
        raise error

    async def fail_later() -> None:
        raise error

    result = invoke(define(fail if sync else fail_later), {})

    assert result.success is False
    assert says in str(result.error)


def test_N025_the_person_at_the_keyboard_is_heard() -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        invoke(define(fail), {})


def test_N006_a_view_of_a_result_is_never_nested() -> None:
    assert invoke(define(lambda: {"success": False, "error": "no"}, name="t"), {}) == ToolResult.fail("no")
    assert invoke(define(lambda: ToolResult.ok(3), name="t"), {}).data == 3


def test_N006_the_registrys_door_validates_and_never_raises() -> None:
    registry = ToolRegistry()
    registry.register(define(double))

    assert registry.execute("double", {"x": "4"}) == {"success": True, "data": 8, "error": None}
    assert registry.execute("double", {}) == {
        "success": False, "data": None, "error": "x: expected integer, got nothing (it is required)",
    }  # fmt: skip


async def test_N006_a_tool_that_lives_elsewhere_says_who_runs_it() -> None:
    tool = ToolDefinition("far", "", {}, deployment=Deployment("local"))

    assert "outside this process" in str(invoke(tool, {}).error)
    with pytest.raises(NotRunningError):
        await call_handler(tool, {})


async def test_N006_arguments_are_validated_again_where_the_handler_is_called() -> None:
    with pytest.raises(InvalidParamsError):
        await call_handler(define(double), {"x": "two"})
    assert bind(define(double), {"x": 2}, Context()) == ((), {"x": 2})


def test_N006_many_threads_may_make_the_first_call() -> None:
    for _ in range(20):
        tool = define(double)
        results: list[Any] = []
        threads = [
            threading.Thread(target=lambda t=tool, r=results: r.append(invoke(t, {"x": 1}).data)) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [2] * 8
