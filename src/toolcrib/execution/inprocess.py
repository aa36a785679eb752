"""Runs the tools that live in this process."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from toolcrib.definition.call import Deadline, ToolCall
from toolcrib.definition.injection import injections
from toolcrib.definition.invoke import bind, collected, failure, is_sync, settled
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import NotRunningError
from toolcrib.execution.threads import ThreadPool

_PLAIN = frozenset((dict, list, str, int, float, bool, type(None), ToolResult))


@dataclass(frozen=True, slots=True)
class _Plan:
    """How one tool is called, found out once."""

    tool: ToolDefinition
    handler: Callable[..., Any]
    in_thread: bool
    by_name: bool
    by_dict: bool


class InProcessRunner:
    """Runs asynchronous handlers on the event loop and synchronous ones in a pool of threads.

    Whatever a handler raises, `SystemExit` included, becomes the result of its call (contract N025); only the
    cancellation of the call itself passes through. The deadline is the pipeline's.

    Args:
        threads: synchronous calls that may run at once.
    """

    def __init__(self, threads: int = 32) -> None:
        self.pool = ThreadPool(threads)
        self._plans: dict[str, _Plan] = {}

    async def run(self, call: ToolCall, deadline: Deadline) -> ToolResult:
        """Run one call and return its one result."""
        begun = self.begin(call)
        return begun if type(begun) is ToolResult else await begun  # type: ignore[misc]

    def begin(self, call: ToolCall) -> ToolResult | Coroutine[Any, Any, ToolResult]:
        """Begin one call: its result, where there is nothing to wait for, else what to await for it."""
        try:
            tool = call.tool
            plan = self._plans.get(tool.name)
            if plan is None or plan.tool is not tool or plan.handler is not tool.handler:
                plan = self._plan(tool)
            values = call.values
            if values is not None and not plan.in_thread:
                if plan.by_name:
                    return _result(plan.handler(**values))
                if plan.by_dict:
                    return _result(plan.handler(values))
            positional, keywords = bind(tool, call.arguments, call.context, values)
            handler = plan.handler
            if plan.in_thread:
                return _finish(self.pool.run(lambda: collected(handler(*positional, **keywords))))
            return _result(handler(*positional, **keywords))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return failure(error)

    def _plan(self, tool: ToolDefinition) -> _Plan:
        if tool.handler is None:
            raise NotRunningError(f"The tool {tool.name} has no handler in this process")
        is_plain = not tool.requires and not injections(tool)
        signature = tool.signature
        takes_names = signature is not None and signature.takes_names
        plan = self._plans[tool.name] = _Plan(
            tool,
            tool.handler,
            tool.run_in_thread and is_sync(tool),
            is_plain and takes_names,
            is_plain and signature is None,
        )
        return plan

    def close(self) -> None:
        """Let the threads end."""
        self.pool.close()


def _result(value: Any) -> ToolResult | Coroutine[Any, Any, ToolResult]:
    kind = type(value)
    if kind in _PLAIN:
        return ToolResult.of(value)
    if kind is types.CoroutineType:
        return _finish(value)
    return _finish(settled(collected(value)))


async def _finish(waiting: Coroutine[Any, Any, Any]) -> ToolResult:
    """The result of a call that is under way."""
    try:
        value = await waiting
        return ToolResult.of(value if type(value) in _PLAIN else await settled(value))
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return failure(error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return failure(error)
