"""Runs the tools that live in this process."""

from __future__ import annotations

import asyncio

from toolcrib.definition.call import Deadline, ToolCall
from toolcrib.definition.invoke import call_handler, failure
from toolcrib.definition.result import ToolResult
from toolcrib.execution.threads import ThreadPool


class InProcessRunner:
    """Runs asynchronous handlers on the event loop and synchronous ones in a pool of threads.

    Whatever a handler raises, `SystemExit` included, becomes the result of its call (contract N025); only the
    cancellation of the call itself passes through. The deadline is the pipeline's.

    Args:
        threads: synchronous calls that may run at once.
    """

    def __init__(self, threads: int = 32) -> None:
        self._pool = ThreadPool(threads)

    async def run(self, call: ToolCall, deadline: Deadline) -> ToolResult:
        """Run one call and return its one result."""
        try:
            return ToolResult.of(await call_handler(call.tool, call.arguments, call.context, in_thread=self._pool.run))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return failure(error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return failure(error)

    def close(self) -> None:
        """Let the threads end."""
        self._pool.close()
