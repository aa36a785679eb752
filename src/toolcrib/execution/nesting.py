"""Calls that tools make: who called whom, how deep, and what happens to them when the caller is given up."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from toolcrib.definition.call import ToolCall
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import CallError
from toolcrib.execution.threads import lending

MOST_DEPTH = 16
"""Calls in one chain, whatever the tools say."""

NestedCall = Callable[[str, Mapping[str, Any], float | None], Any]


class RecursionLimitError(CallError):
    """A tool called itself, directly or by way of others, without an end."""

    code = "recursion"
    mender = "caller"


class Frame:
    """One running call in its chain of callers.

    Attributes:
        tool, key: of the call.
        parent: the call that made it; None = it was not made by a tool.
        depth: 1 for the first of a chain.
        ended: whether nobody waits for it any more.
        holds_slot: whether it counts against the tool's ``concurrency``.
    """

    __slots__ = ("_nested", "depth", "ended", "holds_slot", "key", "parent", "tool")

    def __init__(self, tool: ToolDefinition, key: str | None, parent: Frame | None) -> None:
        self.tool = tool
        self.key = key
        self.parent: Frame | None = parent
        self.depth: int = 1 if parent is None else parent.depth + 1
        self.ended = False
        self.holds_slot = False
        self._nested: set[concurrent.futures.Future[ToolResult]] | None = None

    def chain(self) -> Iterator[Frame]:
        """This call, its caller, the caller's caller …"""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.parent

    def end(self) -> None:
        """Nobody waits for it any more; what it waits for itself is cancelled."""
        self.ended = True
        for future in list(self._nested or ()):
            future.cancel()

    def wait_for(self, coroutine: Any, loop: asyncio.AbstractEventLoop) -> ToolResult:
        """Run a call on ``loop`` and wait for it, on a thread of a synchronous tool."""
        if self._nested is None:
            self._nested = set()
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        except RuntimeError:
            coroutine.close()
            return given_up()
        self._nested.add(future)
        try:
            if self.ended:
                future.cancel()
            with lending():
                result: ToolResult = future.result()
            return result
        except concurrent.futures.CancelledError:
            return given_up()
        finally:
            self._nested.discard(future)


current_frame: ContextVar[Frame | None] = ContextVar("toolcrib_frame", default=None)


def check_depth(call: ToolCall, parent: Frame) -> None:
    """See that a call made by a tool does not go round in circles.

    Raises:
        RecursionLimitError: it would wait for itself, or the chain is too long.
    """
    name = call.tool.name
    of_this_tool = [frame for frame in parent.chain() if frame.tool is call.tool]
    if call.key is not None and any(frame.key == call.key for frame in of_this_tool):
        raise RecursionLimitError(
            f"Tool '{name}' called itself with the same arguments (recursion)",
            hint="It would wait for its own result; change the arguments or answer directly.",
        )
    most = call.tool.max_depth or MOST_DEPTH
    if len(of_this_tool) >= most or parent.depth >= max(most, MOST_DEPTH):
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
        frame: its place in the chain.
        carry_out: runs a call of another tool for the same caller.
    """

    __slots__ = ("_call", "_carry_out", "_frame", "_loop")

    def __init__(self, call: ToolCall, frame: Frame, carry_out: Callable[..., Awaitable[ToolResult]]) -> None:
        self._call = call
        self._frame = frame
        self._carry_out = carry_out
        self._loop = asyncio.get_running_loop()

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the call any more."""
        return self._frame.ended

    def call(self, name: str, arguments: Mapping[str, Any], timeout: float | None) -> Any:
        """Call another tool: the result on a thread, an awaitable of it on an event loop."""
        coroutine = self._nested(name, arguments, timeout)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._frame.wait_for(coroutine, self._loop)
        return coroutine

    async def _nested(self, name: str, arguments: Mapping[str, Any], timeout: float | None) -> ToolResult:
        if self._frame.ended:
            return given_up()
        return await self._carry_out(name, arguments, context=self._call.context, timeout=timeout)

    def progress(self, done: float | None, total: float | None, message: str | None) -> None:
        """Tell whoever follows the call."""
        if self._call.on_progress is not None and not self._frame.ended:
            self._call.on_progress(done, total, message)
