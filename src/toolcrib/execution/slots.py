"""How many calls of one tool may run at once."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field

from toolcrib.errors import CallError
from toolcrib.execution.waiting import Waiters


class BusyError(CallError):
    """As many calls of the tool as may run at once are running."""

    code = "busy"
    mender = "caller"


@dataclass(slots=True)
class _Tool:
    taken: int = 0
    waiters: Waiters = field(default_factory=Waiters)


class Slots:
    """Counts the running calls of tools that limit them; tasks of any event loop may wait."""

    def __init__(self) -> None:
        self._tools: dict[str, _Tool] = {}
        self._lock = threading.Lock()

    def running(self, name: str) -> int:
        """Calls of that tool that run now."""
        return self._tools[name].taken if name in self._tools else 0

    async def acquire(self, name: str, most: int, seconds: float) -> None:
        """Wait until fewer than ``most`` calls of the tool run, and count one more.

        Raises:
            BusyError: none ended within ``seconds``.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while True:
            with self._lock:
                tool = self._tools.setdefault(name, _Tool())
                if tool.taken < most:
                    tool.taken += 1
                    return
                future = tool.waiters.add()
            try:
                async with asyncio.timeout_at(until):
                    await future
            except BaseException as error:
                with self._lock:
                    if not tool.waiters.discard(future):
                        tool.waiters.wake(1)  # it was this one's turn: the next one's now
                if isinstance(error, TimeoutError):
                    raise BusyError(
                        f"Tool '{name}' is busy: {most} of its calls ran for {seconds:g} s",
                        hint="Ask again later, or ask for fewer at once.",
                    ) from None
                raise

    def release(self, name: str) -> None:
        """Count one less and let the next go on."""
        with self._lock:
            tool = self._tools[name]
            tool.taken -= 1
            tool.waiters.wake(1)
            if not tool.taken and not tool.waiters:
                del self._tools[name]
