"""Calls of tools that are processes on this machine."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING

from toolcrib.definition.call import Deadline, ToolCall
from toolcrib.definition.result import ToolResult
from toolcrib.errors import UpstreamError
from toolcrib.runtime.dispatch import carried_out, is_repeatable
from toolcrib.runtime.generation import Generation
from toolcrib.runtime.http1 import ConnectionLost
from toolcrib.runtime.instance import Instance
from toolcrib.runtime.logs import where_its_log_is
from toolcrib.runtime.status import Endpoint

if TYPE_CHECKING:
    from toolcrib.runtime.dispatch import Dispatcher
    from toolcrib.runtime.supervisor import Supervisor

EXIT_SECONDS = 0.5


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
        """Run one call; raises what `Supervisor.lease` and `Dispatcher.dispatch` raise.

        A call whose process ended under it, by itself, is sent once more to the next process, where it is certain that
        it was not carried out, or where a repetition does no harm.
        """
        try:
            return await self._send(call, deadline)
        except ProcessEndedError as ended:
            lost = ended.lost
            if ended.was_stopped or not (lost.unread or (lost.silent and is_repeatable(call.tool))):
                raise
        return await self._send(call, deadline)

    async def _send(self, call: ToolCall, deadline: Deadline) -> ToolResult:
        async with self._supervisor.lease(call.tool.name, deadline) as endpoint:
            return await self._dispatcher.dispatch(endpoint, call.tool, call.arguments, deadline, call.id)


class ProcessEndedError(UpstreamError):
    """The tool's process ended while it had a call.

    Args:
        message: how it ended, with the last lines of its log.
        hint: what is known of the call.
        lost: how its connection was lost.
        was_stopped: whether the process was asked to end.
    """

    def __init__(self, message: str, *, hint: str, lost: ConnectionLost, was_stopped: bool) -> None:
        super().__init__(message, hint=hint)
        self.lost = lost
        self.was_stopped = was_stopped


class Lease:
    """One call's use of a tool, as a context manager; see `Supervisor.lease`."""

    __slots__ = ("_deadline", "_generation", "_instance", "_start")

    def __init__(self, instance: Instance, deadline: Deadline, *, start: bool) -> None:
        self._instance = instance
        self._deadline = deadline
        self._start = start
        self._generation: Generation | None = None

    async def __aenter__(self) -> Endpoint:
        self._generation = await self._instance.admit(self._deadline, start=self._start)
        endpoint = self._instance.endpoint
        assert endpoint is not None
        return endpoint

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._instance.leave()
        if isinstance(error, UpstreamError) and isinstance(error.__cause__, ConnectionLost):
            await self._explain(error, error.__cause__)

    async def _explain(self, error: UpstreamError, lost: ConnectionLost) -> None:
        """Where the connection was lost because the process ended, say that instead."""
        generation = self._generation
        assert generation is not None
        await asyncio.wait({generation.ended}, timeout=EXIT_SECONDS)
        if not generation.ended.done():
            return
        name = self._instance.tool.name
        text = f"Tool {name!r} {generation.ended.result()} while it worked on the call"
        if generation.last_lines:
            text += "\nThe last lines of its log:\n" + "\n".join(generation.last_lines)
        raise ProcessEndedError(
            text,
            hint=f"{carried_out(lost)} The next call starts the tool again. "
            f"{where_its_log_is(name)}, {self._instance.log.shown}",
            lost=lost,
            was_stopped=self._instance.stopped is generation,
        ) from error
