"""Results that are given again instead of being computed again (contract N021, N023)."""

from __future__ import annotations

import copy
import marshal
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.execution.waiting import Waiters

ANYTHING = "*"
"""The resource that a writing tool changes where it does not say which."""

_UNKNOWN_SIZE = 4096


@dataclass(slots=True)
class CacheEntry:
    """One remembered result.

    Attributes:
        tool: the very tool that gave it; another of the same name does not get it.
        content: the data, in a form that nobody else holds.
        expires_at: on the cache's clock.
        seen: how often each resource that it was read from had been changed.
        size: in bytes, roughly.
    """

    tool: ToolDefinition
    content: _Copy
    expires_at: float
    seen: tuple[int, ...]
    size: int


class ResultCache:
    """Successful results by key, for a time, in bounded memory.

    Args:
        ttl: seconds a result lives where its tool does not say.
        undeclared: whether tools that say nothing about caching are cached (as S1 does), unless they write.
        most_entries: results kept; the one not asked for the longest goes first.
        most_bytes: memory they may take, roughly.
        clock: seconds, for tests.

    Example:
        >>> from toolcrib.definition.tool import ToolDefinition
        >>> now = [0.0]
        >>> cache = ResultCache(clock=lambda: now[0])
        >>> look = ToolDefinition("look", "", {"type": "object"}, len, cache=True)
        >>> cache.put("k", look, ToolResult.ok([1]), cache.seen(look))
        >>> cache.get("k", look).data
        [1]
        >>> now[0] = 301.0
        >>> cache.get("k", look) is None
        True
    """

    def __init__(
        self,
        ttl: float = 300.0,
        *,
        undeclared: bool = False,
        most_entries: int = 1024,
        most_bytes: int = 64 * 1024 * 1024,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ttl = ttl
        self.undeclared = undeclared
        self.entries: OrderedDict[str, CacheEntry] = OrderedDict()
        self.size = 0
        self._most_entries = most_entries
        self._most_bytes = most_bytes
        self._clock = clock
        self._changes: dict[str, int] = {}
        self._flights: dict[str, Flight] = {}
        self._lock = threading.RLock()

    def lifetime(self, tool: ToolDefinition) -> float:
        """Seconds that a result of ``tool`` may be given again; 0 = never."""
        declared = tool.cache
        if tool.writes or tool.mutates:
            return 0.0
        if declared is None:
            return self.ttl if self.undeclared else 0.0
        return self.ttl if declared is True else float(declared)

    def get(self, key: str, tool: ToolDefinition) -> ToolResult | None:
        """A copy of the result remembered under ``key``, where it still holds."""
        with self._lock:
            entry = self.entries.get(key)
            if entry is None:
                return None
            if entry.tool is not tool or entry.expires_at <= self._clock() or entry.seen != self.seen(tool):
                self._drop(key)
                return None
            self.entries.move_to_end(key)
        data, output = entry.content.take()
        return ToolResult(True, data, output=output)

    def put(self, key: str, tool: ToolDefinition, result: ToolResult, seen: tuple[int, ...]) -> None:
        """Remember a copy of a successful result; nothing happens for one that is too large or cannot be copied.

        Args:
            key: from `keys.call_key`.
            tool: which gave it.
            result: a success.
            seen: what `seen` was before the tool ran, so that what changed meanwhile counts.
        """
        try:
            content = _Copy((result.data, result.output))
        except Exception:
            return
        if content.size > self._most_bytes // 4:
            return
        with self._lock:
            if seen != self.seen(tool):
                return
            self._drop(key)
            expires_at = self._clock() + self.lifetime(tool)
            self.entries[key] = CacheEntry(tool, content, expires_at, seen, content.size)
            self.size += content.size
            while len(self.entries) > self._most_entries or self.size > self._most_bytes:
                self._drop(next(iter(self.entries)))

    def seen(self, tool: ToolDefinition) -> tuple[int, ...]:
        """How often each resource that ``tool`` reads has been changed."""
        changes = self._changes
        if not changes or tool.effects == "none":
            return ()
        counts = tuple(changes.get(name, 0) for name in resources_read(tool))
        return counts if any(counts) else ()

    def invalidate(self, tool: ToolDefinition) -> None:
        """Forget what a call of ``tool``, which has run or may have, could have changed."""
        names = resources_changed(tool)
        if names:
            with self._lock:
                for name in names:
                    self._changes[name] = self._changes.get(name, 0) + 1

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self.entries.clear()
            self.size = 0

    def _drop(self, key: str) -> None:
        entry = self.entries.pop(key, None)
        if entry is not None:
            self.size -= entry.size

    # Single flight

    def join(self, key: str) -> Flight | None:
        """The call of that key that is under way; None = there was none, and now the caller's is."""
        with self._lock:
            flight = self._flights.get(key)
            if flight is None:
                self._flights[key] = Flight(self._lock)
            return flight

    def land(self, key: str, result: ToolResult | None) -> None:
        """End the caller's flight with its result; None = it came to nothing and another must fly."""
        with self._lock:
            flight = self._flights.pop(key, None)
            if flight is not None:
                flight.land(result)


class Flight:
    """A call under way that others of the same key wait for."""

    __slots__ = ("_content", "_lock", "_result", "_waiters")

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._waiters: Waiters | None = Waiters()
        self._result: ToolResult | None = None
        self._content: _Copy | None = None

    def land(self, result: ToolResult | None) -> None:
        """Tell those who wait; the lock is held."""
        waiters, self._waiters = self._waiters, None
        if not waiters or result is None:
            pass
        elif result.success:
            try:
                self._content = _Copy((result.data, result.output))
                self._result = result
            except Exception:
                self._result = None
        else:
            self._result = result
        if waiters:
            waiters.wake()

    async def wait(self) -> ToolResult | None:
        """A copy of its result; None = run it yourself."""
        with self._lock:
            future = self._waiters.add() if self._waiters is not None else None
        if future is not None:
            await future
        if self._result is None or self._content is None:
            return copy.copy(self._result)
        data, output = self._content.take()
        return ToolResult(True, data, output=output)


class _Copy:
    """A value that nobody can change any more, given out as a fresh copy each time."""

    __slots__ = ("_packed", "_value", "size")

    def __init__(self, value: Any) -> None:
        self._packed: bytes | None = None
        self._value: Any = None
        try:
            self._packed = marshal.dumps(value)  # plain values only, by far the fastest; never leaves this process
            self.size = len(self._packed)
        except ValueError:
            self._value = copy.deepcopy(value)
            self.size = _size(value)

    def take(self) -> Any:
        """A copy."""
        return copy.deepcopy(self._value) if self._packed is None else marshal.loads(self._packed)  # noqa: S302


def _size(value: Any) -> int:
    from pydantic_core import to_json

    try:
        return len(to_json(value, bytes_mode="base64", serialize_unknown=True))
    except Exception:
        return _UNKNOWN_SIZE


def resources_read(tool: ToolDefinition) -> tuple[str, ...]:
    """The resources that results of ``tool`` depend on: what it says, its name, its category, and anything."""
    return (*tool.reads, tool.name, tool.category, ANYTHING)


def resources_changed(tool: ToolDefinition) -> tuple[str, ...]:
    """The resources that a call of ``tool`` changes; a tool that writes and does not say where changes anything."""
    if tool.mutates:
        return tool.mutates
    return (ANYTHING,) if tool.effects == "write" else ()
