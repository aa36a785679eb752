"""What the tests of the executor share."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from toolcrib import Context, ToolExecutor, ToolRegistry, ToolResult
from toolcrib.definition.decorator import make_tool_decorator

SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))

SEQUENTIAL = "sequential"
PARALLEL = "parallel"
PATHS = [SEQUENTIAL, PARALLEL]


def sent(name: str, arguments: Any = None, call_id: str = "a") -> dict[str, Any]:
    """A call as a provider sends it."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


class Desk:
    """A registry with an executor, and a clock that only moves when it is told to."""

    def __init__(self, **options: Any) -> None:
        self.now = 0.0
        self.registry = ToolRegistry()
        self.tool = make_tool_decorator(self.registry.register)
        self.executor = ToolExecutor(self.registry, clock=lambda: self.now, **options)

    async def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, context: Context | None = None
    ) -> ToolResult:
        """One call; the arguments stay what they are, so that it may be given what JSON does not have."""
        call = {"id": "a", "function": {"name": name, "arguments": arguments or {}}}
        return (await self.executor.execute(call, context)).result

    def messages(self, path: str, *calls: Any, context: Any = None, workers: int = 8) -> list[dict[str, Any]]:
        """What one batch answers, on either path."""
        if path == SEQUENTIAL:
            return self.executor.process_tool_calls(list(calls), context)
        return self.executor.process_tool_calls_parallel(list(calls), context, max_workers=workers)

    def contents(self, path: str, *calls: Any, context: Any = None, workers: int = 8) -> list[dict[str, Any]]:
        """What the model reads of one batch."""
        return [json.loads(each["content"]) for each in self.messages(path, *calls, context=context, workers=workers)]


def counting(desk: Desk, **facts: Any) -> list[Any]:
    """A tool ``count`` that says how often it has run."""
    calls: list[Any] = []

    @desk.tool(**facts)
    def count(x: int = 0) -> int:
        """Counts."""
        calls.append(x)
        return len(calls)

    return calls
