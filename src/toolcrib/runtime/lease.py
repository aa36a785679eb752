"""One call's use of a tool."""

from __future__ import annotations

import asyncio
from types import TracebackType

from toolcrib.definition.call import Deadline
from toolcrib.errors import UpstreamError
from toolcrib.runtime.generation import Generation
from toolcrib.runtime.http1 import ConnectionLost
from toolcrib.runtime.instance import Instance
from toolcrib.runtime.status import Endpoint

EXIT_SECONDS = 0.5


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
            await self._explain(error)

    async def _explain(self, error: UpstreamError) -> None:
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
        raise UpstreamError(
            text,
            hint=f"The call may have been carried out; the next call starts the tool again. "
            f"Its log: {self._instance.log.shown}",
        ) from error
