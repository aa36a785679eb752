"""Calls that tools make: who called whom, how deep, and what happens to them when the caller is given up."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextvars import ContextVar
from typing import Any

from toolcrib.definition.call import ToolCall
from toolcrib.definition.result import ToolResult
from toolcrib.errors import CallError
from toolcrib.execution.threads import lending

MOST_DEPTH = 16
"""Calls in one chain, whatever the tools say."""


class RecursionLimitError(CallError):
    """A tool called itself, directly or by way of others, without an end."""

    code = "recursion"
    mender = "caller"


current_call: ContextVar[ToolCall | None] = ContextVar("toolcrib_call", default=None)


def check_depth(call: ToolCall, parent: ToolCall) -> None:
    """See that a call made by a tool does not go round in circles.

    Raises:
        RecursionLimitError: it would wait for itself, or the chain is too long.
    """
    name = call.tool.name
    depth = sum(1 for _ in parent.chain())
    of_this_tool = [each for each in parent.chain() if each.tool is call.tool]
    if call.key is not None and any(each.key == call.key for each in of_this_tool):
        raise RecursionLimitError(
            f"Tool '{name}' called itself with the same arguments (recursion)",
            hint="It would wait for its own result; change the arguments or answer directly.",
        )
    most = call.tool.max_depth or MOST_DEPTH
    if len(of_this_tool) >= most or depth >= max(most, MOST_DEPTH):
        raise RecursionLimitError(
            f"Tool '{name}' called itself {most} levels deep (recursion)", hint="It may have max_depth= of its own."
        )


def given_up() -> ToolResult:
    """The result of a call whose caller is not waited for any more."""
    return ToolResult.fail("Not run: the call that asked for it was given up", code="cancelled")


class RunningTool:
    """What `Context` offers to one running call.

    Args:
        call: the call.
        carry_out: runs a call of another tool for the same caller.
    """

    __slots__ = ("_call", "_carry_out", "_context", "_loop", "_nested")

    def __init__(self, call: ToolCall, carry_out: Callable[..., Awaitable[ToolResult]]) -> None:
        self._call = call
        self._context = call.context
        self._carry_out = carry_out
        self._loop = asyncio.get_running_loop()
        self._nested: set[concurrent.futures.Future[ToolResult]] = set()

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the call any more."""
        return self._call.ended

    def call(self, name: str, arguments: Mapping[str, Any], timeout: float | None) -> Any:
        """Call another tool: the result on a thread, an awaitable of it on an event loop."""
        coroutine = self._run(name, arguments, timeout)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._wait_for(coroutine)
        return coroutine

    def progress(self, done: float | None, total: float | None, message: str | None) -> None:
        """Tell whoever follows the call."""
        if self._call.on_progress is not None and not self._call.ended:
            self._call.on_progress(done, total, message)

    def end(self) -> None:
        """Nobody waits for the call any more; what it waits for itself is cancelled."""
        for future in list(self._nested):
            future.cancel()

    async def _run(self, name: str, arguments: Mapping[str, Any], timeout: float | None) -> ToolResult:
        if self._call.ended:
            return given_up()
        return await self._carry_out(name, arguments, context=self._context, timeout=timeout)

    def _wait_for(self, coroutine: Coroutine[Any, Any, ToolResult]) -> ToolResult:
        """Run a call on the loop of this one and wait for it, on a thread of a synchronous tool."""
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:  # the loop has ended
            coroutine.close()
            return given_up()
        self._nested.add(future)
        try:
            if self._call.ended:
                future.cancel()
            with lending():
                return future.result()
        except concurrent.futures.CancelledError:
            return given_up()
        finally:
            self._nested.discard(future)
