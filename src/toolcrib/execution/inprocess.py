"""Runs the tools that live in this process."""

from __future__ import annotations

import asyncio
from typing import Any

from toolcrib.definition.call import Deadline, ToolCall
from toolcrib.definition.invoke import bind, collected, failure, is_sync, settled
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import NotRunningError
from toolcrib.execution.threads import ThreadPool

_PLAIN = frozenset((dict, list, str, int, float, bool, type(None), ToolResult))


class InProcessRunner:
    """Runs asynchronous handlers on the event loop and synchronous ones in a pool of threads.

    Whatever a handler raises, `SystemExit` included, becomes the result of its call (contract N025); only the
    cancellation of the call itself passes through. The deadline is the pipeline's.

    Args:
        threads: synchronous calls that may run at once.
    """

    def __init__(self, threads: int = 32) -> None:
        self.pool = ThreadPool(threads)
        self._in_thread: dict[str, tuple[ToolDefinition, Any, bool]] = {}

    async def run(self, call: ToolCall, deadline: Deadline) -> ToolResult:
        """Run one call and return its one result."""
        try:
            tool = call.tool
            handler = tool.handler
            if handler is None:
                raise NotRunningError(f"The tool {tool.name} has no handler in this process")
            positional, keywords = bind(tool, call.arguments, call.context, call.values)
            if self._needs_thread(tool):
                value = await self.pool.run(lambda: collected(handler(*positional, **keywords)))
            else:
                value = collected(handler(*positional, **keywords))
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

    def _needs_thread(self, tool: ToolDefinition) -> bool:
        known = self._in_thread.get(tool.name)
        if known is None or known[0] is not tool or known[1] is not tool.handler:
            known = self._in_thread[tool.name] = (tool, tool.handler, tool.run_in_thread and is_sync(tool))
        return known[2]

    def close(self) -> None:
        """Let the threads end."""
        self.pool.close()
