"""Calls of tools that are processes on this machine."""

from __future__ import annotations

from toolcrib.definition.call import Deadline, ToolCall
from toolcrib.definition.result import ToolResult
from toolcrib.runtime.dispatch import Dispatcher
from toolcrib.runtime.supervisor import Supervisor


class LocalRunner:
    """Starts a tool where it must be and sends it the call (see `definition.ports.Runner`).

    Waiting for the tool and waiting for its answer both end at the call's deadline, hence ``keeps_deadline``.

    Args:
        supervisor: starts and stops the processes.
        dispatcher: sends the calls.
    """

    keeps_deadline = True

    def __init__(self, supervisor: Supervisor, dispatcher: Dispatcher) -> None:
        self._supervisor = supervisor
        self._dispatcher = dispatcher

    async def run(self, call: ToolCall, deadline: Deadline) -> ToolResult:
        """Run one call; raises what `Supervisor.lease` and `Dispatcher.dispatch` raise."""
        async with self._supervisor.lease(call.tool.name, deadline) as endpoint:
            return await self._dispatcher.dispatch(endpoint, call.tool, call.arguments, deadline, call.id)
